//! PartiQL: DynamoDB's dialect of SQL.
//!
//! A statement passes these stages:
//!
//! 1. [`lexer`] splits the text into tokens with positions;
//! 2. [`parser`] builds a syntax tree ([`ast`]), within a depth limit;
//! 3. [`bind`](mod@bind) substitutes the parameters and refuses everything that can be refused
//!    without a table. The result consists of the types of expressions:
//!    [`Condition`](crate::expr::Condition), [`Update`](crate::expr::Update);
//! 4. [`keys`] finds the key in the condition of a statement: the one item of a write, or the few
//!    key ranges that a read needs instead of the whole table.
//!
//! Execution is up to the engine. [`mod@print`] prints a syntax tree as text.

pub mod ast;
pub mod bind;
pub mod keys;
mod keywords;
pub mod lexer;
pub mod parser;
pub mod print;

pub use bind::{Column, Delete, Insert, Select, Statement, Update, bind, parameter_from};
pub use parser::parse;
