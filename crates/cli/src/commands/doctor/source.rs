//! Where reports come from: a server, or a file.

use std::path::Path;
use std::time::Duration;

use keyloom_observe::Report;

use crate::admin::{Keys, Question};
use crate::design_file::text_of;
use crate::output::Failure;

const PATIENCE: Duration = Duration::from_secs(30);

/// Asks a server.
pub(super) fn ask(endpoint: &str, keys: &Keys, with_heat: bool) -> Result<Report, Failure> {
    let path = if with_heat { "/keyloom/stats/heat" } else { "/keyloom/stats" };
    let question = Question { endpoint, method: "GET", path, patience: Some(PATIENCE) };
    let missing = "has no statistics: it was started with --stats off, or it is not keyloom";
    Report::from_json(&question.ask(keys, missing)?).map_err(|error| {
        Failure::refused(format_args!("{endpoint} answers something else: {error}"))
    })
}

/// Reads a recording.
pub(crate) fn read(path: &Path) -> Result<Report, Failure> {
    let text = text_of(path)?;
    Report::from_json(&text)
        .map_err(|error| Failure::refused(format_args!("{}: {error}", path.display())))
}
