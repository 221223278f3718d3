//! `keyloom load`: items from files into a table.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use keyloom_design::counted;

use crate::deployment::table_request;
use crate::output::{Failure, Output, warn};
use crate::progress::Progress;
use crate::transfer::form::Form;
use crate::transfer::place::{Place, Reach, Target};
use crate::transfer::problems::Problems;
use crate::transfer::shape::{Shape, ShapeOptions};
use crate::transfer::source::{self, Reading, Source};
use crate::transfer::writer::{Job, Shared, Writer, work};

/// Load items from files into a table.
///
/// Reads JSON lines, DynamoDB JSON, CSV and Ion, also compressed (.gz, .zst), and the folders of exports. With
/// --design, every row must be of an entity of the design: its values get the design's types, and keys that are not in the
/// file are made. A row that cannot be taken is reported with its file and line, and the others go on; the exit code is
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
    /// Table; may be left out where the design has only one.
    #[arg(long, value_name = "NAME", required_unless_present = "design")]
    table: Option<String>,
    /// Format of the files; otherwise their names tell.
    #[arg(long, value_enum)]
    format: Option<Form>,
    /// What stands between the values of CSV.
    #[arg(long, value_name = "CHARACTER", default_value = ",")]
    delimiter: char,
    #[command(flatten)]
    shape: ShapeOptions,
    /// The entity of every row: keys that the rows do not have are made of its templates.
    #[arg(long, value_name = "NAME", requires = "design")]
    entity: Option<String>,
    /// Make the table of the design if it is not there.
    #[arg(long, requires = "design")]
    create: bool,
    /// Leave items that are there as they are.
    #[arg(long)]
    keep_existing: bool,
    /// Read and judge the rows, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Write at most so many items per second.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
    /// How many batches are written at once.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=64))]
    workers: u64,
    /// Keep all refused rows in a file, as JSON lines.
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
        let good = self.transfer(&sources, &target, shape.as_ref(), delimiter, &shared)?;
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
            return Err(place.failed(&format_args!(
                "there is no table `{name}`; there is {}. `keyloom deploy` makes the tables of a design, and so does --create",
                if tables.is_empty() { "none".to_owned() } else { tables.join(", ") }
            )));
        };
        let request = table_request(shape.report(), shape.table());
        place.call("CreateTable", &request).map_err(|error| place.failed(&error))?;
        for _ in 0..2400 {
            if let Some(target) = place.table(name)?
                && target.described.get("TableStatus").is_some_and(|status| status == "ACTIVE")
            {
                return Ok(target);
            }
            std::thread::sleep(Duration::from_millis(250));
        }
        Err(place.failed(&format_args!("table `{name}` was made and is still not active")))
    }

    /// Reads all rows and gives them to the workers; how many were good.
    fn transfer(
        &self,
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
        let (mut writer, jobs) = Writer::new(target, self.workers as usize);
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
