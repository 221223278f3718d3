//! `keyloom generate`: code from a design file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_design::cost::Prices;
use keyloom_design::{electrodb, patterns_left_out, python, rust_module, typescript};

use crate::design_file::{check_file, design_of, is_input};
use crate::output::{Failure, Output, warn};

/// Generate code for a design.
///
/// For Rust it is a module for the `keyloom` crate. The code for other languages needs nothing of Keyloom: it has the types of
/// entities, builders and parsers of keys, a function for each access pattern with the request that was proven, and the writes.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom generate rust tasks.toml > src/tasks.rs
  keyloom generate typescript tasks.toml > src/tasks.ts
  keyloom generate python tasks.toml > tasks.py
  keyloom generate electrodb tasks.toml > src/tasks.ts")]
pub(crate) struct Generate {
    /// The language.
    #[arg(value_enum)]
    language: Language,
    /// The design file; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Module name; defaults to the file's name.
    #[arg(long)]
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    /// A module with `#[keyloom::design]`.
    Rust,
    /// A module for the AWS SDK for JavaScript, version 3.
    Typescript,
    /// A module for boto3, with dataclasses.
    Python,
    /// Entities and services of ElectroDB 3, in TypeScript.
    Electrodb,
}

impl Generate {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let report = check_file(&self.file, &Prices::default())?;
        let design = design_of(&report)?;
        let name = self.name.clone().unwrap_or_else(|| module_name(&self.file));
        let module = match self.language {
            Language::Rust => rust_module(design, &name),
            Language::Electrodb => electrodb(design, &name),
            Language::Python => python(design, &report.plans, &name),
            Language::Typescript => typescript(design, &report.plans, &name),
        };
        let module = module.map_err(|missing| {
            Failure::refused(format_args!(
                "{} has parts that the module cannot state:\n  {}",
                report.source.name(),
                missing.join("\n  ")
            ))
        })?;
        if matches!(self.language, Language::Python | Language::Typescript) {
            for access in patterns_left_out(design, &report.plans) {
                warn(&format!(
                    "there is no function for {:?}: no index serves it, as the design accepts",
                    access.name
                ));
            }
        }
        output.line(module.trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The file's name as a module's.
fn module_name(file: &std::path::Path) -> String {
    if is_input(file) {
        return "design".to_owned();
    }
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    let mut name: String = stem
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "design_");
    }
    name
}
