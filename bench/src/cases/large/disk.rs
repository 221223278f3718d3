//! The bytes that items take on disk.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::bench::Bench;
use crate::contender::Contender;
use crate::figures::count;
use crate::results::{Metric, Section};

/// What is measured, once the database is closed.
pub(crate) const AFTER_COMPACTION: &str = "items of 1 KB, compacted and closed";

/// The bytes of a block as `st_blocks` counts them.
const BLOCK_BYTES: u64 = 512;

/// How long the files must stay as they are.
const QUIET: Duration = Duration::from_secs(3);

/// How long that is waited for.
const PATIENCE: Duration = Duration::from_mins(2);

pub(super) fn run(bench: &mut Bench, items: usize, places: &[(Contender, &Path)]) -> Result<()> {
    for (contender, path) in places {
        let bytes = allocated_bytes(path)?;
        let setting = format!("{} items", count(items));
        let key = (Section::Disk, AFTER_COMPACTION, setting.as_str());
        bench.add(key, *contender, Metric::BytesPerItem, bytes as f64 / items as f64);
        bench.add(key, *contender, Metric::Megabytes, bytes as f64 / 1e6);
    }
    Ok(())
}

/// Waits until the files of a database stop changing.
pub(super) fn wait_until_quiet(path: &Path) -> Result<()> {
    let start = Instant::now();
    let (mut last, mut since) = (allocated_bytes(path)?, Instant::now());
    while since.elapsed() < QUIET && start.elapsed() < PATIENCE {
        sleep(Duration::from_millis(200));
        let now = allocated_bytes(path)?;
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    Ok(())
}

/// The disk space of a file, or of all files in a directory. Files may vanish meanwhile.
fn allocated_bytes(path: &Path) -> Result<u64> {
    let Ok(found) = path.metadata() else { return Ok(0) };
    if !found.is_dir() {
        return Ok(found.blocks() * BLOCK_BYTES);
    }
    let entries = path.read_dir().with_context(|| format!("read {}", path.display()))?;
    entries.map(|entry| allocated_bytes(&entry?.path())).sum()
}
