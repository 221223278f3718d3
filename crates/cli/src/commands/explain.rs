//! `keyloom explain`: one pattern in full.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use keyloom_design::cost::Prices;
use keyloom_design::{CheckReport, report};

use crate::design_file::{check_file, design_of};
use crate::output::{Failure, Format, Output};
use crate::pattern::{find, read_inputs};

/// Show the exact request of a pattern, its cost, what is proven about it, and why other indexes fail.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom explain tasks.toml \"tasks in a project\"
  keyloom explain orders.toml \"orders of a period\" --set user_id=u1 \\
      --set placed_on_from=2024-01-01 --set placed_on_to=2024-01-31")]
pub(crate) struct Explain {
    /// The design file; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Pattern name; lists the patterns if omitted.
    #[arg(value_name = "PATTERN")]
    pattern: Option<String>,
    /// Value of an input; with all inputs set, shows the request as sent.
    #[arg(long = "set", value_name = "INPUT=VALUE")]
    values: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

impl Explain {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let report = check_file(&self.file, &Prices::default())?;
        let design = design_of(&report)?;
        let Some(name) = &self.pattern else {
            return list(&report, output);
        };
        let (access, plan) = find(design, &report, name)?;
        let inputs = read_inputs(access, plan, &self.values)?;
        let inputs = (!self.values.is_empty()).then_some(&inputs);
        match self.format {
            Format::Human => {
                let text = report::explain(access, plan, inputs).map_err(Failure::refused)?;
                output.prose(text.trim_end())?;
            }
            Format::Json => {
                let value = report::explain_json(access, plan, inputs).map_err(Failure::refused)?;
                output.line(format_args!("{value:#}"))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(report: &CheckReport, output: &mut Output) -> Result<ExitCode, Failure> {
    for plan in &report.plans {
        output.line(format_args!("{:<9} {}", plan.verdict.as_str(), plan.name))?;
    }
    Ok(ExitCode::SUCCESS)
}
