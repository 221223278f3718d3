//! Values and items made from a design: samples for proofs, and data sets for `try`.

mod inputs;
mod items;
mod sample;
mod shard;
mod value;

pub use self::inputs::inputs_for;
pub use self::items::{GenerateOptions, generate, generate_with};
pub(crate) use self::sample::{sample, sample_of};
pub use self::shard::{set_shards, shard_of};
