//! Proof for Keyloom's database, none of it published.
//!
//! - [`lockstep`]: one database in memory and one on disk that must answer alike.
//! - [`cluster`]: several databases on one PostgreSQL.
//! - [`script`]: golden scripts, requests with their expected replies in text files.
//! - [`model`]: what DynamoDB means, in the most naive code, to compare the engine with.
//! - [`export`]: a table rebuilt from its export.
//! - [`replay`]: a table rebuilt from its stream.
//! - [`workload`]: random tables and requests for the model runs.
//! - [`history`]: recorders and checkers for concurrent runs: linearizability by search,
//!   serializability by cycles.
//! - [`samples`]: one full request of every operation, and the ways to spoil it.
//!
//! Everything random comes from a [`rng::Rng`] whose seed is printed when a test fails; the
//! environment variable `KEYLOOM_SEED` replays it.

#[cfg(unix)]
pub mod cluster;
mod crash;
pub mod export;
pub mod history;
pub mod lockstep;
pub mod model;
#[cfg(unix)]
pub mod postgres;
pub mod replay;
pub mod rng;
pub mod samples;
pub mod script;
pub mod workload;
