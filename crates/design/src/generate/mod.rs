//! Values and items made from a design: samples for proofs, and data sets for `try`.

mod items;
mod sample;
mod shard;
mod value;

pub use self::items::{GenerateOptions, generate, generate_with, inputs_for};
pub(crate) use self::sample::{sample, sample_of};
pub(crate) use self::shard::set_shards;
pub use self::shard::shard_of;
