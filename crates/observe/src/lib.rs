//! What happens in a composite-key database, watched in bounded memory.
//!
//! [`Monitor`] is the observer that a database is opened with. It joins:
//!
//! - [`Partitions`]: the partitions that AWS would have, and what they would refuse;
//! - [`Throttle`]: whether that is only counted, really refused, or refused on order.

mod monitor;
pub mod partitions;
mod throttle;

pub use monitor::Monitor;
pub use partitions::{PartitionHeat, Partitions, PlaceHeat};
pub use throttle::{Injection, Rule, Throttle, ThrottleSyntax, When};
