//! `keyloom lsp`: a language server for design files, over standard input and output.
//!
//! [`server`] answers the editor; [`checker`] checks texts on a thread of its own, so that answers never wait for a check.
//! Everything that must work while a file is half written ([`completion`], [`definition`]) uses the [`outline`] of the text
//! as it is; what needs plans and proofs ([`hover`], [`actions`]) uses the last check.

mod actions;
mod checker;
mod completion;
mod definition;
mod document;
mod hover;
mod names;
mod outline;
mod server;
mod vocabulary;

use std::process::ExitCode;

use clap::Args;
use lsp_server::Connection;

use crate::output::{Failure, Output};
use server::Server;

/// Serve editors over stdio with the Language Server Protocol.
///
/// Diagnostics while typing, hover with the proofs and cost of a pattern, completion of keys, entities, fields and types,
/// go to definition, and quick fixes. docs/editors.md has the settings of VS Code, Neovim and Helix.
#[derive(Args, Debug)]
#[command(after_help = "Example (Helix, languages.toml):
  [language-server.keyloom]
  command = \"keyloom\"
  args = [\"lsp\"]")]
pub(crate) struct Lsp {
    /// Use standard input and output, which is the default; some editors pass it.
    #[arg(long)]
    stdio: bool,
}

impl Lsp {
    pub(crate) fn run(self, _output: &mut Output) -> Result<ExitCode, Failure> {
        let Self { stdio: _ } = self;
        let (connection, threads) = Connection::stdio();
        let ended = Server::run(connection).map_err(|error| {
            Failure::refused(format_args!("the editor broke the protocol: {error}"))
        });
        let code = ended?;
        threads.join().map_err(|error| {
            Failure::refused(format_args!("the editor's messages could not be read: {error}"))
        })?;
        Ok(code)
    }
}
