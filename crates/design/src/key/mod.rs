//! Keys for the planner: templates with their policy and shards, and the values of fields. Templates, their segments and
//! their languages are those of the key library.

mod template;
mod value;

pub use self::template::{KeyTemplate, may_hold_separator};
pub use self::value::{attribute_of, compare, describe, element_of, extent, key_value, visible};
pub(crate) use self::value::{folded, number};
pub use keyloom_keys::{Field as FieldPiece, Segment as Piece};
