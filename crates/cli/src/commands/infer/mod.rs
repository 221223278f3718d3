//! `keyloom infer`: a design from what is stored.

mod keys;
mod read;
mod scan;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use keyloom_design::counted;
use keyloom_design::infer::{Inferred, Observed, SeenRequest, infer};
use serde_json::json;

use super::doctor::source;
use crate::endpoint::Reach;
use crate::output::{Failure, Format, Output, warn};
use crate::transfer::form::Form;

/// Find a design in stored items.
///
/// Reads tables of an endpoint or a data directory, exports, or files of items, and writes a design file: entities by the
/// words in their keys, key templates with the types of their fields, index keys, sparse indexes, counts and sizes. A
/// comment marks what is uncertain, and why it was chosen. Before the design is printed, every item of the sample is read
/// back with it; those that it cannot read are listed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom infer http://localhost:8000 > app.toml
  keyloom infer aws --table orders --sample 50000 --from monday.json > orders.toml
  keyloom infer ./keyloom-data
  keyloom infer ./export --keys PK,SK
  keyloom infer items.jsonl --described table.json")]
pub(crate) struct Infer {
    /// Endpoint URL, `aws`, a data directory that no server uses, a folder of an export, or files of items.
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,
    /// Tables to read; all of them if absent. For files, the name of their table.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    table: Vec<String>,
    /// About how many items of each table to read from a database, spread over the whole table; 0 reads all.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    sample: u64,
    /// Recording of requests, as `keyloom doctor --save` writes it: its requests become access patterns.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// For files: the attributes of the primary key, partition key first; with `:N` or `:B` if they are not strings.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    keys: Vec<String>,
    /// For files: the table as CreateTable or DescribeTable has it, with its indexes.
    #[arg(long, value_name = "FILE", conflicts_with = "keys")]
    described: Option<PathBuf>,
    /// Format of the files; inferred from their names by default.
    #[arg(long = "form", value_enum, value_name = "FORM")]
    form: Option<Form>,
    /// Separator of CSV values.
    #[arg(long, value_name = "CHARACTER", default_value = ",")]
    delimiter: char,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(flatten)]
    reach: Reach,
}

impl Infer {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let requests = self.requests()?;
        let tables = self.observe()?;
        let found = infer(&tables, &requests);
        match self.format {
            Format::Human => {
                output.line(found.text.trim_end())?;
                output.flush()?;
                report(&tables, &found);
            }
            Format::Json => output.line(as_json(&tables, &found))?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The requests of a recording.
    fn requests(&self) -> Result<Vec<SeenRequest>, Failure> {
        let Some(path) = &self.from else { return Ok(Vec::new()) };
        let report = source::read(path)?;
        let seconds = report.seconds();
        let mut requests: Vec<SeenRequest> = report
            .patterns()
            .map(|(place, pattern)| SeenRequest {
                table: place.table.clone(),
                index: place.index.clone(),
                operation: pattern.operation.clone(),
                name: pattern.name.clone(),
                shape: pattern.shape.clone(),
                requests: pattern.requests,
                per_second: pattern.requests as f64 / seconds,
                is_consistent: pattern.consistent * 2 > pattern.requests,
            })
            .collect();
        requests.sort_by_key(|request| std::cmp::Reverse(request.requests));
        Ok(requests)
    }
}

/// Says on standard error what was looked at, and what does not fit.
fn report(tables: &[Observed], found: &Inferred) {
    let read: u64 = tables.iter().map(|observed| observed.sample.read).sum();
    let items = counted(found.verified as usize, "item");
    if found.exception_count == 0 {
        eprint_line(&format!("{read} read; {items} of the sample read back with this design"));
        return;
    }
    warn(&format!(
        "{} of the sample are not read back with this design, {items} are:",
        counted(found.exception_count as usize, "item")
    ));
    for exception in &found.exceptions {
        eprint_line(&format!("  {} `{}`: {}", exception.table, exception.key, exception.reason));
    }
}

fn eprint_line(text: &str) {
    // What cannot be shown is in the file as well.
    drop(std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes()));
}

fn as_json(tables: &[Observed], found: &Inferred) -> serde_json::Value {
    let exceptions: Vec<_> = found
        .exceptions
        .iter()
        .map(|one| json!({ "table": one.table, "key": one.key, "reason": one.reason }))
        .collect();
    json!({
        "design": found.text,
        "read": tables.iter().map(|observed| observed.sample.read).sum::<u64>(),
        "verified": found.verified,
        "exceptions": found.exception_count,
        "listed_exceptions": exceptions,
        "unused_requests": found.unused_requests,
    })
}
