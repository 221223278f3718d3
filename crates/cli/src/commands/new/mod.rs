//! `keyloom new`: from questions to a proven design, with what it costs and how far it carries.

mod answer;

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use keyloom_design::cost::Prices;
use keyloom_design::report;
use keyloom_design::synth::{Options, Synthesis, synthesize};

use self::answer::Answers;
use crate::design_file::{prices, text_of};
use crate::output::{Failure, Output, complain};

/// Start a design from questions: entities, what is asked, what is written; keys are found for it.
///
/// Each answer is checked at once. At the end the keys and the fewest indexes are found that prove every pattern, the
/// design is checked and simulated, and FILE is written. On a terminal it asks; otherwise it takes answers from standard
/// input, one per line: entities, an empty line, patterns, an empty line, writes. With --entity it asks nothing.
///
/// Exit codes: 0 every pattern is proven; 1 not every one, or an answer cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom new shop.toml
  keyloom new shop.toml --from answers.txt
  keyloom new shop.toml --entity 'Order: order_id ulid, customer ulid, at datetime; 1M of 1 KB' \\
    --pattern 'order: Order where order_id = ?' \\
    --pattern 'orders of a customer: Order where customer = ? order at desc limit 20 rate 300/s' \\
    --write 'place an order: Order 100/s'")]
pub(crate) struct New {
    /// The file to write.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// An entity: NAME: FIELD TYPE, …; COUNT of SIZE. Fields that identify an item have a `*`, or it is the first one; `?` marks
    /// fields that may be absent.
    #[arg(long, value_name = "ENTITY")]
    entity: Vec<String>,
    /// A pattern: NAME: ENTITY where CONDITION order FIELD limit N rate N/s.
    #[arg(long, value_name = "PATTERN")]
    pattern: Vec<String>,
    /// A write: NAME: ENTITY N/s.
    #[arg(long, value_name = "WRITE")]
    write: Vec<String>,
    /// Take the answers from this file instead of standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["entity", "pattern", "write"])]
    from: Option<PathBuf>,
    /// Overwrite FILE if it exists.
    #[arg(long)]
    force: bool,
    /// Price list to use instead of the built-in one (us-east-1).
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Entity,
    Pattern,
    Write,
}

impl Step {
    const ALL: [Self; 3] = [Self::Entity, Self::Pattern, Self::Write];

    fn question(self) -> &'static str {
        match self {
            Self::Entity => {
                "What is stored? One line each, such as `Order: order_id ulid, customer ulid, placed_at datetime`; empty to go on."
            }
            Self::Pattern => {
                "What is asked? Such as `orders of a customer: Order where customer = ? order placed_at desc limit 20 rate 300/s`; empty to go on."
            }
            Self::Write => {
                "What is written, and how often? Such as `place an order: Order 100/s`; empty to end."
            }
        }
    }
}

/// Where answers come from.
enum Lines {
    /// Someone who can be asked again.
    Terminal,
    /// Lines, and the number of the last one.
    Given(std::vec::IntoIter<String>, usize),
}

impl Lines {
    /// The next answer; nothing at the end.
    fn next(&mut self, prompt: &str, output: &mut Output) -> Result<Option<String>, Failure> {
        output.flush()?;
        match self {
            Self::Terminal => {
                let mut out = std::io::stdout();
                write!(out, "{prompt} ")?;
                out.flush()?;
                let mut line = String::new();
                let read = std::io::stdin().lock().read_line(&mut line);
                let read = read.map_err(|error| {
                    Failure::refused(format!("an answer cannot be read: {error}"))
                })?;
                Ok((read > 0).then(|| line.trim().to_owned()))
            }
            Self::Given(lines, number) => {
                let line = lines.next();
                *number += 1;
                if let Some(line) = &line {
                    output.line(format!("{prompt} {line}").trim_end())?;
                }
                Ok(line)
            }
        }
    }

    /// What to do about an answer that cannot be used: ask again, or end.
    fn wrong(&self, answer: &str, reason: &str) -> Result<(), Failure> {
        match self {
            Self::Terminal => {
                complain(&Failure::refused(reason));
                Ok(())
            }
            Self::Given(_, number) => {
                Err(Failure::refused(format!("answer {number}, `{answer}`: {reason}")))
            }
        }
    }
}

impl New {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        if self.file.exists() && !self.force {
            return Err(Failure::refused(format!(
                "{} is there already; --force overwrites it",
                self.file.display()
            )));
        }
        let prices = prices(self.prices.as_deref())?;
        let mut talk = Talk {
            name: self.file.display().to_string(),
            prices: &prices,
            answers: Answers::default(),
        };
        if self.entity.is_empty() && self.pattern.is_empty() && self.write.is_empty() {
            talk.ask(&mut self.lines()?, output)?;
        } else {
            talk.take(&self, output)?;
        }
        if talk.answers.is_empty() {
            return Err(Failure::refused(
                "nothing was said to be stored, so there is no design; say an entity, such as `User: user_id ulid`",
            ));
        }
        let found = talk.found(Duration::from_mins(1)).map_err(Failure::Refused)?;
        finish(&self.file, &found, &prices, output)
    }

    fn lines(&self) -> Result<Lines, Failure> {
        let text = match &self.from {
            Some(path) => text_of(path)?,
            None if std::io::stdin().is_terminal() => return Ok(Lines::Terminal),
            None => text_of(Path::new("-"))?,
        };
        let lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        Ok(Lines::Given(lines.into_iter(), 0))
    }
}

/// A talk about a design.
struct Talk<'a> {
    name: String,
    prices: &'a Prices,
    answers: Answers,
}

impl Talk<'_> {
    /// Keys for what has been said so far.
    fn found(&self, limit: Duration) -> Result<Synthesis, String> {
        let options = Options { time_limit: limit, ..Options::default() };
        synthesize(&self.name, &self.answers.text(), &options, self.prices).map_err(|problems| {
            let told = problems.iter().map(|problem| match &problem.fix {
                Some(fix) => format!("{}; {fix}", problem.message),
                None => problem.message.clone(),
            });
            told.collect::<Vec<_>>().join("; ")
        })
    }

    /// Takes one answer, and says what it makes of the design; what cannot be used leaves no trace.
    fn answer(&mut self, step: Step, line: &str) -> Result<String, String> {
        let before = self.answers.clone();
        let told = match step {
            Step::Entity => self.answers.entity(line).map(|(name, _)| name),
            Step::Pattern => self.answers.pattern(line),
            Step::Write => self.answers.write(line),
        };
        let shown = told.and_then(|name| {
            let found = self.found(Duration::from_secs(2))?;
            Ok(shown(step, &name, &found))
        });
        if shown.is_err() {
            self.answers = before;
        }
        shown
    }

    /// Asks for everything.
    fn ask(&mut self, lines: &mut Lines, output: &mut Output) -> Result<(), Failure> {
        for step in Step::ALL {
            output.line(step.question())?;
            while let Some(line) = lines.next(">", output)? {
                if line.is_empty() {
                    break;
                }
                match self.answer(step, &line) {
                    Ok(shown) => output.line(format_args!("  {shown}"))?,
                    Err(reason) => {
                        lines.wrong(&line, &reason)?;
                        continue;
                    }
                }
                if step == Step::Entity && !line.contains(';') {
                    self.ask_volume(lines, output)?;
                }
            }
            output.line("")?;
        }
        Ok(())
    }

    fn ask_volume(&mut self, lines: &mut Lines, output: &mut Output) -> Result<(), Failure> {
        loop {
            let prompt = "  how many, how large (1M of 1 KB; empty if unknown) >";
            let Some(line) = lines.next(prompt, output)? else { return Ok(()) };
            let before = self.answers.clone();
            let checked = self
                .answers
                .volume(&line)
                .and_then(|()| self.found(Duration::from_secs(2)).map(|_| ()));
            match checked {
                Ok(()) => return Ok(()),
                Err(reason) => {
                    self.answers = before;
                    lines.wrong(&line, &reason)?;
                }
            }
        }
    }

    /// Takes what the options say.
    fn take(&mut self, new: &New, output: &mut Output) -> Result<(), Failure> {
        let given = [
            (Step::Entity, "--entity", &new.entity),
            (Step::Pattern, "--pattern", &new.pattern),
            (Step::Write, "--write", &new.write),
        ];
        for (step, option, lines) in given {
            for line in lines {
                let shown = self
                    .answer(step, line.trim())
                    .map_err(|reason| Failure::refused(format!("{option} '{line}': {reason}")))?;
                output.line(shown)?;
            }
        }
        output.line("")
    }
}

/// What an answer makes of the design.
fn shown(step: Step, name: &str, found: &Synthesis) -> String {
    let Some(best) = found.designs.first() else { return format!("{name}: noted") };
    match step {
        Step::Entity => format!("{name}: noted"),
        Step::Write => format!("{name}: noted, ${:.2} a month so far", best.money().on_demand),
        Step::Pattern => {
            if let Some(refused) = found.refused.iter().find(|it| it.pattern == name) {
                let change = refused.change.as_deref().unwrap_or("ask otherwise");
                return format!("{name}: not yet provable: {}; {change}", refused.reason);
            }
            let plan = best.plans().iter().find(|plan| plan.name == name);
            let read = plan.map_or("noted", |plan| plan.verdict.as_str());
            let places = plan.map(|plan| plan.places().join(", ")).unwrap_or_default();
            let indexes = keyloom_design::counted(best.indexes, "index");
            format!("{name}: {read} on {places}; {indexes} so far")
        }
    }
}

/// Writes the design, and says what is known about it.
fn finish(
    path: &Path,
    found: &Synthesis,
    prices: &Prices,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let Some(best) = found.designs.first() else {
        return Err(Failure::refused("no keys were found"));
    };
    output.line(best.text.trim_end())?;
    output.line("")?;
    output.prose(report::human(&best.report).trim_end())?;
    output.line("")?;
    for line in super::synth::reasons(found) {
        output.line(line)?;
    }
    for line in super::synth::refusals(found) {
        output.line(format_args!("not proven: {line}"))?;
    }
    let options = keyloom_simulate::Options::default();
    let forecast = keyloom_simulate::forecast(&best.report, |_| {}, &options, prices);
    output.line("")?;
    if forecast.workload.flows.is_empty() {
        output.line(
            "No pattern or write says how often it happens: add `rate` to see limits and cost.",
        )?;
    } else {
        output.prose(keyloom_simulate::render::human(&forecast).trim_end())?;
    }
    std::fs::write(path, &best.text).map_err(|error| {
        Failure::refused(format!("{} cannot be written: {error}", path.display()))
    })?;
    let file = path.display();
    output.line("")?;
    output.line(format_args!(
        "{file} is written. Next: keyloom try {file}, keyloom serve --design {file}"
    ))?;
    let whole = best.is_sound() && found.refused.is_empty();
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
