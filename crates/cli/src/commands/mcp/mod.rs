//! `keyloom mcp`: the commands as tools of an assistant, over the Model Context Protocol on standard input and output.
//!
//! [`protocol`] reads and writes messages, [`tools`] says which tools there are and which command line each one is, and [`resources`] has
//! the language reference and the rules. A tool runs this very binary: an answer is what the command prints, a crash or a long
//! calculation stays its own, and a cancelled request is a process that is ended.

mod protocol;
mod resources;
mod runs;
mod tools;

use std::io::{self, BufRead as _};
use std::process::ExitCode;

use clap::Args;

use crate::output::{Failure, Output};
use protocol::{Incoming, Session};

/// Serve assistants over stdio with the Model Context Protocol.
///
/// Tools: check, explain, synth, simulate, try, query (an access pattern on an endpoint), doctor, rule. None of them writes: designs are
/// returned as text, and data is only read.
#[derive(Args, Debug)]
#[command(after_help = "Example (the configuration of most assistants):
  { \"mcpServers\": { \"keyloom\": { \"command\": \"keyloom\", \"args\": [\"mcp\"] } } }")]
pub(crate) struct Mcp {}

impl Mcp {
    pub(crate) fn run(self, _output: &mut Output) -> Result<ExitCode, Failure> {
        let Self {} = self;
        let session = Session::new()?;
        for line in io::stdin().lock().lines() {
            let line = line.map_err(|error| {
                Failure::refused(format_args!("the assistant's messages cannot be read: {error}"))
            })?;
            if line.trim().is_empty() {
                continue;
            }
            match Incoming::read(&line) {
                Ok(message) => session.handle(message),
                Err(answer) => session.send(&answer),
            }
        }
        // The assistant is gone; what still runs has no reader.
        session.end();
        Ok(ExitCode::SUCCESS)
    }
}
