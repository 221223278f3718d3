//! The cases, one file per family.

mod embedded;
mod http;
mod large;
mod memory;
mod start;
mod syncs;

pub(crate) use embedded::ONE_THREAD;
pub(crate) use http::connections_label;
pub(crate) use large::{
    AFTER_COMPACTION, DURING_SCAN, IN_MEMORY, ON_DISK, PAGES, first_items_label, partition_label,
};
pub(crate) use start::{EMPTY, FILLED, IDLE};
pub(crate) use syncs::DURABLE;

use anyhow::Result;

use crate::bench::Bench;

/// Runs every family that is wanted.
pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    http::memory(bench)?;
    http::disk(bench)?;
    embedded::memory(bench)?;
    embedded::disk(bench)?;
    syncs::run(bench)?;
    start::memory(bench)?;
    memory::run(bench)?;
    large::run(bench)
}
