//! `keyloom mcp`: the commands as tools of an assistant, over the Model Context Protocol on standard input and output.
//!
//! [`protocol`] reads and writes messages, [`tools`] says which tools there are and which command line each one is, and [`resources`] has
//! the language reference and the rules. A tool runs this very binary: an answer is what the command prints, a crash or a long
//! calculation stays its own, and a cancelled request is a process that is ended.

mod protocol;
mod resources;
mod runs;
mod tools;

use std::io::{self, BufRead, Read as _};
use std::process::ExitCode;

use clap::Args;
use keyloom_design::MAX_FILE_BYTES;

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
        let mut input = io::stdin().lock();
        let unreadable = |error: io::Error| {
            Failure::refused(format_args!("the assistant's messages cannot be read: {error}"))
        };
        while let Some(line) = next_line(&mut input).map_err(unreadable)? {
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

/// The longest message: a design of the greatest length, with room for what JSON escapes.
const MAX_LINE_BYTES: u64 = 4 * MAX_FILE_BYTES as u64;

/// The next line, nothing at the end. What is longer than any message ends the conversation, before it takes all memory.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)?;
    if bytes.len() as u64 == MAX_LINE_BYTES {
        return Err(io::Error::other(format!("a line is longer than {MAX_LINE_BYTES} bytes")));
    }
    // What is not UTF-8 is not JSON either, and is answered as that.
    Ok((!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}
