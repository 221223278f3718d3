//! Keys as the planner sees them: the pieces of a template, the language of all its keys, and values.

mod template;
mod value;

pub use self::template::{FieldPiece, KeyTemplate, Piece, may_hold_separator};
pub(crate) use self::value::number;
pub use self::value::{attribute_of, compare, describe, element_of, extent, key_value};
