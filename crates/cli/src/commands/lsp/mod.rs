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

#[cfg(test)]
mod tests {
    use super::completion::complete;
    use super::definition::definition;
    use super::document::Document;
    use super::hover::hover;
    use super::outline::Outline;

    const DESIGN: &str = "[table.app] # 😀\npartition_key = \"PK\"\n[entity.Tü]\nPK = { template = \"T#{id:ulid}\", when = \"a = 'é'\" }\n\
         [entity.Tü.fields]\na = { type = \"string\", values = [\"é\",\n \"x\"] }\n[access.\"a ] b\"]\nfind = [\"Tü\"]\nwhere = 'id = ?'\n[[allow]]\nrule = \"K01\"\n";

    /// Every state of a file that is being typed, and every place in it, has answers and no panic.
    #[test]
    fn half_written_files_are_answered_at_every_place() {
        let ends = DESIGN.char_indices().map(|(at, _)| at).chain([DESIGN.len()]);
        let ends: Vec<usize> = ends.collect();
        let (mut proposals, mut jumps) = (0, 0);
        for &end in &ends {
            let text = DESIGN.get(..end).unwrap_or_default();
            let outline = Outline::of(text);
            let document = Document::new(text.to_owned(), 1);
            // At the cursor, and with the cursor anywhere in the whole file.
            let places = if end == DESIGN.len() { 0..=end } else { end..=end };
            for offset in places {
                proposals += complete(&document, document.position(offset)).len();
                jumps += usize::from(definition(&outline, offset).is_some());
                hover(&outline, offset, None);
            }
        }
        assert!(proposals > 1000 && jumps > 5, "{proposals}, {jumps}");
    }
}
