//! Keys as the planner sees them: the pieces of a template, the language of all its keys, and values.

mod automaton;
mod shape;
mod template;
mod value;

pub use self::automaton::Language;
pub use self::shape::may_hold_separator;
pub use self::template::{FieldPiece, KeyTemplate, Piece};
pub(crate) use self::value::number;
pub use self::value::{attribute_of, compare, describe, element_of, extent, key_value};
