//! `keyloom man`: manual pages, one for each command.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man as Page;

use crate::args::Arguments;
use crate::output::{Failure, Output};

/// Print the manual page, or write those of all commands to a directory.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom man | man -l -
  keyloom man --to ~/.local/share/man/man1 && man keyloom-check")]
pub(crate) struct Man {
    /// Directory for the pages of all commands; it is created if it does not exist.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let mut command = Arguments::command();
        command.build();
        let Some(directory) = &self.to else {
            let page = render(command, Path::new("standard output"))?;
            output.line(String::from_utf8_lossy(&page).trim_end())?;
            return Ok(ExitCode::SUCCESS);
        };
        std::fs::create_dir_all(directory).map_err(|error| unwritten(directory, &error))?;
        write(command, "keyloom", directory)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes the page of a command and those of its own commands.
fn write(command: Command, name: &str, directory: &Path) -> Result<(), Failure> {
    for subcommand in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        write(subcommand.clone(), &format!("{name}-{}", subcommand.get_name()), directory)?;
    }
    let path = directory.join(format!("{name}.1"));
    let page = render(command, &path)?;
    std::fs::write(&path, page).map_err(|error| unwritten(&path, &error))
}

fn render(command: Command, path: &Path) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    Page::new(command).render(&mut page).map_err(|error| unwritten(path, &error))?;
    Ok(page)
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::refused(format_args!("{} cannot be written: {error}", path.display()))
}
