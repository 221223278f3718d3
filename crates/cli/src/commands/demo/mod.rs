//! `keyloom demo`: a tour of what Keyloom does, in a few seconds.
//!
//! The tour runs the real commands on the task-management design, in a folder of its own that is
//! removed at the end; then it puts a skewed load on the design and shows what the doctor says; at
//! last it serves the loaded database and asks it over HTTP.

mod load;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Args, Parser};
use keyloom_design::check_text;
use keyloom_design::cost::Prices;
use keyloom_observe::{Judge, RecommendationEngine};
use keyloom_server::{Config, Server};

use crate::args::Arguments;
use crate::commands::doctor;
use crate::config::Config as ProjectConfig;
use crate::console::{DesignConsole, DesignFile, Observed};
use crate::design_file::design_of;
use crate::output::{Failure, Output};
use crate::trial::{Options, Trial};

use self::load::Traffic;

// Links to examples/designs, so that a package of this crate contains them.
const TASKS: &str = include_str!("tasks.toml");
const VERSIONS: &str = include_str!("document-versions.toml");

/// How long the demo waits for its own server.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tour Keyloom: keys, proofs, findings, a database, the doctor, a server.
///
/// Works in a temporary directory on a free loopback port, and exits by itself.
///
/// With --serve there is no tour: the database of the demo is served with its console and live traffic, in which another
/// project is the busy one every minute, until Ctrl-C.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom demo
  keyloom demo --serve")]
pub(crate) struct Demo {
    /// Serve the demo's database and its console under live traffic, until Ctrl-C.
    #[arg(long)]
    serve: bool,
    /// The port of --serve; 0 picks a free one.
    #[arg(long, default_value_t = 8000, requires = "serve")]
    port: u16,
}

impl Demo {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let folder = Folder::make()?;
        fs::write(folder.path.join("tasks.toml"), TASKS)?;
        if self.serve {
            return live(self.port, &folder.path.join("tasks.toml"), output);
        }
        fs::write(folder.path.join("versions.toml"), VERSIONS)?;
        std::env::set_current_dir(&folder.path)?;
        keys(output)?;
        designs(output)?;
        observed(output)?;
        served(output)?;
        // The folder can only be removed once it is no process's working directory.
        std::env::set_current_dir(std::env::temp_dir())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Shows how composite keys are built and read.
fn keys(output: &mut Output) -> Result<(), Failure> {
    let template = "ORDER#{placed_at:datetime}#{order_id:ulid}";
    title(output, "A composite key is a template with typed fields")?;
    let order = "order_id=01ARZ3NDEKTSV4RRFFQ69G5FAV";
    show(output, &["key", template, "build", "placed_at=2024-01-15T10:30:00Z", order])?;
    title(output, "A range of fields becomes one tight range of keys, the last day included")?;
    show(output, &["key", template, "range", "placed_at between 2024-01-01 and 2024-01-31"])
}

/// Shows what a design file gives.
fn designs(output: &mut Output) -> Result<(), Failure> {
    title(output, "A design is proven, pattern by pattern")?;
    show(output, &["check", "tasks.toml"])?;
    title(output, "A wrong key raises no error on DynamoDB; here it does")?;
    show(output, &["check", "versions.toml"])?;
    title(output, "Each pattern's exact request, and why other indexes do not serve it")?;
    show(output, &["explain", "tasks.toml", "open tasks of a project, soonest first"])?;
    title(output, "Plans are tried on the embedded database and compared with brute force")?;
    show(output, &["try", "tasks.toml", "--items", "2000"])
}

/// Runs a command of this program and shows it with its output.
fn show(output: &mut Output, words: &[&str]) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:".contains(c);
    let quoted: Vec<String> = words
        .iter()
        .map(|word| if word.chars().all(plain) { (*word).to_owned() } else { format!("'{word}'") })
        .collect();
    output.line(format_args!("$ keyloom {}", quoted.join(" ")))?;
    let line = std::iter::once("keyloom").chain(words.iter().copied());
    let arguments = Arguments::try_parse_from(line).map_err(Failure::refused)?;
    // A design with mistakes ends with another code; that is what the tour wants to show.
    super::run(arguments.command, output)?;
    output.line("")
}

fn title(output: &mut Output, text: &str) -> Result<(), Failure> {
    let line = output.paint().good(&format!("== {text}"));
    output.line(line)?;
    output.flush()
}

/// A skewed load, and what the doctor says.
fn observed(output: &mut Output) -> Result<(), Failure> {
    title(output, "Under a skewed load with mistakes in it, the doctor says what to change")?;
    let prices = Prices::default();
    let report = check_text("tasks.toml", TASKS, &prices);
    let design = design_of(&report)?;
    let seen = load::run(design)?.report();
    let findings = RecommendationEngine::new(Judge::new(&seen, Some(design), &prices)).diagnose();
    output.line("$ keyloom doctor --design tasks.toml --top 5")?;
    output.line(doctor::render("demo", &seen, &findings, 5, output.paint()))?;
    output.line("")
}

/// The loaded database with its console and live traffic.
fn live(port: u16, file: &Path, output: &mut Output) -> Result<ExitCode, Failure> {
    let report = check_text("tasks.toml", TASKS, &Prices::default());
    let traffic = Traffic::new(design_of(&report)?, true)?;
    let mut observed = traffic.observed().clone();
    observed.console = Some(Arc::new(DesignConsole {
        backend: (&observed.database).into(),
        designs: DesignFile::of(&[file.to_owned()])?,
        observed: Observed::Here(observed.clone()),
        endpoint: "the demo, in memory".to_owned(),
        throttle: Some("observe".to_owned()),
        is_read_only: false,
        config: ProjectConfig::default(),
    }));
    let config = Config { address: ([127, 0, 0, 1], port).into(), ..Config::default() };
    let server = Server::bind(config, observed).map_err(Failure::refused)?;
    output.line(format_args!("keyloom demo listening on {} (in memory)", server.url()))?;
    output.line(format_args!("console on {}/keyloom/", server.url()))?;
    output.line("live traffic goes on until Ctrl-C")?;
    output.flush()?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| traffic.flow(&is_over));
        let ended = server.run_until_terminated();
        is_over.store(true, Ordering::Relaxed);
        ended.map_err(Failure::refused)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The loaded database behind the wire protocol.
fn served(output: &mut Output) -> Result<(), Failure> {
    title(output, "The same database speaks DynamoDB over HTTP, to every AWS SDK")?;
    let report = check_text("tasks.toml", TASKS, &Prices::default());
    let options = Options { items: 200, seed: 1, calls: 1 };
    let trial =
        Trial::prepare(design_of(&report)?.clone(), options, &mut |_| {}).map_err(|refusal| {
            Failure::refused(format_args!("the items cannot be stored: {refusal}"))
        })?;
    let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
    let server =
        Server::start(config, trial.engine().database().clone()).map_err(Failure::refused)?;
    let body = r#"{"TableName":"tasks","Select":"COUNT","ReturnConsumedCapacity":"TOTAL"}"#;
    output.line(format_args!("POST {}  X-Amz-Target: DynamoDB_20120810.Scan", server.url()))?;
    output.line(body)?;
    output.line(format_args!("-> {}", post(server.addr(), "DynamoDB_20120810.Scan", body)?))?;
    server.shutdown();
    output.line("")?;
    output
        .line("Serve your own with `keyloom serve`; write a design and run `keyloom check` on it.")
}

/// One request over its own connection; returns the response's body.
fn post(address: SocketAddr, target: &str, body: &str) -> Result<String, Failure> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: {address}\r\nX-Amz-Target: {target}\r\n\
         Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.split_once("\r\n\r\n").map_or(answer.clone(), |(_, body)| body.to_owned()))
}

/// A temporary folder, removed when dropped.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn make() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("keyloom-demo-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self { path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    // What cannot be removed lies in the system's temporary folder.
    drop(fs::remove_dir_all(path));
}
