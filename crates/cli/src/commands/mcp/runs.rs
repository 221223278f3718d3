//! Commands that run for an assistant, each a process of its own.

use std::collections::HashMap;
use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::tools::Line;
use crate::output::Failure;

/// How long a command may run: longer than the time limits of those that have one.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often a running command is looked at.
const PERIOD: Duration = Duration::from_millis(5);
/// How much of an output is passed on; assistants have little room.
const MAX_BYTES: usize = 200_000;

/// What a command printed.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) text: String,
    pub(super) is_failure: bool,
}

/// The commands that run now, by the id of the request.
#[derive(Debug)]
pub(super) struct Runs {
    program: PathBuf,
    running: Mutex<HashMap<String, Child>>,
}

impl Runs {
    pub(super) fn new() -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::refused(format_args!("the path of this program is unknown: {error}"))
        })?;
        Ok(Self { program, running: Mutex::default() })
    }

    /// Runs a command to its end; nothing if it was cancelled.
    pub(super) fn run(&self, id: &Value, line: &Line) -> Result<Option<Done>, String> {
        let mut child = Command::new(&self.program)
            .args(&line.arguments)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", self.program.display()))?;
        let input = child.stdin.take();
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let id = id.to_string();
        self.lock().insert(id.clone(), child);
        thread::scope(|scope| {
            // Each stream has a thread, so that none waits for room in another one's pipe.
            let feed = input.map(|input| scope.spawn(|| write_all(input, &line.input)));
            let out = scope.spawn(|| read_all(out));
            let err = scope.spawn(|| read_all(err));
            let ended = self.wait(&id);
            let _ = feed.map(thread::ScopedJoinHandle::join);
            let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
            match ended {
                Ended::Cancelled => Ok(None),
                Ended::TooLong => Err(format!("it took longer than {} s", PATIENCE.as_secs())),
                Ended::Code(code) => {
                    let text = cut([out.trim_end(), err.trim_end()].join("\n").trim().to_owned());
                    Ok(Some(Done { text, is_failure: line.is_failure(code) }))
                }
            }
        })
    }

    fn wait(&self, id: &str) -> Ended {
        let until = Instant::now() + PATIENCE;
        loop {
            {
                let mut running = self.lock();
                // Whoever cancels takes it out.
                let Some(child) = running.get_mut(id) else { return Ended::Cancelled };
                let is_late = Instant::now() > until;
                if is_late {
                    let _ = child.kill();
                }
                if let Ok(Some(status)) = child.try_wait() {
                    running.remove(id);
                    return if is_late { Ended::TooLong } else { Ended::Code(status.code()) };
                }
            }
            thread::sleep(PERIOD);
        }
    }

    /// Ends the command of a request.
    pub(super) fn cancel(&self, id: &Value) {
        let child = self.lock().remove(&id.to_string());
        if let Some(child) = child {
            end(child);
        }
    }

    /// Ends all commands.
    pub(super) fn cancel_all(&self) {
        let children: Vec<Child> = self.lock().drain().map(|(_, child)| child).collect();
        children.into_iter().for_each(end);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Child>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Ended {
    Cancelled,
    TooLong,
    Code(Option<i32>),
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn write_all(mut input: ChildStdin, text: &str) {
    // A command that does not read to the end has its reasons, and says them.
    let _ = input.write_all(text.as_bytes());
}

fn read_all(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        let _ = stream.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A text of a size that an assistant can take, and the word that it was cut.
fn cut(mut text: String) -> String {
    if text.len() > MAX_BYTES {
        let whole = text.len();
        let at = (0..=MAX_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(at);
        text.push_str("\n… cut: ");
        text.push_str(&whole.to_string());
        text.push_str(" bytes in all");
    }
    text
}
