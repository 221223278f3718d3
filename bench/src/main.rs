//! Keyloom and its peers, measured side by side in one run.
//!
//! `scripts/bench` sets up what is needed and runs this. See `README.md` for how the figures are
//! made, and [`cases`] for what is measured.

mod bench;
mod cases;
mod contender;
mod echo;
mod embedded;
mod figures;
mod http;
mod load;
mod machine;
mod peers;
mod postgres;
mod process;
mod report;
mod results;
mod trips;
mod workload;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};

use crate::bench::{Bench, Settings};
use crate::contender::Contender;
use crate::machine::Machine;
use crate::peers::Programs;
use crate::results::Results;

/// Measures Keyloom and its peers side by side, and writes tables and plots.
#[derive(Debug, Parser)]
#[command(name = "scripts/bench", args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Other>,
    /// A few minutes, with smaller tables, for a first look; written to bench/quick.
    #[arg(long)]
    quick: bool,
    /// Only cases whose name contains these words, such as "http disk put" or "partitions".
    #[arg(long, value_name = "WORDS")]
    only: Option<String>,
    /// Where tables and plots go; docs/benchmarks, or bench/quick for a part or a quick run.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The directory for databases: on the disk that is to be measured.
    #[arg(long, value_name = "DIR", default_value = "bench/.scratch")]
    scratch: PathBuf,
    /// The keyloom command.
    #[arg(long, value_name = "FILE", default_value = "target/release/keyloom")]
    keyloom: PathBuf,
    /// Where the peers are installed.
    #[arg(long, value_name = "DIR", default_value = "bench/.peers")]
    peers: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Other {
    /// The limit of HTTP: serve given answers.
    #[command(hide = true)]
    Echo {
        #[arg(long)]
        port: u16,
    },
    /// Keyloom servers on PostgreSQL against pgbench on the same PostgreSQL.
    Postgres(postgres::Arguments),
}

/// The servers that are looked for.
const SERVERS: [Contender; 4] =
    [Contender::Keyloom, Contender::Dynoxide, Contender::Dynalite, Contender::Moto];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Other::Echo { port }) => echo::serve(port),
        Some(Other::Postgres(arguments)) => postgres::run(&arguments),
        None => run(arguments),
    }
}

fn run(arguments: Arguments) -> Result<()> {
    let Arguments { quick, only, out, scratch, keyloom, peers, .. } = arguments;
    ensure!(keyloom.exists(), "{} is missing: build it with scripts/bench", keyloom.display());
    std::fs::create_dir_all(&scratch).with_context(|| format!("create {}", scratch.display()))?;
    let scratch = scratch.canonicalize()?;
    let out = out.unwrap_or_else(|| {
        let is_whole = !quick && only.is_none();
        Path::new(if is_whole { "docs/benchmarks" } else { "bench/quick" }).to_owned()
    });
    let command = command_line(quick, only.as_deref());
    let settings = Settings { only, ..if quick { Settings::quick() } else { Settings::full() } };
    let programs = Programs::new(keyloom.clone(), peers.clone(), scratch.clone());
    let installed = programs.installed(&SERVERS);
    let machine = Machine::inspect(command, &keyloom, &peers, &scratch, &installed);
    let (results, start) = (Results::default(), Instant::now());
    let mut bench = Bench { settings, programs, scratch, results, start };
    for absent in SERVERS.into_iter().filter(|server| !installed.contains(server)) {
        bench.say_absent(format!("{} is not installed and was not measured", absent.label()));
    }
    let outcome = cases::run(&mut bench);
    // What was measured before a failure is worth keeping.
    report::write(&bench, &machine, &out)?;
    bench.say(&format!("written to {}", out.display()));
    // After a failure, the output of the servers may tell why.
    outcome.and_then(|()| bench::remove_directory(&bench.scratch))
}

/// The command that repeats this run.
fn command_line(is_quick: bool, only: Option<&str>) -> String {
    let quick = if is_quick { " --quick" } else { "" };
    let only = only.map_or(String::new(), |only| format!(" --only \"{only}\""));
    format!("scripts/bench{quick}{only}")
}
