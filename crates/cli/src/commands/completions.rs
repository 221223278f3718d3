//! `keyloom completions`: scripts that complete commands and options in a shell.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::args::Arguments;
use crate::output::{Failure, Output};

/// Print a script that completes commands and options in a shell.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom completions bash > ~/.local/share/bash-completion/completions/keyloom
  keyloom completions zsh > ~/.zfunc/_keyloom
  keyloom completions fish > ~/.config/fish/completions/keyloom.fish")]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "keyloom", &mut script);
        output.line(String::from_utf8_lossy(&script).trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
