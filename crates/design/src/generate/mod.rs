//! Values and items made from a design: samples for proofs, and data sets for `try`.

mod sample;
mod shard;

pub(crate) use self::sample::{sample, sample_of};
pub use self::shard::shard_of;
