//! Composite-key design files: planner, linter, cost.
//!
//! 1. [`syntax`]: TOML text becomes a [`draft::Draft`], every value with its place in the file.
//! 2. [`resolve`]: names are looked up, templates and conditions parsed; the result is a [`Design`].
//! 3. [`plan`]: each access pattern becomes requests, with proofs and counter-examples.
//! 4. [`lint`]: rules over the design and its plans.
//!
//! [`synth`] goes the other way: from what is asked to the keys. [`infer`] starts from what is stored.
//!
//! [`oracle`] says a second time what a design means, without keys and plans, and judges what the planner claims.

mod check;
mod code;
pub mod condition;
pub mod cost;
pub mod diagnostic;
pub mod diff;
pub mod docs;
pub mod draft;
pub mod emit;
pub mod evaluate;
pub mod exchange;
pub mod generate;
pub mod infer;
mod inputs;
pub mod key;
pub mod lint;
pub mod migration;
pub mod model;
#[doc(hidden)]
pub mod mutation;
pub mod oracle;
pub mod plan;
mod repair;
pub mod report;
mod resolve;
mod rust_module;
mod schema;
pub mod source;
mod suggest;
mod syntax;
pub mod synth;
mod words;

pub use check::{CheckReport, check, check_text, unreadable};
pub use code::{electrodb, patterns_left_out, python, typescript};
pub use diagnostic::{Code, Diagnostic, Severity};
pub use inputs::inputs_from;
pub use model::Design;
pub use repair::FileEdit;
pub use rust_module::rust_module;
pub use schema::SCHEMA;
pub use suggest::nearest;
pub use syntax::MAX_FILE_BYTES;
pub use words::counted;
