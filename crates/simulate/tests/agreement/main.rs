//! The simulator against the partitions that Keyloom's server throttles by, alone and under the engine: the same random loads,
//! request by request there, fluid here. `KEYLOOM_RUNS` makes it longer.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a panic is how a test fails")]

mod designs;
mod engine;
mod loads;
mod server;
