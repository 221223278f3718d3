//! The commands, one file each: its arguments, its work, its output.

pub(crate) mod check;
pub(crate) mod key;
pub(crate) mod serve;

use std::process::ExitCode;

use crate::args::Command;
use crate::output::{Failure, Output};

/// Runs a command.
pub(crate) fn run(command: Command, output: &mut Output) -> Result<ExitCode, Failure> {
    match command {
        Command::Key(key) => key.run(output),
        Command::Check(check) => check.run(output),
        Command::Serve(serve) => serve.run(output),
    }
}
