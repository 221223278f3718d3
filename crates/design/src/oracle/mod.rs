//! What a design means, written a second time: the judge of the planner.
//!
//! The planner turns an access pattern into requests and says what it has proven about them. This module says
//! which rows the pattern asks for, over **typed field values** alone: it makes no keys and knows no requests and no
//! plans. It shares no code with them but what both are about: the model of a design, the types of values, and the
//! library's frozen hash. Where a condition ends up as a filter, DynamoDB's own rules are part of the meaning: `<>`
//! holds for an attribute that is not there, `contains` looks for an element of a set or list and for a part of a
//! text, values of different types are never equal and have no order.
//!
//! 1. [`Known`]: one item as the values of its fields: a [`Record`], or a row that `try` has generated.
//! 2. [`Oracle`]: the records that a pattern asks for, in order.
//! 3. [`judge`]: whether a recorded run kept what was claimed for it.
//!
//! What the words of a design mean here:
//!
//! - `find`: the kinds of the rows. `where`: all conditions hold of the row, or, with `via`, of the link row
//!   through which the found one is reached: the one whose key fields have the values that the link has. They are
//!   those of the primary key, or, where the link does not have them all, of the first index that has every row.
//! - A shard `by` fields: the frozen hash of their values, which does not depend on how a value is written.
//! - `or`: at least one alternative holds, and a row that satisfies several comes once.
//! - A time in a condition may be a period: `at = '2024-01-05'` holds all day, `<=` until its end, `>` after it.
//! - `datetime:loose` is a moment however it is written; `begins_with` and `contains` look at the text.
//! - `order`: by value, never by how a key is written. Rows of equal value may come in any order, and so may
//!   rows that lack a field of the order.
//! - `limit`: the first so many rows of that order; without an order any so many.
//! - `returns`: these fields, or all. A field is returned if the response has its attribute, with its value. A
//!   field that lives in keys only needs a key attribute that spells it out.

mod answer;
mod compare;
mod judge;
mod record;
mod returned;
mod shard;
mod test;
mod ways;

pub use self::answer::{Answer, Hit, Oracle, Senseless, ask, sorts};
pub use self::judge::{Claims, Contradiction, Run, judge};
pub use self::record::{Datum, Known, Record};
pub use self::returned::Returned;
pub use self::shard::shard_of;
