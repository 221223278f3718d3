//! Code for other languages: a module that has a design's entities and access patterns and needs nothing of Keyloom.
//!
//! 1. [`outline`]: what the module says, as data: entities, keys, the planned reads of each pattern, writes.
//! 2. [`names`]: the names of all that in the style of the language.
//! 3. [`typescript`], [`python`]: the data as source text, in the shape that the formatter of the language gives it, together
//!    with a runtime that gives it its meaning. The runtime is part of the module that is generated: it writes keys as
//!    the key library does and runs reads as `keyloom::PlanRunner` does.
//!
//! [`electrodb`] states entities for a library that has a runtime of its own.

mod electrodb;
mod names;
mod node;
mod outline;
mod python;
mod quotes;
mod reads;
mod typescript;
mod writes;

pub use self::electrodb::electrodb;
pub use self::outline::patterns_left_out;
pub use self::python::python;
pub use self::typescript::typescript;
