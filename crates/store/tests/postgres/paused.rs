//! Servers that are stopped in the middle of something and go on when others have given them up.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use keyloom_store::{CommitError, Store};

use crate::{assert_exact, connect, increment, increment_counting, rounds, schema, shared};

/// How long the database waits for a client that does not go on inside of a transaction, and some time
/// for a slow machine.
const GIVEN_UP: Duration = Duration::from_secs(2);
const SLOW: Duration = Duration::from_secs(10);

/// A process of its own that uses the store.
struct Other {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn start(url: &str, role: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "paused::other", "--ignored", "--nocapture"]);
        command.env("KEYLOOM_OTHER_URL", url).env("KEYLOOM_OTHER_ROLE", role);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output }
    }

    fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// What follows this word on the next line that begins with it.
    fn hear(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended without {word}");
            // The test harness begins the first line.
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
        }
    }

    fn say(&mut self, word: &str) {
        writeln!(self.input, "{word}").unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = (self.process.kill(), self.process.wait());
    }
}

fn told() -> String {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).unwrap();
    line.trim().to_owned()
}

#[test]
#[ignore = "run by the other tests as a process of its own"]
fn other() {
    let Ok(url) = std::env::var("KEYLOOM_OTHER_URL") else { return };
    let store = connect(&url);
    match std::env::var("KEYLOOM_OTHER_ROLE").unwrap().as_str() {
        "writer" => {
            let done = std::sync::atomic::AtomicBool::new(false);
            std::thread::scope(|scope| {
                let writers: Vec<_> = (0..3)
                    .map(|writer| {
                        let (store, done) = (&store, &done);
                        scope.spawn(move || write_until(store, writer, done))
                    })
                    .collect();
                println!("ready");
                told();
                done.store(true, std::sync::atomic::Ordering::Release);
                let written: usize = writers.into_iter().map(|w| w.join().unwrap()).sum();
                println!("written {written}");
            });
        }
        _ => loop {
            let mut change = store.exclusive().unwrap();
            change.put("by".into(), "the paused one".into());
            println!("holding");
            if told() == "end" {
                return;
            }
            let outcome = change.commit();
            println!("outcome {}", if outcome.is_ok() { "done" } else { "refused" });
        },
    }
    told();
}

/// Adds to a key that everybody writes, now and then with a value that takes many packets.
fn write_until(store: &dyn Store, writer: usize, done: &std::sync::atomic::AtomicBool) -> usize {
    let mut written = 0;
    while !done.load(std::sync::atomic::Ordering::Acquire) {
        increment_counting(store, "n").unwrap();
        written += 1;
        if written % 10 == 0 {
            let mut transaction = store.begin(&[]).unwrap();
            transaction.put(format!("blob {writer}").into(), vec![7; 1 << 20].into());
            transaction.commit().unwrap();
        }
    }
    written
}

#[test]
fn a_server_stopped_in_the_middle_of_a_flight_holds_others_up_briefly_and_loses_nothing() {
    let Some(server) = shared() else { return };
    let schema = schema();
    let url = server.url(&schema);
    let store = connect(&url);
    let mut other = Other::start(&url, "writer");
    other.hear("ready");
    let (mut written, mut longest) = (0, Duration::ZERO);
    for round in 0..rounds() {
        std::thread::sleep(Duration::from_millis(7 + 13 * (round as u64 % 5)));
        other.signal("-STOP");
        // Every fifth time until the database has given it up and its lanes are taken for dead.
        let is_long = round % 5 == 4;
        let stopped = Instant::now();
        while stopped.elapsed() < if is_long { GIVEN_UP } else { Duration::from_millis(40) } {
            let begun = Instant::now();
            increment(&store, "n").unwrap();
            (written, longest) = (written + 1, longest.max(begun.elapsed()));
        }
        if is_long {
            let id = other.process.id();
            server.query(&format!(
                "UPDATE {schema}.lane SET n = n + 1, x = 0 WHERE about LIKE '%process {id}'"
            ));
        }
        other.signal("-CONT");
    }
    other.say("end");
    let by_other: usize = other.hear("written").parse().unwrap();
    assert!(by_other > 0, "it has written nothing");
    assert!(longest < GIVEN_UP + SLOW, "a write waited for {longest:?}");
    assert_exact(&store, &["n"], written + by_other);
}

#[test]
fn a_server_stopped_in_the_middle_of_an_exclusive_change_is_given_up() {
    let Some(server) = shared() else { return };
    let url = server.url(&schema());
    let store = connect(&url);
    let mut other = Other::start(&url, "exclusive");
    for round in 0..rounds() {
        other.hear("holding");
        other.signal("-STOP");
        let begun = Instant::now();
        let mut written = 0;
        while written < 3 {
            increment(&store, "n").unwrap();
            written += 1;
        }
        let waited = begun.elapsed();
        assert!(waited < GIVEN_UP + SLOW, "writes waited for {waited:?}");
        let epoch = store.exclusive().unwrap().commit().unwrap();
        other.signal("-CONT");
        other.say("commit");
        assert_eq!(other.hear("outcome"), "refused", "the epoch that it changes is over");
        assert_eq!(store.get(b"by").unwrap(), None);
        assert_eq!(store.epoch(), epoch);
        assert_exact(&store, &["n"], 3 * (round + 1));
    }
    other.hear("holding");
    other.say("end");
    // And in the middle of nothing it is as good as any.
    let mut change = store.exclusive().unwrap();
    change.put("by".into(), "another".into());
    assert!(!matches!(change.commit(), Err(CommitError::Unknown(_))));
}
