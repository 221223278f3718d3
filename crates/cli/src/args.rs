//! What can be typed.

use clap::{Parser, Subcommand};

use crate::commands;

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
    Rule(commands::rule::Rule),
    Try(commands::try_design::Try),
    Deploy(commands::deploy::Deploy),
    Diff(commands::diff::Diff),
    Docs(commands::docs::Docs),
    Schema(commands::schema::Schema),
    Demo(commands::demo::Demo),
    Generate(commands::generate::Generate),
    Doctor(commands::doctor::Doctor),
    Serve(commands::serve::Serve),
    Verify(commands::verify::Verify),
    Backup(commands::backup::Backup),
    Restore(commands::restore::Restore),
    Repair(commands::repair::Repair),
    Completions(commands::completions::Completions),
    Man(commands::man::Man),
}
