//! `keyloom try`: plans and reality compared.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use keyloom_design::cost::Prices;
use keyloom_design::counted;
use serde_json::{Value as Json, json};

use crate::config::Config;
use crate::design_file::{check_file, design_of};
use crate::output::{Failure, Format, Output, Paint};
use crate::progress::Progress;
use crate::trial::{Counter, Judged, Options, Outcome, Tally, Trial};

/// Load generated items into an embedded database, run every pattern, compare with brute force.
///
/// Brute force is the oracle of designs, a second meaning of the language that shares no code with the planner.
/// Rows, order and consumed units must match the plan. A refuted pattern must fail on the engine, in a call or as
/// its counter-example shows, and a refused one must be refused there. A pattern whose calls return no rows is
/// reported as empty and proves nothing.
///
/// Exit codes: 0 the engine does what the plans say; 1 it does not, or a file is not a usable design.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom try tasks.toml
  keyloom try tasks.toml --items 100000 --seed 7")]
pub(crate) struct Try {
    /// Design files; `-` reads standard input. Those of keyloom.toml by default.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Approximate number of generated items.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = at_least_one)]
    items: usize,
    /// Random seed; the same seed gives the same items and calls.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Calls per pattern; from 8 on they ask for rows of one and of several partitions, twice the same, and for
    /// what does not exist.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = at_least_one)]
    calls: usize,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

impl Try {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let mut total = Tally::default();
        let mut documents = Vec::new();
        for (at, file) in Config::find()?.designs(&self.files)?.iter().enumerate() {
            let started = Instant::now();
            let report = check_file(file, &Prices::default())?;
            let design = design_of(&report)?.clone();
            if design.accesses().is_empty() {
                return Err(nothing_to_try(report.source.name(), &design));
            }
            let options = Options { items: self.items, seed: self.seed, calls: self.calls };
            let trial = prepare(design, options)?;
            let outcomes = judge(&trial);
            let mut tally = Tally::default();
            for outcome in &outcomes {
                tally.add(outcome);
            }
            total += tally;
            if self.format == Format::Json {
                documents.push(document(report.source.name(), &trial, &outcomes, tally));
                continue;
            }
            if at > 0 {
                output.line("")?;
            }
            let head = heading(report.source.name(), &trial, started);
            output.line(head)?;
            for outcome in &outcomes {
                write_outcome(output, outcome)?;
            }
            output.line(summary(output.paint(), tally))?;
            output.flush()?;
        }
        if self.format == Format::Json {
            output.line(format_args!("{:#}", Json::Array(documents)))?;
        }
        let failed = total.broken + total.unshown > 0;
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// A trial without patterns would look like success.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("nothing would be tried; give 1 or more".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("it must be a whole number".to_owned()),
    }
}

fn nothing_to_try(file: &str, design: &keyloom_design::Design) -> Failure {
    let missing = match (design.tables(), design.entities()) {
        ([], _) => "it states no table: begin with [table.NAME] and [entity.NAME]",
        (_, []) => {
            "it states no entity: add [entity.NAME] and what is asked for in [access.\"NAME\"]"
        }
        _ => "it states no access pattern: add [access.\"NAME\"] with `find` and `where`",
    };
    Failure::refused(format_args!("{file} has nothing to try; {missing}"))
}

/// Generates and loads the items, with progress.
pub(crate) fn prepare(design: keyloom_design::Design, options: Options) -> Result<Trial, Failure> {
    let mut progress = Progress::new("items", options.items);
    Trial::prepare(design, options, &mut |written| progress.at(written))
        .map_err(|refusal| Failure::refused(format_args!("the items cannot be stored: {refusal}")))
}

/// Tries every pattern, with progress.
pub(crate) fn judge(trial: &Trial) -> Vec<Outcome> {
    let mut progress = Progress::new("trying", trial.patterns().len());
    trial
        .patterns()
        .enumerate()
        .map(|(done, (access, plan))| {
            progress.at(done);
            trial.judge(access, plan)
        })
        .collect()
}

fn heading(name: &str, trial: &Trial, started: Instant) -> String {
    format!(
        "{name}: {} of {}, {}, in {:.1} s",
        counted(trial.data().rows().len(), "item"),
        counted(trial.design().entities().len(), "entity"),
        counted(trial.design().accesses().len(), "pattern"),
        started.elapsed().as_secs_f64()
    )
}

/// One pattern, and what became of it.
pub(crate) fn write_outcome(output: &mut Output, outcome: &Outcome) -> Result<(), Failure> {
    let paint = output.paint();
    let name = &outcome.name;
    let calls = counted(outcome.calls, "call");
    let measured =
        format!("{calls}, {}, {} read units", counted(outcome.rows, "row"), outcome.units);
    let line = match &outcome.judged {
        Judged::Equal => {
            format!("  {} {name}: {measured} as predicted", paint.good("equal  "))
        }
        Judged::Empty => format!(
            "  {} {name}: {calls}, as predicted; none returned a row, so this shows little",
            paint.warn("empty  ")
        ),
        Judged::Unpromised { wrong } => format!(
            "  {} {name}: {measured} as predicted, {} with a wrong answer",
            paint.warn("refuted"),
            counted(*wrong, "call")
        ),
        Judged::Unshown => format!(
            "  {} {name}: the planner refutes it, but no call was wrong and no counter-example is known",
            paint.bad("UNSHOWN")
        ),
        Judged::Refused { by_engine: None } => {
            format!("  {} {name}: no index serves this pattern", paint.warn("refused"))
        }
        Judged::Refused { by_engine: Some(refusal) } => {
            format!("  {} {name}: {refusal}", paint.warn("refused"))
        }
        Judged::Idle => {
            format!("  {} {name}: no generated value fits its keys", paint.warn("idle   "))
        }
        Judged::Broken { why } => format!("  {} {name}: {why}", paint.bad("BROKEN ")),
    };
    output.line(line)?;
    match &outcome.counter {
        None => Ok(()),
        Some(Counter::Shown { returns, should_return, wrong }) => {
            output.line(format_args!("          the engine shows it: {wrong}"))?;
            output.line(format_args!("            returns        {}", list(returns)))?;
            output.line(format_args!("            should return  {}", list(should_return)))
        }
        Some(Counter::NotShown { why }) => output.line(format_args!(
            "          {}: the counter-example does not reproduce: {why}",
            paint.bad("BROKEN")
        )),
    }
}

fn list(keys: &[String]) -> String {
    if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") }
}

fn summary(paint: Paint, tally: Tally) -> String {
    let mut parts = vec![format!("{} equal to brute force", tally.equal)];
    let more = [
        (tally.unseen, "without a row to show it"),
        (tally.unpromised, "refuted by the planner"),
        (tally.refused, "refused"),
        (tally.unshown, "refuted with nothing to show it"),
        (tally.shown, "counter-examples shown on the engine"),
    ];
    parts.extend(
        more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")),
    );
    let end = if tally.broken == 0 {
        paint.good("no promise broken")
    } else {
        paint.bad(&format!("{} broken", counted(tally.broken, "promise")))
    };
    format!("  {}; {end}", parts.join(", "))
}

fn document(file: &str, trial: &Trial, outcomes: &[Outcome], tally: Tally) -> Json {
    json!({
        "file": file,
        "items": trial.data().rows().len(),
        "equal": tally.equal,
        "unseen": tally.unseen,
        "refuted": tally.unpromised,
        "refused": tally.refused,
        "unshown": tally.unshown,
        "counter_examples_shown": tally.shown,
        "broken": tally.broken,
        "patterns": outcomes.iter().map(outcome_json).collect::<Vec<_>>(),
    })
}

fn outcome_json(outcome: &Outcome) -> Json {
    let (result, why) = match &outcome.judged {
        Judged::Equal => ("equal", None),
        Judged::Empty => ("empty", None),
        Judged::Unpromised { wrong } => {
            ("refuted", Some(format!("{} with a wrong answer", counted(*wrong, "call"))))
        }
        Judged::Unshown => ("unshown", Some("no call and no counter-example shows it".to_owned())),
        Judged::Refused { by_engine } => ("refused", by_engine.as_ref().map(ToString::to_string)),
        Judged::Idle => ("idle", None),
        Judged::Broken { why } => ("broken", Some(why.clone())),
    };
    let counter = outcome.counter.as_ref().map(|counter| match counter {
        Counter::Shown { returns, should_return, wrong } => json!({
            "shown": true,
            "returns": returns,
            "should_return": should_return,
            "wrong": wrong,
        }),
        Counter::NotShown { why } => json!({ "shown": false, "why": why }),
    });
    json!({
        "name": outcome.name,
        "verdict": outcome.verdict.as_str(),
        "result": result,
        "why": why,
        "calls": outcome.calls,
        "rows": outcome.rows,
        "read_units": outcome.units.as_f64(),
        "counter_example": counter,
    })
}
