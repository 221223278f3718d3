//! Keys for the planner: templates with their policy and shards, and the values of fields. Templates, their segments and
//! their languages are those of the key library.

mod template;
mod value;

pub use self::template::{KeyTemplate, may_hold_separator};
pub(crate) use self::value::{as_fine_as, folded, number};
pub use self::value::{attribute_of, compare, describe, element_of, extent, key_value, visible};
pub use keyloom_keys::{Field as FieldPiece, Segment as Piece};
