//! `keyloom dump`: the items of a table into a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use clap::Args;
use flate2::write::GzEncoder;
use keyloom::Item;
use keyloom_design::counted;
use keyloom_engine::write_export;

use crate::design_file::is_input;
use crate::endpoint::Reach;
use crate::output::{Failure, Output, warn};
use crate::progress::Progress;
use crate::transfer::form::{Form, Lines, has_empty_text, key_text};
use crate::transfer::place::{Place, Target};
use crate::transfer::problems::{Origin, Problems};
use crate::transfer::shape::{Shape, ShapeOptions};

/// Dump the items of a table into a file.
///
/// Writes JSON lines, DynamoDB JSON or CSV, or a folder as ExportTableToPointInTime does; `keyloom load` reads all of
/// them. With --design, items that match no entity or have other types are reported and left out; the exit code is then 1.
/// With --anonymise, values are replaced so that production data can be used in development; keys and indexes are rebuilt
/// from the new values. The file gets its final name only when it is complete; if the name ends in .gz, it is compressed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom dump --from http://localhost:8000 --table notes --out notes.jsonl
  keyloom dump --from aws --table orders --out ./export --format export
  keyloom dump --from aws --table users --design shop.toml --anonymise email=hash,name=fake --out users.jsonl
  keyloom dump --from ./keyloom-data --table notes --format csv --columns PK,SK,text --out notes.csv")]
pub(crate) struct Dump {
    /// Endpoint URL, `aws`, or a data directory that no server uses.
    #[arg(long, value_name = "URL or DIR")]
    from: String,
    /// Table; optional if the design has only one.
    #[arg(long, value_name = "NAME", required_unless_present = "design")]
    table: Option<String>,
    /// File to write, or the folder of an export; `-` is standard output.
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
    /// Format.
    #[arg(long, value_enum, default_value_t = Form::Jsonl)]
    format: Form,
    /// Columns of CSV; by default the attributes of the design, or those of the first items.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,
    #[command(flatten)]
    shape: ShapeOptions,
    /// Maximum number of items read per second.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
    /// Number of segments of the table that are read in parallel.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    segments: u64,
    /// Write all refused items to a file, as JSON lines.
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,
    #[command(flatten)]
    reach: Reach,
}

/// A page of items, or the error of reading it.
type Page = Result<Vec<Item>, String>;

impl Dump {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        self.check_options()?;
        let shape = Shape::new(&self.shape, self.table.as_deref(), None)?;
        let place = Place::open(&self.from, &self.reach, false)?;
        let name =
            shape.as_ref().map(|shape| shape.table().name.clone()).or_else(|| self.table.clone());
        let name = name.unwrap_or_default();
        let target = place.table(&name)?.ok_or_else(|| {
            let tables = place.tables().unwrap_or_default();
            place
                .failed(&format_args!("there is no table `{name}`; there is {}", tables.join(", ")))
        })?;
        let mut problems = Problems::kept_in(self.errors.as_deref())?;
        let count = self.transfer(&target, shape.as_ref(), &mut problems)?;
        let refused = problems.finish()?;
        let left_out = shape.as_ref().map(Shape::left_out).unwrap_or_default();
        if !left_out.is_empty() {
            warn(&format!(
                "attributes that the design does not have were left out: {}",
                left_out.join(", ")
            ));
        }
        if !is_input(&self.out) {
            let out = self.out.display();
            output.line(format_args!(
                "{} of table `{name}` into {out}, {refused} refused",
                counted(count, "item")
            ))?;
        }
        Ok(if refused > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn check_options(&self) -> Result<(), Failure> {
        if self.format == Form::Ion {
            return Err(Failure::refused(
                "Ion is read and not written: use dynamodb-json or export",
            ));
        }
        if self.format == Form::Export && is_input(&self.out) {
            return Err(Failure::refused("--format export needs the name of a folder in --out"));
        }
        let ending = self.out.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        if self.format != Form::Export && ending.as_deref() == Some("zst") {
            return Err(Failure::refused(format_args!(
                "{}: zstd is read and not written: name a file that ends in .gz, or in neither",
                self.out.display()
            )));
        }
        if self.format != Form::Csv && !self.columns.is_empty() {
            return Err(Failure::refused(
                "--columns is for --format csv; the other formats have every attribute",
            ));
        }
        Ok(())
    }

    /// Reads the table and writes its items; how many there were.
    fn transfer(
        &self,
        target: &Target,
        shape: Option<&Shape>,
        problems: &mut Problems,
    ) -> Result<u64, Failure> {
        let (send, pages) = sync_channel(4);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for segment in 0..self.segments {
                let (send, is_over) = (send.clone(), &is_over);
                scope.spawn(move || self.scan(target, segment, &send, is_over));
            }
            drop(send);
            let file: Arc<str> = format!("table {}", target.client.table_name()).into();
            let mut progress = Progress::new("dumping", target.items);
            let (mut read, begun) = (0_u64, Instant::now());
            let shaped = |page: Vec<Item>| {
                let mut good = Vec::with_capacity(page.len());
                for item in page {
                    read += 1;
                    let label = key_text(&target.keys, &item);
                    match shape.map_or(Ok(item.clone()), |shape| shape.apply(item)) {
                        Ok(item) => good.push(item),
                        Err(reason) => {
                            let origin = Origin { file: Arc::clone(&file), line: read };
                            problems.add(&origin, &format!("item `{label}`: {reason}"));
                        }
                    }
                }
                progress.at(read as usize);
                if let Some(rate) = self.rate {
                    let due = Duration::from_secs_f64(read as f64 / rate as f64);
                    std::thread::sleep(due.saturating_sub(begun.elapsed()));
                }
                good
            };
            let done = self.write(target, shape, &pages, shaped);
            // The other readers can stop.
            is_over.store(true, Ordering::Relaxed);
            drop(pages);
            done
        })
    }

    /// Reads one part of the table.
    fn scan(&self, target: &Target, segment: u64, send: &SyncSender<Page>, is_over: &AtomicBool) {
        let scan = target.client.scan();
        let scan = match self.segments {
            1 => scan,
            of => scan.segment(segment as u32, of as u32),
        };
        for page in scan.pages() {
            let page = page.map(|page| page.items).map_err(|error| error.to_string());
            let is_last = page.is_err() || is_over.load(Ordering::Relaxed);
            if send.send(page).is_err() || is_last {
                return;
            }
        }
    }

    fn write(
        &self,
        target: &Target,
        shape: Option<&Shape>,
        pages: &Receiver<Page>,
        mut shaped: impl FnMut(Vec<Item>) -> Vec<Item>,
    ) -> Result<u64, Failure> {
        let failed = |reason: &dyn std::fmt::Display| {
            Failure::refused(format_args!("{}: {reason}; nothing whole was written", self.from))
        };
        if self.format == Form::Export {
            std::fs::create_dir_all(&self.out).map_err(|error| self.unwritable(&error))?;
            let items = pages.iter().flat_map(|page| match page {
                Ok(items) => shaped(items).into_iter().map(Ok).collect::<Vec<_>>(),
                Err(reason) => vec![Err(keyloom_core::Error::InternalServer(reason))],
            });
            let folder = std::path::absolute(&self.out).map_err(|error| self.unwritable(&error))?;
            let name =
                target.described.get("TableArn").and_then(|arn| arn.as_str()).unwrap_or_default();
            return write_export(&folder, name, items)
                .map(|(count, _)| count)
                .map_err(|failure| failed(&failure.message));
        }
        let mut file = NewFile::create(&self.out).map_err(|error| self.unwritable(&error))?;
        let columns = match (self.columns.as_slice(), shape) {
            ([], None) => None,
            ([], Some(shape)) => Some(shape.attributes()),
            (named, _) => Some(named.to_vec()),
        };
        let mut lines = Lines::new(self.format, columns);
        let (mut count, mut empty) = (0, 0);
        let mut text = Vec::new();
        for page in pages {
            let items = shaped(page.map_err(|reason| failed(&reason))?);
            text.clear();
            lines.write(&target.keys, &items, &mut text).map_err(|reason| failed(&reason))?;
            if self.format == Form::Csv {
                empty += items.iter().filter(|item| has_empty_text(item)).count();
            }
            count += items.len() as u64;
            file.out.write_all(&text).map_err(|error| self.unwritable(&error))?;
        }
        file.finish().map_err(|error| self.unwritable(&error))?;
        if empty > 0 {
            warn(&format!(
                "{} with an empty text: CSV cannot tell it from an attribute that is not there; the other formats can",
                counted(empty, "item")
            ));
        }
        Ok(count)
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::ClosedPipe;
        }
        Failure::refused(format_args!("{} cannot be written: {error}", self.out.display()))
    }
}

/// An output with a trailer.
trait Finish: Write {
    /// Writes the trailer and flushes.
    fn finish(&mut self) -> io::Result<()>;
}

impl<W: Write> Finish for BufWriter<W> {
    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}

impl<W: Write> Finish for GzEncoder<W> {
    fn finish(&mut self) -> io::Result<()> {
        self.try_finish()?;
        self.get_mut().flush()
    }
}

/// A file that gets its name when it is whole; or standard output.
struct NewFile {
    out: Box<dyn Finish>,
    paths: Option<(PathBuf, PathBuf)>,
}

impl NewFile {
    fn create(path: &Path) -> io::Result<Self> {
        if is_input(path) {
            return Ok(Self { out: Box::new(BufWriter::new(io::stdout())), paths: None });
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = BufWriter::new(File::create(&part)?);
        let is_compressed = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("gz"));
        // `load` reads what is called so as compressed.
        let out: Box<dyn Finish> = if is_compressed {
            Box::new(GzEncoder::new(file, flate2::Compression::default()))
        } else {
            Box::new(file)
        };
        Ok(Self { out, paths: Some((part, path.to_owned())) })
    }

    fn finish(mut self) -> io::Result<()> {
        self.out.finish()?;
        match &self.paths {
            Some((part, path)) => std::fs::rename(part, path),
            None => Ok(()),
        }
    }
}
