//! What can be typed.

use std::ffi::OsString;

use clap::{Args as _, FromArgMatches as _, Parser, Subcommand};

use crate::commands;
use crate::commands::serve::Serve;

/// Composite-key data designs in the DynamoDB style: written, proven, run and served.
#[derive(Debug, Parser)]
#[command(name = "keyloom", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands, one file each in `commands`. The documentation of each is its help; a line here would hide
/// all of it.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Key(commands::key::Key),
    Check(commands::check::Check),
    Explain(commands::explain::Explain),
    Lsp(commands::lsp::Lsp),
    Rule(commands::rule::Rule),
    Try(commands::try_design::Try),
    Simulate(commands::simulate::Simulate),
    Deploy(commands::deploy::Deploy),
    Diff(commands::diff::Diff),
    Migrate(commands::migrate::Migrate),
    Docs(commands::docs::Docs),
    Schema(commands::schema::Schema),
    Demo(commands::demo::Demo),
    Generate(commands::generate::Generate),
    Doctor(commands::doctor::Doctor),
    Serve(Box<Serve>),
    #[cfg(feature = "postgres")]
    Cluster(commands::cluster::Cluster),
    Verify(commands::verify::Verify),
    Backup(commands::backup::Backup),
    Restore(commands::restore::Restore),
    Repair(commands::repair::Repair),
    #[cfg(feature = "postgres")]
    Copy(commands::copy::Copy),
    Completions(commands::completions::Completions),
    Man(commands::man::Man),
}

impl Command {
    /// Reads the command line of the process; ends the process if there is nothing to run.
    pub(crate) fn from_environment() -> Self {
        Self::read(std::env::args_os().collect()).unwrap_or_else(|error| error.exit())
    }

    /// Reads a command line. Tests start servers by the hundred and wait for each: so `serve` builds its own
    /// arguments only, not those of all commands.
    fn read(line: Vec<OsString>) -> clap::error::Result<Self> {
        if line.get(1).is_none_or(|name| name != "serve") {
            return Arguments::try_parse_from(line).map(|arguments| arguments.command);
        }
        let command = clap::Command::new("serve").bin_name("keyloom serve");
        let mut command = Serve::augment_args(command);
        let matches = command.try_get_matches_from_mut(line.into_iter().skip(1))?;
        let serve = Serve::from_arg_matches(&matches);
        serve.map(|serve| Self::Serve(Box::new(serve))).map_err(|error| error.format(&mut command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serve_alone_reads_as_among_all_commands() {
        for arguments in [
            "serve",
            "serve -h",
            "serve --help",
            "serve --version",
            "serve help",
            "serve --port 9 --memory",
            "serve --port 99999",
            "serve --prot 9",
            "serve --memory --relaxed",
            "serve --access-key a",
            "serve --redact x",
            "serve extra",
        ] {
            let line = || ["keyloom"].into_iter().chain(arguments.split(' ')).map(OsString::from);
            let among_all = Arguments::try_parse_from(line()).map(|arguments| arguments.command);
            let shown = |read: clap::error::Result<Command>| match read {
                Ok(command) => format!("{command:?}"),
                Err(error) => error.render().ansi().to_string(),
            };
            assert_eq!(shown(Command::read(line().collect())), shown(among_all), "{arguments}");
        }
    }
}
