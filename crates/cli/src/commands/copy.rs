//! `keyloom copy`: a database moved to another store.

use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use clap::Args;
use keyloom_engine::copying::{Comparison, Copy as Copying, Pass};
use keyloom_store::{
    DiskOptions, DiskStore, PostgresOptions, PostgresStore, ReadOnlyStore, Store, StoreError,
};

use crate::output::{Failure, Output};
use crate::progress::Progress;
use crate::store_url::StoreUrl;

/// How often the source is walked through with `--follow`, at most.
const PAUSE: Duration = Duration::from_secs(1);

/// How often a source that nobody should write is walked through before that is doubted.
const PASSES: usize = 3;

/// Copy a whole database to another store: from a data directory to PostgreSQL, and back.
///
/// Tables, settings, items, streams and backups are copied as they are, and compared at the end by a checksum of
/// every table and index. What was stopped goes on where it was when the same command is run again; until it is
/// finished no server opens the target. A data directory must not be in use; the servers of a PostgreSQL may go on
/// with --follow.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom copy --from ./keyloom-data --to postgres://keyloom@db.internal/keyloom
  keyloom copy --from postgres://keyloom@db.internal/keyloom --to ./keyloom-data
  keyloom copy --from postgres://old.internal/keyloom --to postgres://new.internal/keyloom --follow")]
pub(crate) struct Copy {
    /// Data directory, or postgres://… as for `keyloom serve --store`.
    #[arg(long, value_name = "DIR or URL", env = "KEYLOOM_COPY_FROM", hide_env_values = true)]
    from: Place,
    /// Data directory, or postgres://…: empty, or the unfinished copy of the same source.
    #[arg(long, value_name = "DIR or URL", env = "KEYLOOM_COPY_TO", hide_env_values = true)]
    to: Place,
    /// Go on copying what changes, until the servers of the source are stopped and Enter is pressed.
    #[arg(long)]
    follow: bool,
    /// Read at most so many megabytes per second.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
}

/// Where a database is.
#[derive(Clone, Debug)]
enum Place {
    Directory(PathBuf),
    Shared(StoreUrl),
}

impl std::str::FromStr for Place {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if StoreUrl::is_one(text) {
            return text.parse().map(Self::Shared);
        }
        Ok(Self::Directory(text.into()))
    }
}

impl Place {
    fn name(&self) -> String {
        match self {
            Self::Directory(path) => path.display().to_string(),
            Self::Shared(url) => url.place(),
        }
    }

    /// The store, which must be there.
    fn to_read(&self) -> Result<Box<dyn Store>, Failure> {
        match self {
            Self::Directory(path) if !path.is_dir() => {
                Err(Failure::refused(format_args!("{}: there is no such directory", self.name())))
            }
            Self::Directory(path) => {
                let opened = ReadOnlyStore::open(path, DiskOptions::default());
                Ok(Box::new(opened.map_err(|error| self.failed(&error))?.0))
            }
            Self::Shared(url) => self.connect(url, "--from", "KEYLOOM_COPY_FROM"),
        }
    }

    /// The store, which is made if it is not there.
    fn to_write(&self) -> Result<Box<dyn Store>, Failure> {
        match self {
            Self::Directory(path) => {
                let opened = DiskStore::open(path, DiskOptions::default());
                Ok(Box::new(opened.map_err(|error| self.failed(&error))?.0))
            }
            Self::Shared(url) => self.connect(url, "--to", "KEYLOOM_COPY_TO"),
        }
    }

    fn connect(
        &self,
        url: &StoreUrl,
        option: &str,
        variable: &str,
    ) -> Result<Box<dyn Store>, Failure> {
        let options = PostgresOptions::from_url(url.secret(option, variable)?);
        let store = options.and_then(PostgresStore::connect);
        Ok(Box::new(store.map_err(|error| self.failed(&error))?))
    }

    fn failed(&self, error: &StoreError) -> Failure {
        Failure::refused(format_args!("{}: {error}", self.name()))
    }
}

impl Copy {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        if self.follow && matches!(self.from, Place::Directory(_)) {
            return Err(Failure::refused(
                "--follow: nobody can write a data directory while it is read; copy it, stop its server, and run the \
                 same command once more: only what has changed is written",
            ));
        }
        let (from, to) = (self.from.to_read()?, self.to.to_write()?);
        let mut copying =
            Copying::begin(&*from, &*to, &self.from.name()).map_err(Failure::refused)?;
        if self.follow {
            self.follow(&mut copying, &*from, output)?;
        }
        let compared = self.make_equal(&mut copying, &*from)?;
        copying.finish().map_err(Failure::refused)?;
        output.line(format_args!(
            "{}: {} entries in {} ranges copied from {} and compared: all equal",
            self.to.name(),
            compared.entries,
            compared.ranges,
            self.from.name()
        ))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Copies until source and target are equal.
    fn make_equal(
        &self,
        copying: &mut Copying<'_>,
        from: &dyn Store,
    ) -> Result<Comparison, Failure> {
        let mut different = 0;
        for _ in 0..PASSES {
            self.pass(copying, from)?;
            let compared = copying.compare().map_err(Failure::refused)?;
            if compared.different.is_empty() {
                return Ok(compared);
            }
            different = compared.different.len();
        }
        Err(Failure::refused(format_args!(
            "{} is written all the time: {different} ranges differ after {PASSES} passes. Stop its servers and run the \
             same command again, or use --follow",
            self.from.name()
        )))
    }

    /// Copies what changes until it is told that the servers of the source are stopped.
    fn follow(
        &self,
        copying: &mut Copying<'_>,
        from: &dyn Store,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let told = line_of_input();
        loop {
            let begun = Instant::now();
            let pass = self.pass(copying, from)?;
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

    fn pass(&self, copying: &mut Copying<'_>, from: &dyn Store) -> Result<Pass, Failure> {
        let total = from.stats().map_or(0, |stats| stats.approximate_entries) as usize;
        let (mut progress, begun) = (Progress::new("copying", total), Instant::now());
        let passed = copying.pass(|pass| {
            progress.at(pass.entries as usize);
            if let Some(rate) = self.rate {
                let due = Duration::from_secs_f64(pass.bytes as f64 / (rate as f64 * 1e6));
                std::thread::sleep(due.saturating_sub(begun.elapsed()));
            }
        });
        passed.map_err(Failure::refused)
    }
}

/// Tells when a line of standard input, or its end, has been read.
fn line_of_input() -> Receiver<()> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        // Whatever is typed, and also if it cannot be read.
        let _ = std::io::stdin().lock().read_line(&mut String::new());
        let _ = tell.send(());
    });
    told
}
