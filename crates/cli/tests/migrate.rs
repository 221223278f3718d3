//! `keyloom migrate` as people run it: against a real server, command by command; and its speed.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

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
    let active = server.migrate("run", &["--once"]);
    assert!(String::from_utf8_lossy(&active.stderr).contains("take over"));
    server.says("run", &["--once", "--take-over"]);
    assert!(server.says("verify", &[]).contains("59 items compared, all right"));
    assert!(server.says("status", &[]).contains("phase follow; programs use the old form"));

    let refused = server.migrate("switch", &[]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--writers-are-gone"));
    assert!(server.says("switch", &["--writers-are-gone"]).contains("switched"));
    let moved = server.table("notes2").get(("USER#ann", "NOTE#000000007")).unwrap().unwrap();
    assert_eq!(moved.get("text"), Some(&"changed".into()));
    server.table("notes2").put(item! {
        "PK" => "USER#eve", "SK" => "NOTE#000000001", "user" => "eve", "number" => 1, "text" => "new",
    }).unwrap();
    server.says("run", &["--once", "--take-over"]);
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
    let report = format!(
        "{items} items of 1 KB: bare copy {:.0}/s, migration {:.0}/s: {:.0} %\n\
         foreground writes, median and p99: alone {:?} {:?}, with the copy {:?} {:?}, with the migration {:?} {:?}",
        rate(copied),
        rate(migrated),
        100.0 * rate(migrated) / rate(copied),
        quantile(&idle, 50),
        quantile(&idle, 99),
        quantile(&with_copy, 50),
        quantile(&with_copy, 99),
        quantile(&with_migration, 50),
        quantile(&with_migration, 99),
    );
    std::io::Write::write_all(&mut std::io::stderr(), format!("{report}\n").as_bytes()).unwrap();
}
