//! `keyloom migrate` as people run it: against a real server, command by command; and its speed.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use keyloom::remote::{Endpoint, Remote};
use keyloom::{Item, Retry, TableClient, item};

const OLD: &str = r#"
[table.notes]
partition_key = "PK"
sort_key = "SK"
[entity.Note]
PK = "USER#{user}"
SK = "NOTE#{number}"
[entity.Note.fields]
user = "string"
number = { type = "u32", plain = true }
text = "string"
[access.of]
find = "Note"
where = "user = ?"
"#;

fn keyloom() -> Command {
    Command::new(env!("CARGO_BIN_EXE_keyloom"))
}

struct Server {
    child: Child,
    url: String,
    folder: tempfile::TempDir,
}

impl Server {
    fn start(durable: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("old.toml"), OLD).unwrap();
        let new = OLD.replace("table.notes", "table.notes2").replace("plain = true", "width = 9");
        std::fs::write(folder.path().join("new.toml"), new).unwrap();
        let mut command = keyloom();
        command.args(["serve", "--port", "0"]);
        if durable {
            command.arg("--data").arg(folder.path().join("data"));
        } else {
            command.arg("--memory");
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines
            .by_ref()
            .find_map(|line| {
                let line = line.unwrap();
                let from = line.find("http://")?;
                let rest = line.get(from..)?;
                Some(rest.split_whitespace().next()?.trim_end_matches(['/', ',', '.']).to_owned())
            })
            .unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url, folder }
    }

    fn table(&self, name: &str) -> TableClient {
        let remote = Remote::new(Endpoint::url(&self.url)).unwrap();
        TableClient::new(remote, name).with_keys("PK", "SK").with_retry(Retry::default())
    }

    fn migrate(&self, action: &str, more: &[&str]) -> Output {
        let file = |name: &str| self.folder.path().join(name);
        let mut command = keyloom();
        command.args(["migrate", action]).arg(file("old.toml")).arg(file("new.toml"));
        if action != "plan" {
            command.args(["--endpoint", &self.url]);
        }
        command.args(more).output().unwrap()
    }

    /// A runner that has carried everything over, and goes on.
    fn follow(&self) -> Child {
        let file = |name: &str| self.folder.path().join(name);
        let mut command = keyloom();
        command.args(["migrate", "run"]).arg(file("old.toml")).arg(file("new.toml"));
        command.args(["--endpoint", &self.url]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let caught_up = lines.by_ref().any(|line| line.unwrap().contains("caught up"));
        assert!(caught_up);
        child
    }

    /// The output of a command that succeeds.
    fn says(&self, action: &str, more: &[&str]) -> String {
        let output = self.migrate(action, more);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success(),
            "{action}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn note(user: &str, number: u32, text: &str) -> Item {
    item! {
        "PK" => format!("USER#{user}"), "SK" => format!("NOTE#{number}"), "user" => user,
        "number" => i64::from(number), "text" => text,
    }
}

#[test]
fn from_plan_to_contract() {
    let server = Server::start(false);
    let notes = server.table("notes");
    notes.create().unwrap();
    notes.batch_put((0..60).map(|number| note("ann", number, "x"))).unwrap();

    assert!(
        server
            .says("plan", &[])
            .contains("items of Note are written into another table (notes → notes2)")
    );
    assert!(server.says("status", &[]).contains("not begun"));
    assert!(server.says("run", &["--once"]).contains("caught up: all items have their other form"));
    notes.put(note("ann", 7, "changed")).unwrap();
    notes.delete(("USER#ann", "NOTE#8")).unwrap();
    let mut follower = server.follow();
    let active = server.migrate("run", &["--once"]);
    assert!(String::from_utf8_lossy(&active.stderr).contains("take over"));
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert!(
        server.says("verify", &[]).contains("59 items and 8 calls of patterns compared, all right")
    );
    assert!(server.says("status", &[]).contains("phase follow; programs use the old form"));

    let refused = server.migrate("switch", &[]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--writers-are-gone"));
    let switched = server.says("switch", &["--writers-are-gone"]);
    assert!(switched.contains("Start `keyloom migrate run` again"), "{switched}");
    let moved = server.table("notes2").get(("USER#ann", "NOTE#000000007")).unwrap().unwrap();
    assert_eq!(moved.get("text"), Some(&"changed".into()));
    server.table("notes2").put(item! {
        "PK" => "USER#eve", "SK" => "NOTE#000000001", "user" => "eve", "number" => 1, "text" => "new",
    }).unwrap();
    server.says("run", &["--once"]);
    assert!(notes.get(("USER#eve", "NOTE#1")).unwrap().is_some(), "carried back");
    let ended = server.says("contract", &["--format", "json"]);
    assert!(ended.contains("\"notes\"") && ended.contains("\"left\": []"), "{ended}");
    assert!(server.says("status", &[]).contains("phase contracted; programs use the new form"));
    let all = server.table("notes2").scan().collect().unwrap();
    assert_eq!(all.len(), 60);
    assert!(all.iter().all(|note| !note.contains_key("keyloom_migration")));
}

/// How long work takes while a program writes all the time, and how long each of its writes takes then.
fn measured(server: &Server, work: impl FnOnce()) -> (Duration, Vec<Duration>) {
    let stop = AtomicBool::new(false);
    let table = server.table("notes");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut times = Vec::new();
            let mut number = 0;
            while !stop.load(Ordering::SeqCst) {
                let began = Instant::now();
                table.put(note("writer", number % 500, "foreground")).unwrap();
                times.push(began.elapsed());
                number += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            times.sort_unstable();
            times
        });
        let began = Instant::now();
        work();
        let took = began.elapsed();
        stop.store(true, Ordering::SeqCst);
        (took, writer.join().unwrap())
    })
}

/// The bare copy: pages of a parallel scan, written by BatchWriteItem.
fn copy(server: &Server, workers: u32) {
    let to = server.table("copied");
    to.create().unwrap();
    std::thread::scope(|scope| {
        for segment in 0..workers {
            let (from, to) = (server.table("notes"), &to);
            scope.spawn(move || {
                for page in from.scan().segment(segment, workers).pages() {
                    to.batch_put(page.unwrap().items).unwrap();
                }
            });
        }
    });
}

#[test]
fn an_endpoint_that_is_not_there_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.toml");
    std::fs::write(&file, OLD).unwrap();
    let file = file.to_str().unwrap();
    for command in [
        vec!["migrate", "status", file, file, "--endpoint"],
        vec!["deploy", file, "--to"],
        vec!["dump", "--table", "notes", "--from"],
        vec!["doctor", "--endpoint"],
    ] {
        let begun = Instant::now();
        let output = keyloom().args(&command).arg("http://127.0.0.1:9").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert!(said.contains("waiting for http://127.0.0.1:9"), "{command:?}: {said}");
        assert!(said.contains("http://127.0.0.1:9 does not answer"), "{command:?}: {said}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{command:?}");
    }
}

#[test]
fn what_vanishes_needs_a_word() {
    let server = Server::start(false);
    server.table("notes").create().unwrap();
    let other = OLD.replace("entity.Note", "entity.Page").replace("\"Note\"", "\"Page\"");
    let other = other.replace("USER#", "PAGE#").replace("table.notes", "table.pages");
    std::fs::write(server.folder.path().join("new.toml"), other).unwrap();
    let output = server.migrate("plan", &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("--left-behind Note") && said.contains("was = \"Note\""), "{said}");
    let output = server.migrate("run", &["--once"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("`Note` is left behind"), "{error}");
    assert!(server.says("plan", &["--left-behind", "Note"]).contains("nothing is in the way"));
    let wrong = server.migrate("plan", &["--left-behind", "Not"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("no such entity is left behind"));
}

#[test]
fn a_rate_that_is_none_is_refused_and_a_share_is_kept() {
    let server = Server::start(false);
    let notes = server.table("notes");
    notes.create().unwrap();
    notes.batch_put((0..20).map(|number| note("ann", number, "x"))).unwrap();
    for rate in ["0", "-1", "NaN", "inf", "1e-300", "0%", "101%", "fast"] {
        for action in ["run", "verify", "switch", "rollback", "contract"] {
            let output = server.migrate(action, &[&format!("--rate={rate}")]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{action} {rate}: {said}");
            assert!(said.contains("--rate") && said.contains(rate.trim_end_matches('%')), "{said}");
        }
    }
    assert!(server.says("status", &[]).contains("not begun"));
    // Of a new table on demand: 3,000 reads and 1,000 writes in a second.
    assert!(server.says("run", &["--once", "--rate", "25%"]).contains("caught up"));
    assert!(server.says("verify", &["--rate", "500"]).contains("20 items"));
    assert!(server.says("rollback", &["--rate", "10%"]).contains("only one again"));
    assert!(server.says("run", &["--once"]).contains("--again"));
    assert!(server.says("run", &["--once", "--again"]).contains("caught up"));
}

#[test]
fn a_deployment_that_was_killed_goes_on() {
    let server = Server::start(false);
    let notes = server.table("notes");
    notes.create().unwrap();
    notes.batch_put((0..2000).map(|n| note("ann", n, "x"))).unwrap();
    let mut design = OLD.replace("sort_key = \"SK\"", "sort_key = \"SK\"\nttl = \"ends\"");
    for number in 1..=3 {
        writeln!(
            design,
            "[table.notes.index.GSI{number}]\npartition_key = \"G{number}\"\nsort_key = \"SK\""
        )
        .unwrap();
    }
    let file = server.folder.path().join("design.toml");
    std::fs::write(&file, design).unwrap();
    let deploy = |more: &[&str]| {
        let mut command = keyloom();
        command.arg("deploy").arg(&file).args(["--to", &server.url]).args(more);
        command
    };
    let check = || deploy(&["--check"]).output().unwrap();
    assert_eq!(check().status.code(), Some(1));
    for _ in 0..2 {
        // Killed as soon as it says that it does something.
        let mut child = deploy(&[]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        lines.next().unwrap().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let output = deploy(&[]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let checked = check();
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success() && said.contains("is as designed"), "{said}");
}

#[test]
#[ignore = "a measurement: scripts/long migrate-speed"]
fn speed_against_a_bare_copy() {
    let items: u32 = std::env::var("KEYLOOM_MIGRATE_ITEMS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1_000_000);
    let server = Server::start(true);
    let notes = server.table("notes");
    notes.create().unwrap();
    let text = "x".repeat(900);
    std::thread::scope(|scope| {
        for part in 0..8 {
            let (notes, text) = (&notes, &text);
            scope.spawn(move || {
                let own = (0..items).filter(move |number| number % 8 == part);
                let all: Vec<u32> = own.collect();
                for some in all.chunks(1000) {
                    notes
                        .batch_put(some.iter().map(|n| note(&format!("u{}", n % 997), *n, text)))
                        .unwrap();
                }
            });
        }
    });
    let workers = 8;
    let quantile = |times: &[Duration], share: usize| {
        times.get(times.len() * share / 100).copied().unwrap_or_default()
    };
    let (_, idle) = measured(&server, || std::thread::sleep(Duration::from_secs(5)));
    let (copied, with_copy) = measured(&server, || copy(&server, workers));
    let (migrated, with_migration) = measured(&server, || {
        server.says("run", &["--once", "--workers", &workers.to_string()]);
    });
    let rate = |took: Duration| f64::from(items) / took.as_secs_f64();
    let share = 100.0 * rate(migrated) / rate(copied);
    let report = format!(
        "{items} items of 1 KB: bare copy {:.0}/s, migration {:.0}/s: {share:.0} %\n\
         foreground writes, median and p99: alone {:?} {:?}, with the copy {:?} {:?}, with the migration {:?} {:?}",
        rate(copied),
        rate(migrated),
        quantile(&idle, 50),
        quantile(&idle, 99),
        quantile(&with_copy, 50),
        quantile(&with_copy, 99),
        quantile(&with_migration, 50),
        quantile(&with_migration, 99),
    );
    std::io::Write::write_all(&mut std::io::stderr(), format!("{report}\n").as_bytes()).unwrap();
    assert!(share >= 50.0, "{report}");
}
