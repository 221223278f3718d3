//! `keyloom cluster`: the servers that share a store.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use keyloom_engine::ClusterStatus;

use crate::observed::cluster_json;
use crate::output::{Failure, Format, Output};
use crate::store_url::StoreUrl;

/// Inspect the servers that share a store.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom cluster status --store postgres://keyloom@db.internal/keyloom
  KEYLOOM_STORE=postgres://… keyloom cluster status --format json")]
pub(crate) struct Cluster {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// Show servers, versions, lanes, jobs with their holders, and the state of the database.
    ///
    /// Exit codes: 0 a server is alive; 1 none is; 2 the database cannot be reached.
    Status(Status),
}

#[derive(Args, Debug)]
struct Status {
    /// The URL of the store, as for `keyloom serve --store`.
    #[arg(long, value_name = "URL", env = "KEYLOOM_STORE", hide_env_values = true)]
    store: StoreUrl,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

impl Cluster {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let Question::Status(asked) = self.question;
        let status = match ClusterStatus::of(asked.store.secret("--store", "KEYLOOM_STORE")?) {
            Ok(status) => status,
            Err(error) => {
                let place = asked.store.place();
                let failure = Failure::refused(format_args!("{place}: {}", error.message()));
                crate::output::complain(&failure);
                return Ok(ExitCode::from(2));
            }
        };
        match asked.format {
            Format::Human => human(&status, &asked.store.place(), output)?,
            Format::Json => output.line(cluster_json(&status))?,
        }
        let is_served = status.servers.iter().any(|server| status.is_alive(server));
        Ok(ExitCode::from(u8::from(!is_served)))
    }
}

fn human(status: &ClusterStatus, place: &str, output: &mut Output) -> Result<(), Failure> {
    let micros = status.round_trip.as_micros();
    output.line(format_args!(
        "{place}: reachable, a round trip takes {micros} µs; {} tables, epoch {}, records of version {}",
        status.tables, status.epoch, status.records
    ))?;
    for server in &status.servers {
        let paint = output.paint();
        let state = if status.is_alive(server) { paint.good("alive") } else { paint.bad("dead") };
        let behind = match status.epochs_behind(server) {
            0 => String::new(),
            epochs => format!(", {epochs} epochs behind when it was heard"),
        };
        output.line(format_args!(
            "server {} {state}: {} version {} (records up to {}), heard {} ms ago{behind}",
            server.id,
            server.endpoint,
            server.version,
            server.records,
            status.silent_ms(server),
        ))?;
    }
    for job in &status.jobs {
        output.line(format_args!("job {}: server {}", job.name, job.holder))?;
    }
    for lane in &status.lanes {
        output.line(format_args!(
            "lane {}: {}, {} flights, heard {} ms ago",
            lane.id, lane.about, lane.flights, lane.silent_ms
        ))?;
    }
    Ok(())
}
