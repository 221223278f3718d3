//! `keyloom migrate`: from one design to another while programs use the items.

mod show;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use keyloom::migrate::{Migration, Phase, Rate, Runner, Step, Verification};
use keyloom::remote::Remote;
use keyloom_design::CheckReport;
use keyloom_design::cost::Prices;
use keyloom_design::diff;

pub(crate) use self::show::status_json;
use self::watch::Live;
use crate::config::Config;
use crate::deployment::prepare;
use crate::design_file::{check_file, design_of};
use crate::endpoint::Reach;
use crate::nearest::nearest;
use crate::output::{Failure, Format, Output};

/// Migrate stored items to another design, online: resumable, verified, reversible.
///
/// Every item is copied to its new form beside the old one, and kept in sync through the tables' streams while programs
/// continue. Phases: expand, backfill, sweep, follow; then switch, and contract. Until contract, rollback returns to the
/// old design, and loses nothing that was written since.
///
/// The state is in the table `keyloom_migrations` of the database itself, so `run` can be stopped at any moment and
/// resumed on any machine. Only one runner can write at a time.
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
    /// Show what happens to the items of each entity, and what prevents it, in which case the exit code is 1. Needs no
    /// database.
    Plan {
        #[command(flatten)]
        designs: Designs,
    },
    /// Start or resume: copy all items, then follow changes until stopped.
    Run(Run),
    /// Show the phase and the progress.
    Status(Place),
    /// Compare every item with what the other design says it should be; exit with 1 if any differs.
    Verify(Work),
    /// Compare all items, then make the new tables the source of truth; changes are copied back to the old ones from
    /// then on.
    Switch {
        #[command(flatten)]
        work: Work,
        /// Confirm that every program that writes the old tables is stopped or uses the migration-aware client.
        #[arg(long)]
        writers_are_gone: bool,
        /// Switch even if rollback is impossible afterwards.
        #[arg(long)]
        no_way_back: bool,
    },
    /// Return to the old design, and remove the new form.
    Rollback(Work),
    /// Complete the migration: remove the old form, and the migration's marks in the items.
    Contract(Work),
}

#[derive(Args, Debug)]
struct Designs {
    /// The design in use.
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The design to migrate to.
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

/// What reads and writes items.
#[derive(Args, Debug)]
struct Work {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    pace: Pacing,
}

#[derive(Args, Debug)]
struct Pacing {
    /// The most capacity to use: units in a second, reads and writes of tables together, or a share such as `25%`, of the
    /// reads and of the writes that the table with the least capacity has, its indexes included. Of a table on demand
    /// that is its maximum and warm throughput.
    #[arg(long, value_name = "UNITS|SHARE")]
    rate: Option<Rate>,
}

#[derive(Args, Debug)]
struct Run {
    #[command(flatten)]
    work: Work,
    /// How many pages are copied at once.
    #[arg(long, value_name = "N", default_value_t = 8)]
    workers: usize,
    /// Stop as soon as everything that was written has been carried over.
    #[arg(long)]
    once: bool,
    /// Replace a runner that may still be active: it cannot write any more.
    #[arg(long)]
    take_over: bool,
    /// Begin anew what was rolled back.
    #[arg(long)]
    again: bool,
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
            Action::Verify(work) => {
                let (open, live) = work.open_live()?;
                let mut wait = || {
                    std::thread::sleep(Duration::from_secs(1));
                    Ok(())
                };
                let verified = open.migration.verify(&mut wait);
                live.clear();
                let verified = verified.map_err(refused)?;
                show::verification(&verified, work.format(), output)?;
                Ok(code(&verified))
            }
            Action::Switch { work, writers_are_gone, no_way_back } => {
                work.switch(writers_are_gone, no_way_back, output)
            }
            Action::Rollback(work) => {
                let ended = Work::instead(&work.open_live()?, Runner::rollback)?;
                show::ended("the old design is the only one again", &ended, work.format(), output)?;
                Ok(ExitCode::SUCCESS)
            }
            Action::Contract(work) => {
                let ended = Work::instead(&work.open_live()?, Runner::contract)?;
                show::ended("the new design is the only one now", &ended, work.format(), output)?;
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
}

impl Work {
    fn format(&self) -> Format {
        self.place.designs.format
    }

    fn open(&self) -> Result<Open, Failure> {
        let open = self.place.open()?;
        Ok(match self.pace.rate {
            Some(rate) => Open { migration: open.migration.with_rate(rate), ..open },
            None => open,
        })
    }

    /// The same, with a view of how far it is.
    fn open_live(&self) -> Result<(Open, Arc<Live>), Failure> {
        let mut open = self.open()?;
        let live = Arc::new(Live::new(&open.remote, open.migration.plan()));
        let shown = Arc::clone(&live);
        open.migration = open.migration.telling(move |progress| shown.show(progress));
        Ok((open, live))
    }

    /// Does something in place of the runner that is there, which has to be started again.
    fn instead<'m, T>(
        (open, live): &'m (Open, Arc<Live>),
        work: impl FnOnce(&mut Runner<'m>) -> keyloom::Result<T>,
    ) -> Result<T, Failure> {
        let mut runner = open.migration.runner(true).map_err(refused)?;
        let done = work(&mut runner);
        live.clear();
        // What went wrong with the work is said first.
        let left = runner.leave();
        let done = done.map_err(refused)?;
        left.map_err(refused).map(|()| done)
    }

    fn switch(
        &self,
        gone: bool,
        no_way_back: bool,
        output: &mut Output,
    ) -> Result<ExitCode, Failure> {
        let place = self.open_live()?;
        if !gone {
            return Err(Failure::refused(
                "programs that know nothing of the migration would go on writing the old form, and nobody would \
                 see it: stop them, then say so with --writers-are-gone",
            ));
        }
        if let Some(reason) = place.0.migration.plan().one_way.first().filter(|_| !no_way_back) {
            return Err(Failure::refused(format_args!(
                "there is no way back after this switch: {reason}; if that is accepted, say so with --no-way-back"
            )));
        }
        Self::instead(&place, Runner::switch)?;
        show::said(
            "switched: programs use the new form from now on. Start `keyloom migrate run` again, whose runner this one \
             has replaced: it carries changes back, so that a rollback loses nothing. `keyloom migrate contract` ends it",
            self.format(),
            output,
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Run {
    fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let (mut open, live) = self.work.open_live()?;
        if self.again {
            open.migration = open.migration.beginning_again();
        }
        let status = open.migration.status().map_err(refused)?;
        if status.is_none() {
            open.migration.may_begin().map_err(|error| {
                Failure::refused(format_args!("{error}\n`keyloom migrate plan` lists everything"))
            })?;
        }
        // What an endpoint cannot do is found before any table is made.
        let mut runner = open.migration.runner(self.take_over).map_err(refused)?;
        let is_new = |phase| phase == Phase::Expand || self.again && phase == Phase::RolledBack;
        let begins = status.as_ref().is_none_or(|status| is_new(status.phase));
        let done = if begins { deploy(&open, output) } else { Ok(()) };
        let done = done.and_then(|()| self.work(&mut runner, &live, output));
        live.clear();
        // What went wrong with the work is said first.
        let left = runner.leave();
        done?;
        left.map_err(refused).map(|()| ExitCode::SUCCESS)
    }

    /// Works until it is stopped, or until everything has been carried over.
    fn work(
        &self,
        runner: &mut Runner<'_>,
        live: &Live,
        output: &mut Output,
    ) -> Result<(), Failure> {
        runner.catch_up_with(self.workers, &|_| true).map_err(refused)?;
        live.clear();
        for problem in runner.problems() {
            output.prose(format_args!("cannot be moved: {problem}"))?;
        }
        let progress = runner.progress();
        show::caught_up(&progress, self.work.format(), output)?;
        output.flush()?;
        while !self.once && !progress.phase.is_over() {
            match runner.step().map_err(refused)? {
                Step::Worked => {}
                Step::CaughtUp => std::thread::sleep(Duration::from_millis(500)),
                Step::Over => break,
            }
        }
        Ok(())
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
