//! Rows that could not be taken: the first ones are shown, all are counted, and kept in a file if one was asked for.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::output::Failure;

/// How many rows are shown.
const SHOWN: u64 = 20;

/// Where a row stands.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) file: std::sync::Arc<str>,
    pub(crate) line: u64,
}

/// The rows that could not be taken.
#[derive(Default)]
pub(crate) struct Problems {
    count: u64,
    kept: Option<BufWriter<File>>,
    /// The first ones, for callers that do not show them on standard error.
    collected: Option<Vec<Json>>,
}

impl Problems {
    /// Keeps all of them in a file, as JSON lines.
    pub(crate) fn kept_in(path: Option<&Path>) -> Result<Self, Failure> {
        let open = |path: &Path| {
            File::create(path).map(BufWriter::new).map_err(|error| {
                Failure::refused(format_args!("{} cannot be written: {error}", path.display()))
            })
        };
        Ok(Self { kept: path.map(open).transpose()?, ..Self::default() })
    }

    /// Collects the first ones instead of showing them.
    pub(crate) fn collected() -> Self {
        Self { collected: Some(Vec::new()), ..Self::default() }
    }

    /// How many there are, and the first of them.
    pub(crate) fn into_collected(self) -> (u64, Vec<Json>) {
        (self.count, self.collected.unwrap_or_default())
    }

    /// Records a refused row and why it was refused.
    pub(crate) fn add(&mut self, origin: &Origin, reason: &str) {
        self.count += 1;
        if let Some(collected) = &mut self.collected {
            if self.count <= SHOWN {
                let (file, line) = (&*origin.file, origin.line);
                collected.push(json!({ "file": file, "line": line, "reason": reason }));
            }
            return;
        }
        let mut stderr = io::stderr();
        // What cannot be shown is counted all the same.
        if self.count <= SHOWN {
            drop(writeln!(stderr, "{}:{}: {reason}", origin.file, origin.line));
        } else if self.count == SHOWN + 1 && self.kept.is_none() {
            drop(writeln!(stderr, "further rows are only counted; --errors FILE keeps all"));
        }
        if let Some(file) = &mut self.kept {
            let line = json!({ "file": &*origin.file, "line": origin.line, "reason": reason });
            drop(writeln!(file, "{line}"));
        }
    }

    /// How many there are; an error if they could not be kept.
    pub(crate) fn finish(mut self) -> Result<u64, Failure> {
        if let Some(file) = &mut self.kept {
            file.flush().map_err(|error| {
                Failure::refused(format_args!("the file of --errors cannot be written: {error}"))
            })?;
        }
        Ok(self.count)
    }
}
