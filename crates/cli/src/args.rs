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

/// The commands, one file each in `commands`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Build, parse and range over composite keys.
    Key(commands::key::Key),
    /// Prove every access pattern of a design file, and find what raises no error.
    Check(commands::check::Check),
    /// Show one pattern's exact request, its cost, and why other indexes fail.
    Explain(commands::explain::Explain),
    /// Load generated items, run every pattern, compare with brute force.
    Try(commands::try_design::Try),
    // Its own documentation is the help: a line here would hide all of it.
    Deploy(commands::deploy::Deploy),
    /// Write a design as a page for people.
    Docs(commands::docs::Docs),
    /// Print the JSON Schema of design files, for editors.
    Schema(commands::schema::Schema),
    /// A tour of what Keyloom does, in a few seconds.
    Demo(commands::demo::Demo),
    /// Write the Rust module of a design.
    Generate(commands::generate::Generate),
    /// Hot keys, anti-patterns and recommendations, from the requests that were made.
    Doctor(commands::doctor::Doctor),
    /// Serve a DynamoDB endpoint, durable or in memory.
    Serve(commands::serve::Serve),
}
