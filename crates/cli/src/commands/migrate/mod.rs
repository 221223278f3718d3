//! `keyloom migrate`: from one design to another while programs use the items.

mod show;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use keyloom::migrate::{Migration, Phase, Step, Verification};
use keyloom::remote::Remote;
use keyloom_design::CheckReport;
use keyloom_design::cost::Prices;
use keyloom_design::diff;

use self::watch::Live;
use crate::config::Config;
use crate::deployment::prepare;
use crate::design_file::{check_file, design_of};
use crate::endpoint::Reach;
use crate::nearest::nearest;
use crate::output::{Failure, Format, Output};

/// Migrate stored items to another design, online: resumable, verified, reversible.
///
/// Every item is written in its new form beside the old one, and kept true while programs go on; the stream of
/// each table tells what changes. Phases: expand, backfill, sweep, follow; then switch, and contract. Until
/// contract, rollback leads back, and loses nothing that was written since.
///
/// The state is in the table `keyloom_migrations` of the database itself: stopped at any moment, `run` goes on, from
/// any machine. Only one runner can write.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom migrate plan old.toml new.toml
  keyloom migrate run old.toml new.toml --endpoint http://localhost:8000
  keyloom migrate status old.toml new.toml --endpoint http://localhost:8000
  keyloom migrate verify old.toml new.toml --endpoint http://localhost:8000
  keyloom migrate switch old.toml new.toml --endpoint http://localhost:8000 --writers-are-gone
  keyloom migrate rollback old.toml new.toml --endpoint http://localhost:8000
  keyloom migrate contract old.toml new.toml --endpoint http://localhost:8000")]
pub(crate) struct Migrate {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say what happens to the items of each entity, and what is in the way: then the exit code is 1. Nothing is asked
    /// of a database.
    Plan {
        #[command(flatten)]
        designs: Designs,
    },
    /// Begin, or go on: copy all items and carry changes over, until stopped.
    Run(Run),
    /// Say how far it is.
    Status(Place),
    /// Compare every item with what the other design says it should be; exit with 1 if any differs.
    Verify(Place),
    /// Move programs to the new form: after a comparison of all items, changes are carried back from then on.
    Switch {
        #[command(flatten)]
        place: Place,
        /// No program writes the old form any more, except those that heed the migration.
        #[arg(long)]
        writers_are_gone: bool,
        /// There is no way back after this switch, and that is accepted.
        #[arg(long)]
        no_way_back: bool,
    },
    /// Lead back to the old design, and remove the new form.
    Rollback(Place),
    /// End the migration: remove the old form, and what was kept in the items.
    Contract(Place),
}

#[derive(Args, Debug)]
struct Designs {
    /// The design in use.
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The design to come.
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// An entity that the new design does not have, on purpose: its items stay where they are.
    #[arg(long, value_name = "ENTITY")]
    left_behind: Vec<String>,
    /// The patterns that `plan` names may miss items until the switch.
    #[arg(long)]
    gaps_accepted: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Args, Debug)]
struct Place {
    #[command(flatten)]
    designs: Designs,
    /// Endpoint URL, or `aws`. That of keyloom.toml by default.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Args, Debug)]
struct Run {
    #[command(flatten)]
    place: Place,
    /// The most capacity units to use in a second, reads and writes of tables together.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    /// How many pages are copied at once.
    #[arg(long, value_name = "N", default_value_t = 8)]
    workers: usize,
    /// Stop as soon as everything that was written has been carried over.
    #[arg(long)]
    once: bool,
    /// Replace a runner that may still be active: it cannot write any more.
    #[arg(long)]
    take_over: bool,
}

impl Migrate {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        match self.action {
            Action::Plan { designs } => plan(&designs, output),
            Action::Run(run) => run.run(output),
            Action::Status(place) => {
                let open = place.open()?;
                let status = open.migration.status().map_err(refused)?;
                show::status(status.as_ref(), place.designs.format, output)?;
                Ok(ExitCode::SUCCESS)
            }
            Action::Verify(place) => {
                let open = place.open()?;
                let mut wait = || {
                    std::thread::sleep(Duration::from_secs(1));
                    Ok(())
                };
                let verified = open.migration.verify(&mut wait).map_err(refused)?;
                show::verification(&verified, place.designs.format, output)?;
                Ok(code(&verified))
            }
            Action::Switch { place, writers_are_gone, no_way_back } => {
                place.switch(writers_are_gone, no_way_back, output)
            }
            Action::Rollback(place) => {
                let open = place.open()?;
                let mut runner = open.migration.runner(true).map_err(refused)?;
                let ended = runner.rollback().map_err(refused)?;
                show::ended(
                    "the old design is the only one again",
                    &ended,
                    place.designs.format,
                    output,
                )?;
                Ok(ExitCode::SUCCESS)
            }
            Action::Contract(place) => {
                let open = place.open()?;
                let mut runner = open.migration.runner(true).map_err(refused)?;
                let ended = runner.contract().map_err(refused)?;
                show::ended(
                    "the new design is the only one now",
                    &ended,
                    place.designs.format,
                    output,
                )?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn code(verified: &Verification) -> ExitCode {
    if verified.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn refused(error: keyloom::Error) -> Failure {
    Failure::refused(error)
}

impl Designs {
    fn read(&self) -> Result<(CheckReport, CheckReport), Failure> {
        let old = check_file(&self.old, &Prices::default())?;
        let new = check_file(&self.new, &Prices::default())?;
        design_of(&old)?;
        design_of(&new)?;
        Ok((old, new))
    }
}

fn plan(designs: &Designs, output: &mut Output) -> Result<ExitCode, Failure> {
    let (old, new) = designs.read()?;
    let difference = diff::compare(&old, &new, &Prices::default());
    let plan = keyloom::migrate::MigrationPlan::between(&old, &new)
        .ok_or_else(|| Failure::refused("one of the designs is not usable"))?;
    for name in &designs.left_behind {
        if !plan.left_behind.contains(name) {
            let names: Vec<&str> = plan.left_behind.iter().map(String::as_str).collect();
            return Err(Failure::refused(format_args!(
                "--left-behind {name}: no such entity is left behind{}",
                nearest(name, &names)
            )));
        }
    }
    let is_open = show::plan(&plan, &difference, designs, output)?;
    Ok(if is_open { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A migration at an endpoint.
struct Open {
    migration: Migration,
    remote: Remote,
    new: CheckReport,
}

impl Place {
    fn open(&self) -> Result<Open, Failure> {
        let (old, new) = self.designs.read()?;
        let Some(place) = Config::endpoint(self.endpoint.as_deref())? else {
            return Err(Failure::refused("say where the items are with --endpoint"));
        };
        let remote = self.reach.connect(&place)?;
        let migration = Migration::new(remote.clone(), &old, &new).map_err(refused)?;
        let migration = migration.leaving_behind(&self.designs.left_behind);
        let migration =
            if self.designs.gaps_accepted { migration.accepting_gaps() } else { migration };
        Ok(Open { migration, remote, new })
    }

    fn switch(
        &self,
        gone: bool,
        no_way_back: bool,
        output: &mut Output,
    ) -> Result<ExitCode, Failure> {
        let open = self.open()?;
        if !gone {
            return Err(Failure::refused(
                "programs that know nothing of the migration would go on writing the old form, and nobody would \
                 see it: stop them, then say so with --writers-are-gone",
            ));
        }
        if let Some(reason) = open.migration.plan().one_way.first().filter(|_| !no_way_back) {
            return Err(Failure::refused(format_args!(
                "there is no way back after this switch: {reason}; if that is accepted, say so with --no-way-back"
            )));
        }
        let mut runner = open.migration.runner(true).map_err(refused)?;
        runner.switch().map_err(refused)?;
        show::said(
            "switched: programs use the new form from now on. Keep `keyloom migrate run` going: it carries \
             changes back, so that a rollback loses nothing. `keyloom migrate contract` ends it",
            self.designs.format,
            output,
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Run {
    fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let mut open = self.place.open()?;
        if let Some(rate) = self.rate {
            open.migration = open.migration.with_units_per_second(rate);
        }
        let status = open.migration.status().map_err(refused)?;
        if status.is_none() {
            open.migration.may_begin().map_err(|error| {
                Failure::refused(format_args!("{error}\n`keyloom migrate plan` lists everything"))
            })?;
        }
        if status.as_ref().is_none_or(|status| status.phase == Phase::Expand) {
            deploy(&open, output)?;
        }
        let live = Live::new(&open.remote, open.migration.plan());
        let mut runner = open.migration.runner(self.take_over).map_err(refused)?;
        runner.catch_up_with(self.workers, &|progress| live.show(progress)).map_err(refused)?;
        live.clear();
        for problem in runner.problems() {
            output.prose(format_args!("cannot be moved: {problem}"))?;
        }
        let progress = runner.progress();
        show::caught_up(&progress, self.place.designs.format, output)?;
        output.flush()?;
        while !self.once && !progress.phase.is_over() {
            match runner.step().map_err(refused)? {
                Step::Worked => {}
                Step::CaughtUp => std::thread::sleep(Duration::from_millis(500)),
                Step::Over => break,
            }
            live.show(&runner.progress());
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Makes the tables and indexes of the new design, one index at a time.
fn deploy(open: &Open, output: &mut Output) -> Result<(), Failure> {
    let design = design_of(&open.new)?;
    let deployment = prepare(&open.new, design, &open.remote).map_err(Failure::refused)?;
    if !deployment.refusals.is_empty() {
        return Err(Failure::refused(format_args!(
            "the tables cannot become those of the new design:\n  {}",
            deployment.refusals.join("\n  ")
        )));
    }
    for change in &deployment.changes {
        output.prose(format_args!("{} …", change.describe()))?;
        output.flush()?;
        if let Some(note) = change.make(&open.remote).map_err(Failure::refused)? {
            output.prose(format_args!("note: {note}"))?;
        }
    }
    Ok(())
}
