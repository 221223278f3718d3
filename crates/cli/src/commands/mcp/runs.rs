//! Commands that run for an assistant, each a process of its own; a few at a time, while a few more wait.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::tools::Line;
use crate::output::Failure;

/// How long a command may run: longer than the time limits of those that have one.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often a running command is looked at.
const PERIOD: Duration = Duration::from_millis(5);
/// How many commands run at once: an assistant that asks for hundreds gets them one after the other.
const PLACES: usize = 4;
/// How many may be asked for before the first of them is done.
const MOST: usize = 64;
/// How much of an output is passed on; assistants have little room.
const MAX_BYTES: usize = 200_000;

/// What a command printed.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) text: String,
    pub(super) is_failure: bool,
}

/// The commands that were asked for and are not done, by the id of the request.
#[derive(Debug)]
pub(super) struct Runs {
    program: PathBuf,
    asked: Mutex<HashMap<String, Run>>,
    /// Told when a place is free, or a command that waits for one is cancelled.
    changed: Condvar,
}

#[derive(Debug)]
enum Run {
    Waiting,
    /// It has a place, and its process is about to be there.
    Starting,
    Running(Child),
}

impl Runs {
    pub(super) fn new() -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::refused(format_args!("the path of this program is unknown: {error}"))
        })?;
        Ok(Self { program, asked: Mutex::default(), changed: Condvar::new() })
    }

    /// Takes a request on, or says why not.
    pub(super) fn admit(&self, id: &Value) -> Result<(), String> {
        let mut asked = self.lock();
        if asked.len() >= MOST {
            return Err(format!(
                "{MOST} requests are under way: wait for their answers, or cancel some"
            ));
        }
        match asked.entry(id.to_string()) {
            Entry::Occupied(_) => {
                Err(format!("the request {id} is under way: give each one an id of its own"))
            }
            Entry::Vacant(place) => {
                place.insert(Run::Waiting);
                Ok(())
            }
        }
    }

    /// Waits for a place; false if the request was cancelled meanwhile.
    fn take_place(&self, id: &str) -> bool {
        let mut asked = self.lock();
        loop {
            let Some(Run::Waiting) = asked.get(id) else { return false };
            let taken = asked.values().filter(|run| !matches!(run, Run::Waiting)).count();
            if taken < PLACES {
                asked.insert(id.to_owned(), Run::Starting);
                return true;
            }
            asked = self.changed.wait(asked).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn start(&self, line: &Line) -> Result<Child, String> {
        Command::new(&self.program)
            .args(&line.arguments)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", self.program.display()))
    }

    /// Runs the command of an admitted request to its end; nothing if it was cancelled.
    pub(super) fn run(&self, id: &Value, line: &Line) -> Result<Option<Done>, String> {
        let id = id.to_string();
        if !self.take_place(&id) {
            return Ok(None);
        }
        let mut child = self.start(line).inspect_err(|_| self.leave(&id))?;
        let input = child.stdin.take();
        let (out, err) = (child.stdout.take(), child.stderr.take());
        if let Some(child) = self.keep(&id, child) {
            end(child);
            return Ok(None);
        }
        thread::scope(|scope| {
            // Each stream has a thread, so that none waits for room in another one's pipe.
            let feed = input.map(|input| scope.spawn(|| write_all(input, &line.input)));
            let out = scope.spawn(|| read_all(out));
            let err = scope.spawn(|| read_all(err));
            let ended = self.wait(&id);
            let _ = feed.map(thread::ScopedJoinHandle::join);
            let (out, printed) = out.join().unwrap_or_default();
            let (err, complained) = err.join().unwrap_or_default();
            match ended {
                Ended::Cancelled => Ok(None),
                Ended::TooLong => Err(format!("it took longer than {} s", PATIENCE.as_secs())),
                Ended::Code(code) => {
                    // Findings are printed as output; what could not begin has only an error to tell.
                    let is_refusal = code != Some(0) && out.trim().is_empty();
                    let text = [out.trim_end(), err.trim_end()].join("\n").trim().to_owned();
                    let text = cut(text, printed + complained);
                    Ok(Some(Done { text, is_failure: is_refusal || line.is_failure(code) }))
                }
            }
        })
    }

    /// Keeps a process where it can be cancelled; gives it back if it is already.
    fn keep(&self, id: &str, child: Child) -> Option<Child> {
        match self.lock().get_mut(id) {
            Some(run) => {
                *run = Run::Running(child);
                None
            }
            None => Some(child),
        }
    }

    /// The request is done, and its place is free.
    fn leave(&self, id: &str) {
        self.lock().remove(id);
        self.changed.notify_all();
    }

    fn wait(&self, id: &str) -> Ended {
        let until = Instant::now() + PATIENCE;
        loop {
            {
                let mut asked = self.lock();
                // A cancellation removes it.
                let Some(Run::Running(child)) = asked.get_mut(id) else { return Ended::Cancelled };
                let is_late = Instant::now() > until;
                if is_late {
                    let _ = child.kill();
                }
                if let Ok(Some(status)) = child.try_wait() {
                    asked.remove(id);
                    self.changed.notify_all();
                    return if is_late { Ended::TooLong } else { Ended::Code(status.code()) };
                }
            }
            thread::sleep(PERIOD);
        }
    }

    /// Ends the command of a request.
    pub(super) fn cancel(&self, id: &Value) {
        let run = self.lock().remove(&id.to_string());
        self.changed.notify_all();
        if let Some(Run::Running(child)) = run {
            end(child);
        }
    }

    /// Ends all commands.
    pub(super) fn cancel_all(&self) {
        let runs: Vec<Run> = self.lock().drain().map(|(_, run)| run).collect();
        self.changed.notify_all();
        for run in runs {
            if let Run::Running(child) = run {
                end(child);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Run>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The beginning of a stream, and how many bytes it had; the rest is read and dropped, so that the command can end.
fn read_all(stream: Option<impl Read>) -> (String, u64) {
    let (mut bytes, mut dropped) = (Vec::new(), 0);
    if let Some(mut stream) = stream {
        let _ = stream.by_ref().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
        dropped = io::copy(&mut stream, &mut io::sink()).unwrap_or(0);
    }
    let whole = bytes.len() as u64 + dropped;
    (String::from_utf8_lossy(&bytes).into_owned(), whole)
}

/// A text of a size that an assistant can take, and the word that it was cut.
fn cut(mut text: String, whole: u64) -> String {
    if text.len() > MAX_BYTES {
        let at = (0..=MAX_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(at);
        text.push_str("\n… cut: ");
        text.push_str(&whole.to_string());
        text.push_str(" bytes in all");
    }
    text
}
