//! `keyloom load`: items from files into a table.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use keyloom_design::counted;

use crate::deployment::table_request;
use crate::endpoint::Reach;
use crate::output::{Failure, Output, warn};
use crate::transfer::form::Form;
use crate::transfer::loading::Loading;
use crate::transfer::place::{Place, Target};
use crate::transfer::problems::Problems;
use crate::transfer::shape::{Shape, ShapeOptions};
use crate::transfer::source;
use crate::transfer::writer::Shared;

/// Load items from files into a table.
///
/// Reads JSON lines, DynamoDB JSON, CSV and Ion, also compressed (.gz, .zst), and the folders of exports. With
/// --design, every row must be of an entity of the design: its values get the design's types, and keys that are missing in
/// the file are built. A row that is refused is reported with its file and line, and loading continues; the exit code is
/// then 1. Loading the same files again gives the same items.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom load notes.jsonl --to http://localhost:8000 --table notes
  keyloom load users.csv --to ./keyloom-data --design shop.toml --entity User --create
  keyloom load ./export --to http://localhost:8000 --table orders
  keyloom load orders.jsonl --to http://localhost:8000 --design shop.toml --anonymise email=hash,name=fake")]
pub(crate) struct Load {
    /// Files or folders; `-` reads standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Endpoint URL, `aws`, or a data directory that no server uses.
    #[arg(long, value_name = "URL or DIR")]
    to: String,
    /// Table; optional if the design has only one.
    #[arg(long, value_name = "NAME", required_unless_present = "design")]
    table: Option<String>,
    /// Format of the files; inferred from their names by default.
    #[arg(long, value_enum)]
    format: Option<Form>,
    /// Separator of CSV values.
    #[arg(long, value_name = "CHARACTER", default_value = ",")]
    delimiter: char,
    #[command(flatten)]
    shape: ShapeOptions,
    /// The entity of every row; missing keys are built from its templates.
    #[arg(long, value_name = "NAME", requires = "design")]
    entity: Option<String>,
    /// Create the table of the design if it does not exist.
    #[arg(long, requires = "design")]
    create: bool,
    /// Do not overwrite existing items.
    #[arg(long)]
    keep_existing: bool,
    /// Read and check the rows, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Maximum number of items written per second.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
    /// Number of batches written in parallel.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=64))]
    workers: u64,
    /// Write all refused rows to a file, as JSON lines.
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,
    #[command(flatten)]
    reach: Reach,
}

impl Load {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let delimiter = u8::try_from(self.delimiter)
            .ok()
            .filter(u8::is_ascii)
            .ok_or_else(|| Failure::refused("--delimiter must be one ASCII character"))?;
        let sources = source::find(&self.files, self.format)?;
        let shape = Shape::new(&self.shape, self.table.as_deref(), self.entity.as_deref())?;
        let place = Place::open(&self.to, &self.reach, true)?;
        let target = self.target(&place, shape.as_ref())?;
        let problems = Mutex::new(Problems::kept_in(self.errors.as_deref())?);
        let shared = Shared::new(&problems, self.keep_existing);
        let loading =
            Loading { workers: self.workers as usize, dry_run: self.dry_run, rate: self.rate };
        let good = loading.run(&sources, &target, shape.as_ref(), delimiter, &shared)?;
        let fatal = shared.fatal.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (written, kept) = (shared.written.into_inner(), shared.kept.into_inner());
        let refused = problems.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
        let left_out = shape.as_ref().map(Shape::left_out).unwrap_or_default();
        if !left_out.is_empty() {
            warn(&format!(
                "attributes that the design does not have were left out: {}",
                left_out.join(", ")
            ));
        }
        let unknown = shape.as_ref().map(Shape::unknown).unwrap_or_default();
        if !unknown.is_empty() {
            warn(&format!(
                "attributes that the design does not have were loaded as they are: {}",
                unknown.join(", ")
            ));
        }
        let unguarded = shape.as_ref().map(Shape::unguarded).unwrap_or_default();
        if !unguarded.is_empty() {
            warn(&format!(
                "load writes rows as they are, so what must be unique is not checked, and its guards are there only if they are \
                 among the rows: {}",
                unguarded.join("; ")
            ));
        }
        if let Some(reason) = fatal {
            return Err(place.failed(&format_args!(
                "{reason}\n{written} items had been written; run the same command again when it is mended: items that \
                 are there are written alike"
            )));
        }
        let table = target.client.table_name();
        let bad = counted(refused, "row");
        if self.dry_run {
            let good = counted(good, "item");
            output.line(format_args!("{good} would go into table `{table}`, {bad} refused"))?;
        } else if self.keep_existing {
            let new = counted(written, "item");
            output.line(format_args!(
                "{new} into table `{table}`, {kept} were there, {bad} refused"
            ))?;
        } else {
            let new = counted(written, "item");
            output.line(format_args!("{new} into table `{table}`, {bad} refused"))?;
        }
        Ok(if refused > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// The table, which is made if that was asked for.
    fn target(&self, place: &Place, shape: Option<&Shape>) -> Result<Target, Failure> {
        let name = shape.map(|shape| shape.table().name.as_str()).or(self.table.as_deref());
        let name = name.unwrap_or_default();
        if let Some(target) = place.table(name)? {
            return Ok(target);
        }
        let Some(shape) = shape.filter(|_| self.create && !self.dry_run) else {
            let tables = place.tables()?;
            if self.create {
                return Err(place.failed(&format_args!(
                    "there is no table `{name}`, and --dry-run makes none: load without it, or run `keyloom deploy` first"
                )));
            }
            return Err(place.failed(&format_args!(
                "there is no table `{name}`; there is {}. `keyloom deploy` makes the tables of a design, and so does --create",
                if tables.is_empty() { "none".to_owned() } else { tables.join(", ") }
            )));
        };
        let request = table_request(shape.report(), shape.table());
        place.create(name, &request)
    }
}
