//! `keyloom copy`: a database moved to another store, or to another endpoint and back.
//!
//! Between data directories and PostgreSQL everything is copied as it is ([`stores`]); where one side is an endpoint,
//! tables and items are copied through its operations ([`crate::transfer::copy`]).

mod stores;

use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};

use clap::Args;
use keyloom_store::{DiskOptions, DiskStore, PostgresOptions, PostgresStore, ReadOnlyStore, Store};

use self::stores::StoreCopy;
use crate::endpoint::Reach;
use crate::output::{Failure, Output};
use crate::store_url::StoreUrl;
use crate::transfer::copy::{TableCopy, default_state};
use crate::transfer::place::{Place, is_endpoint};

/// Copy a whole database: between data directories, PostgreSQL, and any DynamoDB endpoint.
///
/// Between data directories and PostgreSQL everything is copied as it is: tables, settings, items, streams and backups.
/// Where one side is an endpoint (a server, or AWS), tables are made with their settings, indexes, expiry and tags, and
/// items are copied; the past of streams, backups, policies, encryption keys and replicas are not. Both sides are
/// compared at the end, by counts and checksums of ranges. What was stopped goes on where it was when the same
/// command is run again. A data directory must not be in use: name its server's endpoint instead.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom copy --from ./keyloom-data --to postgres://keyloom@db.internal/keyloom
  keyloom copy --from postgres://keyloom@db.internal/keyloom --to ./keyloom-data
  keyloom copy --from postgres://old.internal/keyloom --to postgres://new.internal/keyloom --follow
  keyloom copy --from http://localhost:8000 --to aws --to-region eu-west-1 --table orders --follow
  keyloom copy --from aws --from-profile production --to ./keyloom-data --rate 2")]
pub(crate) struct Copy {
    /// Data directory, postgres://… as for `keyloom serve --store`, http(s)://… of an endpoint, or `aws`.
    #[arg(long, value_name = "DIR or URL", env = "KEYLOOM_COPY_FROM", hide_env_values = true)]
    from: Side,
    /// The same: empty, or the unfinished copy of the same source.
    #[arg(long, value_name = "DIR or URL", env = "KEYLOOM_COPY_TO", hide_env_values = true)]
    to: Side,
    /// Keep copying changes until the writers of the source are stopped and Enter is pressed, or standard input ends.
    ///
    /// With an endpoint, changes come from the source's streams, which must be on.
    #[arg(long)]
    follow: bool,
    /// Read at most so many megabytes per second.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
    /// With an endpoint: only this table; may be repeated.
    #[arg(long = "table", value_name = "NAME")]
    tables: Vec<String>,
    /// How many parts are copied at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    workers: Option<u64>,
    /// With an endpoint: the progress file of the copy until it is finished; by default one in this folder.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// AWS region of the source; defaults to the environment's.
    #[arg(long, value_name = "NAME")]
    from_region: Option<String>,
    /// Profile in ~/.aws for the source; defaults to the environment's.
    #[arg(long, value_name = "NAME")]
    from_profile: Option<String>,
    /// AWS region of the target; defaults to the environment's.
    #[arg(long, value_name = "NAME")]
    to_region: Option<String>,
    /// Profile in ~/.aws for the target; defaults to the environment's.
    #[arg(long, value_name = "NAME")]
    to_profile: Option<String>,
}

/// Where a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Side {
    Directory(PathBuf),
    Shared(StoreUrl),
    Endpoint(String),
}

/// What names a side: its option and the variable that may hold a secret URL.
const FROM: (&str, &str) = ("--from", "KEYLOOM_COPY_FROM");
const TO: (&str, &str) = ("--to", "KEYLOOM_COPY_TO");

impl std::str::FromStr for Side {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if StoreUrl::is_one(text) {
            return text.parse().map(Self::Shared);
        }
        if is_endpoint(text) {
            return Ok(Self::Endpoint(text.to_owned()));
        }
        Ok(Self::Directory(text.into()))
    }
}

impl Side {
    fn name(&self) -> String {
        match self {
            Self::Directory(path) => path.display().to_string(),
            Self::Shared(url) => url.place(),
            Self::Endpoint(text) => text.clone(),
        }
    }

    fn is_endpoint(&self) -> bool {
        matches!(self, Self::Endpoint(_))
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
            Self::Shared(url) => self.connect(url, FROM, PostgresOptions::must_exist),
            Self::Endpoint(_) => Err(self.failed(&"this is no store")),
        }
    }

    /// The store, which is made if it is not there.
    fn to_write(&self) -> Result<Box<dyn Store>, Failure> {
        match self {
            Self::Directory(path) => {
                let opened = DiskStore::open(path, DiskOptions::default());
                Ok(Box::new(opened.map_err(|error| self.failed(&error))?.0))
            }
            Self::Shared(url) => self.connect(url, TO, |options| options),
            Self::Endpoint(_) => Err(self.failed(&"this is no store")),
        }
    }

    fn connect(
        &self,
        url: &StoreUrl,
        names: (&str, &str),
        settle: impl FnOnce(PostgresOptions) -> PostgresOptions,
    ) -> Result<Box<dyn Store>, Failure> {
        let options = PostgresOptions::from_url(url.secret(names.0, names.1)?).map(settle);
        let store = options.and_then(PostgresStore::connect);
        Ok(Box::new(store.map_err(|error| self.failed(&error))?))
    }

    /// The database behind its operations.
    fn place(&self, names: (&str, &str), reach: &Reach) -> Result<Place, Failure> {
        match self {
            Self::Directory(path) => {
                let makes = names == TO;
                Place::open(&path.display().to_string(), reach, makes)
                    .map_err(|failure| self.hint(failure))
            }
            Self::Shared(url) => {
                if names == FROM {
                    // A database would make its tables where there are none.
                    self.to_read()?;
                }
                Place::connect(url, names, reach)
            }
            Self::Endpoint(text) => Place::open(text, reach, false),
        }
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> Failure {
        self.hint(Failure::refused(format_args!("{}: {error}", self.name())))
    }

    /// Names the way to a directory that a server has open.
    fn hint(&self, failure: Failure) -> Failure {
        match (self, failure) {
            (Self::Directory(_), Failure::Refused(reason))
                if reason.contains("is open in another process") =>
            {
                Failure::Refused(format!(
                    "{reason}. If that is a server, name its endpoint (http://localhost:8000) instead of the directory: it \
                     may go on meanwhile, and --follow carries over what changes"
                ))
            }
            (_, failure) => failure,
        }
    }
}

impl Copy {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        if self.from == self.to && self.source_reach() == self.target_reach() {
            return Err(Failure::refused("--from and --to are the same"));
        }
        if self.from.is_endpoint() || self.to.is_endpoint() {
            self.copy_tables(output)?;
        } else {
            self.copy_store(output)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn source_reach(&self) -> Reach {
        Reach { region: self.from_region.clone(), profile: self.from_profile.clone() }
    }

    fn target_reach(&self) -> Reach {
        Reach { region: self.to_region.clone(), profile: self.to_profile.clone() }
    }

    /// Everything, as it is.
    fn copy_store(&self, output: &mut Output) -> Result<(), Failure> {
        let named = |is_there: bool, option: &'static str| is_there.then_some(option);
        let given = [
            named(!self.tables.is_empty(), "--table"),
            named(self.state.is_some(), "--state"),
            named(
                self.from_region.is_some() || self.to_region.is_some(),
                "--from-region, --to-region",
            ),
            named(
                self.from_profile.is_some() || self.to_profile.is_some(),
                "--from-profile, --to-profile",
            ),
        ];
        if let Some(option) = given.into_iter().flatten().next() {
            return Err(Failure::refused(format_args!(
                "{option}: only where --from or --to is an endpoint; between stores everything is copied as it is"
            )));
        }
        if self.follow && matches!(self.from, Side::Directory(_)) {
            // A directory that is in use says so, and what to do.
            self.from.to_read()?;
            return Err(Failure::refused(
                "--follow: nobody can write a data directory while it is read. Name the endpoint of its server as --from, \
                 or copy it, stop its server, and run the same command once more: only what has changed is written",
            ));
        }
        let (from, to) = (self.from.to_read()?, self.to.to_write()?);
        let copy = StoreCopy {
            from: (&*from, self.from.name()),
            to: (&*to, self.to.name()),
            told: self.follow.then(line_of_input),
            rate: self.rate,
            workers: self.workers(),
        };
        copy.run(output)
    }

    fn workers(&self) -> usize {
        self.workers.unwrap_or(4) as usize
    }

    /// Tables and items, through the operations of endpoints.
    fn copy_tables(&self, output: &mut Output) -> Result<(), Failure> {
        if self.follow && matches!(self.from, Side::Directory(_)) {
            return Err(Failure::refused(
                "--follow: nobody can write a data directory while it is read; name the endpoint of its server as --from",
            ));
        }
        let from = self.from.place(FROM, &self.source_reach())?;
        let to = self.to.place(TO, &self.target_reach())?;
        let state = self.state.clone().unwrap_or_else(|| default_state(&from.name, &to.name));
        let copy = TableCopy {
            from: &from,
            to: &to,
            tables: &self.tables,
            told: self.follow.then(line_of_input),
            rate: self.rate,
            workers: self.workers(),
            state,
        };
        copy.run(output)
    }
}

/// Signals when a line of standard input, or its end, has been read.
fn line_of_input() -> Receiver<()> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        // Whatever is typed, and also if it cannot be read.
        let _ = std::io::stdin().lock().read_line(&mut String::new());
        let _ = tell.send(());
    });
    told
}
