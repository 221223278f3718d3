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
    /// Serve a DynamoDB endpoint, durable or in memory.
    Serve(commands::serve::Serve),
}
