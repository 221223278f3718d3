//! A database copied byte by byte, from one store to another.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use keyloom_engine::copying::{Comparison, Copy as Copying, Pass};
use keyloom_store::Store;

use crate::output::{Failure, Output};
use crate::progress::Progress;

/// How often the source is walked through with `--follow`, at most.
const PAUSE: Duration = Duration::from_secs(1);

/// How many passes over a source that should not change are made before giving up.
const PASSES: usize = 3;

/// A copy of a store with its name in another.
pub(super) struct StoreCopy<'a> {
    pub(super) from: (&'a dyn Store, String),
    pub(super) to: (&'a dyn Store, String),
    /// Says when to stop following; none to copy only.
    pub(super) told: Option<Receiver<()>>,
    /// Megabytes per second.
    pub(super) rate: Option<u64>,
    /// How many parts are copied at once.
    pub(super) workers: usize,
}

impl StoreCopy<'_> {
    /// Copies until both stores are equal.
    pub(super) fn run(&self, output: &mut Output) -> Result<(), Failure> {
        let ((from, source), (to, target)) = (&self.from, &self.to);
        let mut copying =
            Copying::begin(*from, *to, source, self.workers).map_err(Failure::refused)?;
        if let Some(told) = &self.told {
            self.follow(&mut copying, told, output)?;
        }
        let compared = self.make_equal(&mut copying)?;
        copying.finish().map_err(Failure::refused)?;
        output.line(format_args!(
            "{target}: {} entries in {} ranges copied from {source} and compared: all equal",
            compared.entries, compared.ranges,
        ))
    }

    /// Copies until source and target are equal.
    fn make_equal(&self, copying: &mut Copying<'_>) -> Result<Comparison, Failure> {
        let mut different = 0;
        for _ in 0..PASSES {
            self.pass(copying)?;
            let compared = copying.compare().map_err(Failure::refused)?;
            if compared.different.is_empty() {
                return Ok(compared);
            }
            different = compared.different.len();
        }
        Err(Failure::refused(format_args!(
            "{} is written all the time: {different} ranges differ after {PASSES} passes. Stop its servers and run the \
             same command again, or use --follow",
            self.from.1
        )))
    }

    /// Copies changes until the servers of the source are reported stopped.
    fn follow(
        &self,
        copying: &mut Copying<'_>,
        told: &Receiver<()>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        loop {
            let begun = Instant::now();
            let pass = self.pass(copying)?;
            output.line(format_args!(
                "{} entries read in {:.1} s, {} written, {} removed. When the servers of the source are stopped, press \
                 Enter",
                pass.entries,
                begun.elapsed().as_secs_f64(),
                pass.written,
                pass.removed
            ))?;
            output.flush()?;
            // A pass reads everything: as long as it took, others have the store to themselves.
            match told.recv_timeout(PAUSE.max(begun.elapsed())) {
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn pass(&self, copying: &mut Copying<'_>) -> Result<Pass, Failure> {
        let total = self.from.0.stats().map_or(0, |stats| stats.approximate_entries) as usize;
        let (mut progress, begun) = (Progress::new("copying", total), Instant::now());
        let rate = self.rate;
        let passed = copying.pass(|pass| {
            progress.at(pass.entries as usize);
            if let Some(rate) = rate {
                let due = Duration::from_secs_f64(pass.bytes as f64 / (rate as f64 * 1e6));
                std::thread::sleep(due.saturating_sub(begun.elapsed()));
            }
        });
        passed.map_err(Failure::refused)
    }
}
