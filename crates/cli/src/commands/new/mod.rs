//! `keyloom new`: from questions to a proven design, with what it costs and how far it carries.

mod answer;
mod talk;

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use keyloom_design::cost::Prices;
use keyloom_design::report;
use keyloom_design::synth::Synthesis;

pub(crate) use self::talk::{Step, Talk};
use crate::design_file::{prices, text_of};
use crate::output::{Failure, Output, complain};

/// Start a design from questions about entities, access patterns and writes; keys are found for them.
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

/// Where answers come from.
enum Lines {
    /// An interactive user, who can be asked again.
    Terminal,
    /// Lines, and the number of the last one.
    Given(std::vec::IntoIter<String>, usize),
}

impl Lines {
    /// The next answer; none at the end of the input.
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
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Failure::refused(format!("there is no folder {}", folder.display())));
        }
        let prices = prices(self.prices.as_deref())?;
        let mut talk = Talk::new(self.file.display().to_string(), &prices);
        if self.entity.is_empty() && self.pattern.is_empty() && self.write.is_empty() {
            talk.ask(&mut self.lines()?, output)?;
        } else {
            talk.take(&self, output)?;
        }
        if talk.is_empty() {
            return Err(Failure::refused(
                "nothing was said to be stored, so there is no design; say an entity, such as `User: user_id ulid`",
            ));
        }
        let found = talk.found(Duration::from_mins(1)).map_err(Failure::Refused)?;
        finish(&self, &found, &prices, output)
    }

    /// Writes the file; one that came while questions were answered stays.
    fn write(&self, text: &str) -> std::io::Result<()> {
        let mut how = std::fs::OpenOptions::new();
        let how = how.write(true).truncate(self.force).create(self.force).create_new(!self.force);
        how.open(&self.file)?.write_all(text.as_bytes())
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

impl Talk<'_> {
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
            match self.volume(&line) {
                Ok(()) => return Ok(()),
                Err(reason) => lines.wrong(&line, &reason)?,
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

/// Writes the design and reports on it.
fn finish(
    new: &New,
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
    let file = new.file.display();
    new.write(&best.text)
        .map_err(|error| Failure::refused(format!("{file} cannot be written: {error}")))?;
    output.line("")?;
    output.line(format_args!(
        "{file} is written. Next: keyloom try {file}, keyloom serve --design {file}"
    ))?;
    let whole = best.is_sound() && found.refused.is_empty();
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
