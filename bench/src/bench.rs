//! The settings of a run, and what its cases share.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::contender::Contender;
use crate::peers::Programs;
use crate::results::{Key, Metric, Results, Section};

/// How much is measured.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) is_quick: bool,
    /// Only cases whose name contains these words.
    pub(crate) only: Option<String>,
    /// How often every contender is measured.
    pub(crate) rounds: usize,
    /// How long each time.
    pub(crate) sample: Duration,
    /// Items of 1 KB in the small tables.
    pub(crate) items: usize,
    /// Items per partition in the large table.
    pub(crate) partitions: Vec<usize>,
    /// Items loaded to see what memory they take.
    pub(crate) loaded_items: usize,
    /// How often servers are started.
    pub(crate) starts: usize,
}

impl Settings {
    /// The whole run.
    pub(crate) fn full() -> Self {
        Self {
            is_quick: false,
            only: None,
            rounds: 5,
            sample: Duration::from_millis(600),
            items: 8192,
            partitions: vec![10, 10_000, 100_000, 1_000_000],
            loaded_items: 100_000,
            starts: 9,
        }
    }

    /// A few minutes, with smaller tables.
    pub(crate) fn quick() -> Self {
        Self {
            is_quick: true,
            rounds: 3,
            sample: Duration::from_millis(150),
            items: 4096,
            partitions: vec![10, 10_000, 100_000],
            loaded_items: 20_000,
            starts: 3,
            ..Self::full()
        }
    }
}

/// One run.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) settings: Settings,
    pub(crate) programs: Programs,
    pub(crate) scratch: PathBuf,
    pub(crate) results: Results,
    pub(crate) start: Instant,
}

impl Bench {
    /// Whether a case is wanted.
    pub(crate) fn wants(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let only = self.settings.only.as_deref().unwrap_or_default().to_lowercase();
        only.split_whitespace().all(|word| name.contains(word))
    }

    /// An empty directory of this name, on the disk that is measured.
    pub(crate) fn directory(&self, name: &str) -> Result<PathBuf> {
        let path = self.scratch.join(name);
        remove_directory(&path)?;
        std::fs::create_dir_all(&path).with_context(|| format!("create {}", path.display()))?;
        Ok(path)
    }

    /// Says what is done now.
    pub(crate) fn say(&self, what: &str) {
        eprintln!("[{:4.0} s] {what}", self.start.elapsed().as_secs_f64());
    }

    /// Says that something is missing, here and in the report.
    pub(crate) fn say_absent(&mut self, what: String) {
        self.say(&format!("ABSENT: {what}"));
        if !self.results.absent.contains(&what) {
            self.results.absent.push(what);
        }
    }

    /// Lets the run go on when a peer fails, and says so; a failure of Keyloom ends it.
    pub(crate) fn forgive<T>(&mut self, peer: Contender, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(error) if peer.is_keyloom() => Err(error),
            Err(error) => {
                self.say_absent(format!("{error:#}"));
                Ok(None)
            }
        }
    }

    /// Adds the value of a round.
    pub(crate) fn add(
        &mut self,
        (section, case, setting): (Section, &str, &str),
        contender: Contender,
        metric: Metric,
        value: f64,
    ) {
        let (case, setting) = (case.to_owned(), setting.to_owned());
        self.results.add(Key { section, case, setting, contender, metric }, value);
    }
}

/// Removes a directory that may not be there.
pub(crate) fn remove_directory(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The places `0..count` in the order of this round: each round begins with another contender, so
/// that none always follows the same one.
pub(crate) fn turns(round: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| (place + round) % count)
}
