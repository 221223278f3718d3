//! `keyloom schema`: the JSON Schema of design files, for editors.

use std::process::ExitCode;

use clap::Args;

use crate::output::{Failure, Output};

/// Print the JSON Schema of design files.
///
/// TOML editors use it for completion and validation.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  keyloom schema > keyloom.schema.json")]
pub(crate) struct Schema {}

impl Schema {
    #[expect(clippy::unused_self, reason = "every command runs the same way")]
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        output.line(keyloom_design::SCHEMA.trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
