//! PartiQL: DynamoDB's dialect of SQL.
//!
//! A statement passes these stages:
//!
//! 1. [`lexer`] splits the text into tokens that know their place;
//! 2. [`parser`] makes a syntax tree ([`ast`]) of them, within a limit of depth;
//! 3. [`bind`](mod@bind) puts in the parameters and refuses all that can be refused without a table. What
//!    comes out is made of the types that expressions have, too: [`Condition`](crate::expr::Condition),
//!    [`Update`](crate::expr::Update);
//! 4. [`keys`] finds the key in the condition of a statement: the one item that a write is about, or the
//!    few ranges that a read needs instead of the whole table.
//!
//! The rest is the business of who has the data. [`mod@print`] goes back from a syntax tree to text.

pub mod ast;
pub mod bind;
pub mod keys;
mod keywords;
pub mod lexer;
pub mod parser;
pub mod print;

pub use bind::{Column, Delete, Insert, Select, Statement, Update, bind, parameter_from};
pub use parser::parse;
