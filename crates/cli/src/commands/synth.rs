//! `keyloom synth`: keys and indexes for a design that says only what is stored and asked.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use keyloom_design::source::Source;
use keyloom_design::synth::{Options, Proposal, Synthesis, Tables, synthesize};
use keyloom_design::{counted, report};
use serde_json::{Value, json};

use crate::design_file::{name_of, prices, text_of};
use crate::output::{Failure, Output, complain};

/// Find the keys and the fewest indexes that prove every access pattern of a design.
///
/// The file has entities with fields, patterns, and where they are known volumes and rates; tables and keys may be
/// missing. What makes an item unique is its `identity`, or the primary key that the file has. Every design that is shown has
/// been checked as a whole; with it comes why no design of this family has fewer indexes.
///
/// Exit codes: 0 every pattern is proven; 1 not every one, or the file cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom synth shop.toml
  keyloom synth shop.toml -o keyed.toml
  keyloom synth shop.toml --keep PK,SK --max-indexes 2
  keyloom synth shop.toml --tables several --format json")]
pub(crate) struct Synth {
    /// The design file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Key attributes whose templates stay as the file has them; all others are chosen anew.
    #[arg(long, value_delimiter = ',', value_name = "ATTRIBUTE,…")]
    keep: Vec<String>,
    /// The most indexes that a table may have.
    #[arg(long, value_name = "N")]
    max_indexes: Option<usize>,
    /// Which tables there are; those of the file by default, one if it has none.
    #[arg(long, value_enum)]
    tables: Option<Which>,
    /// Make indexes local where the table's partition key is theirs too.
    #[arg(long)]
    lsi: bool,
    /// Make index keys of the fields themselves (native multi-attribute keys) where every pattern stays proven: nothing is
    /// written for them, but fewer entities can share an index.
    #[arg(long)]
    native: bool,
    /// Also change declarations that no key can make up for: `plain` numbers, loose times, `escape = "none"`.
    #[arg(long)]
    repair: bool,
    /// Seconds that the search may take; if they end it, it says how far from the fewest indexes it may be.
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS")]
    time_limit: f64,
    /// How many other designs are named besides the best.
    #[arg(long, default_value_t = 2, value_name = "N")]
    runners_up: usize,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Write the best design to this file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Price list to use instead of the built-in one (us-east-1).
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Which {
    /// One table for everything.
    One,
    /// One table for each entity.
    Several,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for a terminal: the design, what each pattern uses, why no fewer indexes.
    Human,
    /// JSON.
    Json,
    /// The best design alone.
    Toml,
    /// Markdown.
    Markdown,
}

impl Synth {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let prices = prices(self.prices.as_deref())?;
        let text = text_of(&self.file)?;
        let name = name_of(&self.file);
        let options = self.options()?;
        let found = synthesize(&name, &text, &options, &prices).map_err(|problems| {
            let source = Source::new(name.clone(), text.clone());
            let shown: Vec<String> = problems.iter().map(|it| it.render(&source)).collect();
            Failure::refused(format_args!("{name} cannot be given keys\n\n{}", shown.join("\n")))
        })?;
        let Some(best) = found.designs.first() else {
            return Err(Failure::refused(too_few(&found, self.max_indexes.unwrap_or(0))));
        };
        match self.format {
            Format::Human => output.prose(human(&found, best).trim_end())?,
            Format::Json => output.line(format_args!("{:#}", as_json(&found)))?,
            Format::Toml => output.line(best.text.trim_end())?,
            Format::Markdown => output.line(markdown(&found, best).trim_end())?,
        }
        if let Some(path) = &self.output {
            std::fs::write(path, &best.text).map_err(|error| {
                Failure::refused(format!("{} cannot be written: {error}", path.display()))
            })?;
        }
        output.flush()?;
        for line in refusals(&found).iter().filter(|_| self.format == Format::Toml) {
            complain(&Failure::refused(line));
        }
        let whole = best.is_sound() && found.refused.is_empty();
        Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn options(&self) -> Result<Options, Failure> {
        if !(0.0..=86_400.0).contains(&self.time_limit) {
            let text = format!("--time-limit {:?}: seconds, at most a day", self.time_limit);
            return Err(Failure::refused(text));
        }
        Ok(Options {
            keep: self.keep.clone(),
            max_indexes: self.max_indexes,
            tables: match self.tables {
                None => Tables::AsWritten,
                Some(Which::One) => Tables::One,
                Some(Which::Several) => Tables::Several,
            },
            local: self.lsi,
            native: self.native,
            repair: self.repair,
            time_limit: Duration::from_secs_f64(self.time_limit),
            runners_up: self.runners_up,
        })
    }
}

/// Why so few indexes are not enough.
fn too_few(found: &Synthesis, most: usize) -> String {
    let mut over = found.certificates.iter().filter(|table| table.at_least > most);
    let Some(table) = over.next() else {
        let most_needed = found.certificates.iter().max_by_key(|table| table.indexes);
        let table = most_needed.map_or("", |table| &table.table);
        return format!(
            "no design with --max-indexes {most} was found for table `{table}`: entities whose keys are fields of their own cannot share indexes. Allow more, or --tables several"
        );
    };
    let why = if table.apart.is_empty() {
        String::new()
    } else {
        format!(": no key serves two of `{}`", table.apart.join("`, `"))
    };
    format!(
        "table `{}` needs {} for `{}`{why}; --max-indexes {most} is too few. Give up a pattern, or pin fewer keys",
        table.table,
        counted(table.at_least, "index"),
        table.entity
    )
}

/// Why there are no fewer indexes, a sentence for each table.
pub(crate) fn reasons(found: &Synthesis) -> Vec<String> {
    let one = |table: &keyloom_design::synth::Certificate| {
        let head = format!("{}: {}", table.table, counted(table.indexes, "index"));
        if !table.is_complete {
            let off = table.indexes.saturating_sub(table.at_least);
            return format!(
                "{head}; time ended the search: at least {} needed, so at most {off} too many",
                table.at_least
            );
        }
        if table.indexes > table.at_least {
            return format!(
                "{head}; `{}` alone needs {}, the others come from keys that entities cannot share",
                table.entity, table.at_least
            );
        }
        match table.apart.as_slice() {
            _ if table.at_least == 0 => format!("{head}: the table's own keys serve every pattern"),
            [] => format!(
                "{head}; no fewer: `{}` needs them, every other choice was excluded ({})",
                table.entity,
                counted(table.steps, "step")
            ),
            apart => format!(
                "{head}; no fewer: no key of `{}` serves two of `{}`",
                table.entity,
                apart.join("`, `")
            ),
        }
    };
    found.certificates.iter().map(one).collect()
}

pub(crate) fn refusals(found: &Synthesis) -> Vec<String> {
    let one = |refusal: &keyloom_design::synth::Refusal| {
        let change = refusal.change.as_ref().map(|text| format!("; {text}")).unwrap_or_default();
        format!("`{}`: {}{change}", refusal.pattern, refusal.reason)
    };
    found.refused.iter().map(one).collect()
}

fn dollars(design: &Proposal) -> String {
    format!("${:.2} a month on demand", design.money().on_demand)
}

fn human(found: &Synthesis, best: &Proposal) -> String {
    let mut text = format!("{}\n\n", best.text.trim_end());
    text.push_str(report::human(&best.report).trim_end());
    text.push_str("\n\nWhy no fewer indexes\n");
    for line in reasons(found) {
        let _ = writeln!(text, "  {line}");
    }
    text.push_str("\nDesigns by indexes and cost\n");
    for (at, design) in found.designs.iter().enumerate() {
        let indexes = counted(design.indexes, "index");
        let _ = writeln!(text, "  {}. {indexes}, {}: {}", at + 1, dollars(design), design.note);
    }
    if !found.repairs.is_empty() {
        text.push_str("\nChanged besides keys\n");
        for line in &found.repairs {
            let _ = writeln!(text, "  {line}");
        }
    }
    if !found.refused.is_empty() {
        text.push_str("\nNot proven by any key\n");
        for line in refusals(found) {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

fn markdown(found: &Synthesis, best: &Proposal) -> String {
    let mut text = format!("```toml\n{}\n```\n\n", best.text.trim_end());
    text.push_str("| pattern | read | from |\n|---|---|---|\n");
    for plan in best.plans() {
        let from = plan.places().join(", ");
        let _ = writeln!(text, "| {} | {} | {from} |", plan.name, plan.verdict.as_str());
    }
    text.push('\n');
    for line in reasons(found) {
        let _ = writeln!(text, "- {line}");
    }
    for line in refusals(found) {
        let _ = writeln!(text, "- not proven: {line}");
    }
    text.push_str("\n| design | indexes | $/month on demand |\n|---|---|---|\n");
    for design in &found.designs {
        let money = design.money().on_demand;
        let _ = writeln!(text, "| {} | {} | {money:.2} |", design.note, design.indexes);
    }
    text
}

fn as_json(found: &Synthesis) -> Value {
    let design = |one: &Proposal| {
        let patterns: Vec<Value> = one
            .plans()
            .iter()
            .map(|plan| {
                json!({
                    "name": plan.name,
                    "verdict": plan.verdict.as_str(),
                    "places": plan.places(),
                    "proven": plan.is_proven(),
                })
            })
            .collect();
        json!({
            "note": one.note,
            "indexes": one.indexes,
            "sound": one.is_sound(),
            "monthly": { "on_demand": one.money().on_demand, "provisioned": one.money().provisioned },
            "patterns": patterns,
            "design": one.text,
        })
    };
    let certificate = |one: &keyloom_design::synth::Certificate| {
        json!({
            "table": one.table,
            "indexes": one.indexes,
            "at_least": one.at_least,
            "entity": one.entity,
            "apart": one.apart,
            "steps": one.steps,
            "complete": one.is_complete,
        })
    };
    let refusal = |one: &keyloom_design::synth::Refusal| json!({ "pattern": one.pattern, "reason": one.reason, "change": one.change });
    json!({
        "designs": found.designs.iter().map(design).collect::<Vec<_>>(),
        "certificates": found.certificates.iter().map(certificate).collect::<Vec<_>>(),
        "repairs": found.repairs,
        "refused": found.refused.iter().map(refusal).collect::<Vec<_>>(),
    })
}
