//! What can be typed.

use std::ffi::OsString;

use clap::{Args, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::commands;
use crate::commands::serve::Serve;
use crate::paint::Colour;

/// Composite-key data designs in the DynamoDB style: written, proven, run and served.
#[derive(Debug, Parser)]
#[command(name = "keyloom", version, arg_required_else_help = true)]
#[command(after_long_help = "Exit codes:
  0  done, and nothing is wrong
  1  refused, or something is wrong: an error of a design, a promise broken, something that --deny names
  2  the command line is wrong; or `check`, `verify`, `repair` or `cluster` could not even look

A file keyloom.toml in the working directory or above it can name the designs, the endpoint and the levels of rules.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    look: Look,
}

/// What every command takes.
#[derive(Debug, Args)]
struct Look {
    /// Colours in the output.
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        display_order = 900
    )]
    color: Colour,
}

/// The commands, one file each in `commands`. The documentation of each is its help; a line here would hide
/// all of it.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Key(commands::key::Key),
    Check(commands::check::Check),
    Explain(commands::explain::Explain),
    Lsp(commands::lsp::Lsp),
    Mcp(commands::mcp::Mcp),
    Rule(commands::rule::Rule),
    Query(commands::query::Query),
    Try(commands::try_design::Try),
    Simulate(commands::simulate::Simulate),
    New(commands::new::New),
    Synth(commands::synth::Synth),
    Deploy(commands::deploy::Deploy),
    Diff(commands::diff::Diff),
    Migrate(commands::migrate::Migrate),
    Load(Box<commands::load::Load>),
    Dump(Box<commands::dump::Dump>),
    Infer(Box<commands::infer::Infer>),
    ImportModel(commands::models::ImportModel),
    ExportModel(commands::models::ExportModel),
    Docs(commands::docs::Docs),
    Schema(commands::schema::Schema),
    Demo(commands::demo::Demo),
    Generate(commands::generate::Generate),
    Doctor(commands::doctor::Doctor),
    Serve(Box<Serve>),
    Console(commands::console::Console),
    #[cfg(feature = "postgres")]
    Cluster(commands::cluster::Cluster),
    Verify(commands::verify::Verify),
    Backup(commands::backup::Backup),
    Restore(commands::restore::Restore),
    Repair(commands::repair::Repair),
    #[cfg(feature = "postgres")]
    Copy(Box<commands::copy::Copy>),
    Completions(commands::completions::Completions),
    Man(commands::man::Man),
}

impl Command {
    /// Parses the command line of the process; exits if there is no command to run.
    pub(crate) fn from_environment() -> Self {
        let (command, look) =
            Self::read(std::env::args_os().collect()).unwrap_or_else(|error| error.exit());
        look.color.choose();
        command
    }

    /// Reads a command line. Tests start servers by the hundred and wait for each: so `serve` builds its own
    /// arguments only, not those of all commands.
    fn read(line: Vec<OsString>) -> clap::error::Result<(Self, Look)> {
        let colours = colours_of_help(&line);
        if line.get(1).is_none_or(|name| name != "serve") {
            let mut command = Arguments::command().color(colours);
            let matches = command.try_get_matches_from_mut(line)?;
            let arguments = Arguments::from_arg_matches(&matches);
            return arguments
                .map(|arguments| (arguments.command, arguments.look))
                .map_err(|error| error.format(&mut command));
        }
        let command = clap::Command::new("serve").bin_name("keyloom serve").color(colours);
        let mut command = Serve::augment_args(Look::augment_args(command));
        let matches = command.try_get_matches_from_mut(line.into_iter().skip(1))?;
        let read = Serve::from_arg_matches(&matches).and_then(|serve| {
            Ok((Self::Serve(Box::new(serve)), Look::from_arg_matches(&matches)?))
        });
        read.map_err(|error| error.format(&mut command))
    }
}

/// Help and mistakes are written while the line is still being read, so their colours are looked for in it.
fn colours_of_help(line: &[OsString]) -> ColorChoice {
    let words: Vec<&str> = line.iter().filter_map(|word| word.to_str()).collect();
    let is = |choice: &str| {
        words.contains(&format!("--color={choice}").as_str())
            || words.windows(2).any(|pair| pair == ["--color", choice])
    };
    if is("always") {
        ColorChoice::Always
    } else if is("never") {
        ColorChoice::Never
    } else {
        ColorChoice::Auto
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
            "serve --color never --memory",
            "serve --color sometimes",
            "serve extra",
        ] {
            let line = || ["keyloom"].into_iter().chain(arguments.split(' ')).map(OsString::from);
            let among_all = Arguments::try_parse_from(line());
            let among_all = among_all.map(|arguments| (arguments.command, arguments.look));
            let shown = |read: clap::error::Result<(Command, Look)>| match read {
                Ok(read) => format!("{read:?}"),
                Err(error) => error.render().ansi().to_string(),
            };
            assert_eq!(shown(Command::read(line().collect())), shown(among_all), "{arguments}");
        }
    }
}
