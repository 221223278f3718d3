//! Rows from sources into a table: `keyloom load`, and the console's upload.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::place::Target;
use super::shape::Shape;
use super::source::{Reading, Source};
use super::writer::{Job, Shared, Writer, work};
use crate::output::Failure;
use crate::progress::Progress;

/// How rows are loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loading {
    /// How many batches are written at once.
    pub(crate) workers: usize,
    /// Judges rows and writes nothing.
    pub(crate) dry_run: bool,
    /// Items per second at most.
    pub(crate) rate: Option<u64>,
}

impl Loading {
    /// Reads all rows and gives them to the workers; how many were good.
    pub(crate) fn run(
        self,
        sources: &[Source],
        target: &Target,
        shape: Option<&Shape>,
        delimiter: u8,
        shared: &Shared<'_>,
    ) -> Result<u64, Failure> {
        let read = AtomicU64::new(0);
        let reading = Reading { types: &target.types, keys: &target.keys, delimiter, read: &read };
        let total: u64 = sources.iter().map(|source| source.bytes).sum();
        let mut progress = Progress::new("loading, KB", (total / 1000) as usize);
        let begun = Instant::now();
        let (mut writer, jobs) = Writer::new(target, self.workers);
        std::thread::scope(|scope| {
            for jobs in jobs {
                scope.spawn(move || work(&target.client, shared, &jobs));
            }
            let mut good = 0;
            let mut each = |origin, row: Result<_, String>| {
                progress.at((read.load(Ordering::Relaxed) / 1000) as usize);
                let shaped = match (row, shape) {
                    (Ok(item), Some(shape)) => shape.apply(item),
                    (row, _) => row,
                };
                match shaped {
                    Err(reason) => {
                        shared
                            .problems
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .add(&origin, &reason);
                        true
                    }
                    Ok(_) if self.dry_run => {
                        good += 1;
                        true
                    }
                    Ok(item) => {
                        good += 1;
                        if let Some(rate) = self.rate {
                            let due = Duration::from_secs_f64(good as f64 / rate as f64);
                            std::thread::sleep(due.saturating_sub(begun.elapsed()));
                        }
                        writer.give(Job { origin, item })
                    }
                }
            };
            let mut done = Ok(true);
            for source in sources {
                done = source.read(&reading, &mut each);
                if !matches!(done, Ok(true)) {
                    break;
                }
            }
            writer.finish();
            done.map(|_| good)
        })
    }
}
