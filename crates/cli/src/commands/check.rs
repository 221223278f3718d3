//! `keyloom check`: a proof for each access pattern, or the reason and the fix.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use keyloom_design::check_text;
use keyloom_design::cost::Prices;

use crate::output::{Failure, Output};

/// Prove every access pattern of a design file, and find what raises no error.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The design files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Check {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let mut bad = false;
        for file in &self.files {
            let text = std::fs::read_to_string(file).map_err(Failure::refused)?;
            let report = check_text(&file.display().to_string(), &text, &Prices::default());
            bad |= report.has_errors();
            output.line(format_args!("#### {}", file.display()))?;
            for plan in &report.plans {
                output.line(format_args!(
                    "{:<40} {:<8} {:<6} rows={} order={} limit={} purity={} cov={} cons={} units={:?} {}",
                    plan.name, plan.verdict.as_str(), plan.index_name().unwrap_or("-"),
                    plan.proofs.rows.as_str(), plan.proofs.order.as_str(), plan.proofs.limit.as_str(), plan.proofs.purity.as_str(),
                    plan.proofs.coverage.as_str(), plan.proofs.consistency.as_str(), plan.estimate.read_units,
                    if plan.counter_example.is_some() { "COUNTER" } else { "" },
                ))?;
            }
            for finding in &report.findings {
                output.line(finding.render(&report.source))?;
            }
        }
        Ok(if bad { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }
}
