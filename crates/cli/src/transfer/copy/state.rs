//! How far a copy is, in a file: what was stopped goes on where it was.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::output::Failure;

/// How often the file is written while items are copied. What is done twice after a kill does no harm.
const PAUSE: Duration = Duration::from_secs(1);

/// How far a copy is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    from: String,
    to: String,
    /// When it began, in milliseconds since 1970: changes from before then are in what is read.
    pub(crate) began_ms: u64,
    /// Whether all items were copied once.
    pub(crate) is_copied: bool,
    /// Whether the two must be made equal item by item, because something was missed.
    pub(crate) must_repair: bool,
    pub(crate) tables: BTreeMap<String, TableState>,
}

/// How far the copy of a table is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TableState {
    /// Its settings in the source when the copy began.
    pub(crate) settings: super::settings::Settings,
    /// Whether the target has it, and its items are this copy's.
    pub(crate) is_made: bool,
    pub(crate) segments: Vec<Segment>,
    /// The shards of its stream that were read, and the last number of each.
    pub(crate) shards: BTreeMap<String, Position>,
}

/// A part of a table.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct Segment {
    /// The last key that was copied.
    pub(crate) after: Option<Json>,
    pub(crate) is_done: bool,
    pub(crate) items: u64,
}

/// How far a shard was read.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The number of the last record that was carried over.
    pub(crate) after: Option<String>,
    pub(crate) is_done: bool,
}

/// The state with its file.
pub(crate) struct StateFile {
    path: PathBuf,
    state: Mutex<(State, Instant)>,
}

impl StateFile {
    /// The state of the copy from one place to the other: what the file has, or a new one. Also whether it goes on.
    pub(crate) fn open(
        path: &Path,
        from: &str,
        to: &str,
        now_ms: u64,
    ) -> Result<(Self, bool), Failure> {
        let new = || State {
            from: from.to_owned(),
            to: to.to_owned(),
            began_ms: now_ms,
            is_copied: false,
            must_repair: false,
            tables: BTreeMap::new(),
        };
        let refused =
            |reason: String| Failure::refused(format_args!("{}: {reason}", path.display()));
        let (state, goes_on) = match std::fs::read(path) {
            Ok(text) => {
                let state: State = serde_json::from_slice(&text).map_err(|error| {
                    refused(format!(
                        "is not the state of a copy ({error}): name another with --state"
                    ))
                })?;
                if (state.from.as_str(), state.to.as_str()) != (from, to) {
                    return Err(refused(format!(
                        "is the state of a copy from {} to {}: name another with --state",
                        state.from, state.to
                    )));
                }
                (state, true)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (new(), false),
            Err(error) => return Err(refused(error.to_string())),
        };
        let file = Self { path: path.to_owned(), state: Mutex::new((state, Instant::now())) };
        // Now rather than after an hour: a folder that cannot be written.
        file.save()?;
        Ok((file, goes_on))
    }

    /// Looks at the state.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Changes the state, and the file at once.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) -> Result<(), Failure> {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).0);
        self.save()
    }

    /// Changes the state, and the file now and then.
    pub(crate) fn note(&self, change: impl FnOnce(&mut State)) -> Result<(), Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state.0);
        let is_due = state.1.elapsed() >= PAUSE;
        drop(state);
        if is_due { self.save() } else { Ok(()) }
    }

    fn save(&self) -> Result<(), Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 = Instant::now();
        let mut part = self.path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let write = || -> std::io::Result<()> {
            let mut file = std::fs::File::create(&part)?;
            file.write_all(&serde_json::to_vec(&state.0)?)?;
            file.sync_all()?;
            std::fs::rename(&part, &self.path)
        };
        write().map_err(|error| {
            Failure::refused(format_args!(
                "{}: the state of the copy cannot be written: {error}; name another place with --state",
                self.path.display()
            ))
        })
    }

    /// Removes the file: the copy is whole.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        std::fs::remove_file(&self.path).map_err(|error| {
            Failure::refused(format_args!("{} cannot be removed: {error}", self.path.display()))
        })
    }
}
