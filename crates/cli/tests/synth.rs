//! `keyloom synth` and `keyloom new`, run as people run them, and every design they make tried on the engine.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn keyloom(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_keyloom"))
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that asks nothing may be gone already.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The corrected designs.
fn designs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/designs");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        path.extension().is_some_and(|it| it == "toml") && !stem.ends_with(".as-written")
    });
    files.sort();
    files
}

#[test]
fn every_synthesised_design_does_on_the_engine_what_its_plans_say() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for path in designs() {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let arguments = ["synth", path.to_str().unwrap(), "--runners-up", "0", "-o", &name];
        let output = keyloom(folder.path(), &arguments, "");
        assert!(output.status.success(), "{name}: {}{}", out(&output), err(&output));
        files.push(name);
    }
    assert!(files.len() >= 49, "{}", files.len());
    let mut arguments = vec!["try", "--items", "150", "--calls", "8"];
    arguments.extend(files.iter().map(String::as_str));
    let output = keyloom(folder.path(), &arguments, "");
    let shown = out(&output);
    assert!(output.status.success(), "{shown}{}", err(&output));
    assert_eq!(shown.matches("no promise broken").count(), files.len(), "{shown}");
}

const ANSWERS: &str =
    "Order: order_id ulid, customer ulid, placed_at datetime, status string(open|paid)
1M of 1 KB
Customer: customer ulid, mail token; 200k of 500 B

order: Order where order_id = ? rate 50/s
customer: Customer where customer = ?
customer by mail: Customer where mail = ?
orders of a customer: Order where customer = ? order placed_at desc limit 20 rate 300/s

place an order: Order 100/s
sign up: Customer 2/s
";

#[test]
fn answers_become_a_proven_design() {
    let folder = tempfile::tempdir().unwrap();
    let output = keyloom(folder.path(), &["new", "shop.toml"], ANSWERS);
    let shown = out(&output);
    assert!(output.status.success(), "{shown}{}", err(&output));
    for words in [
        "What is stored?",
        "1 index so far",
        "shop.toml: no findings",
        "Where each pattern first fails",
        "Next: keyloom try",
    ] {
        assert!(shown.contains(words), "no `{words}` in\n{shown}");
    }
    let tried = keyloom(folder.path(), &["try", "shop.toml", "--items", "200"], "");
    assert!(tried.status.success(), "{}", out(&tried));
    // The same answers from a file; and nothing is overwritten without a word.
    std::fs::write(folder.path().join("answers"), ANSWERS).unwrap();
    let again = keyloom(folder.path(), &["new", "shop.toml", "--from", "answers"], "");
    assert!(!again.status.success() && err(&again).contains("--force"), "{}", err(&again));
    let before = std::fs::read_to_string(folder.path().join("shop.toml")).unwrap();
    let forced = keyloom(folder.path(), &["new", "shop.toml", "--force", "--from", "answers"], "");
    assert!(forced.status.success(), "{}", err(&forced));
    assert_eq!(std::fs::read_to_string(folder.path().join("shop.toml")).unwrap(), before);
}

#[test]
fn a_wrong_answer_is_named_at_once_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for (answers, words) in [
        ("", "nothing was said to be stored"),
        ("\n\n\n", "nothing was said to be stored"),
        ("Order\n", "answer 1, `Order`: an entity is NAME"),
        ("Order: order_id ulidd\n", "ulidd"),
        ("Order: order_id ulid\nmany\n", "answer 2, `many`"),
        ("Order: order_id ulid\n\n\nall: Order where customer = ?\n", "has no field `customer`"),
        ("Order: order_id ulid\n\n\nall: Refund\n", "there is no entity `Refund`"),
        ("Order: order_id ulid\n\n\nall: Order order nothing\n", "nothing"),
        ("Order: order_id ulid\n\n\nall: Order rate often\n", "often"),
        ("Order: order_id ulid\n\n\n\nput: Nobody 3/s\n", "Nobody"),
    ] {
        let output = keyloom(folder.path(), &["new", "x.toml"], answers);
        assert_eq!(output.status.code(), Some(1), "{answers:?}: {}", out(&output));
        assert!(err(&output).contains(words), "{answers:?}: {}", err(&output));
        assert!(!folder.path().join("x.toml").exists());
    }
    let nowhere = keyloom(folder.path(), &["new", "nowhere/x.toml"], ANSWERS);
    assert!(err(&nowhere).contains("there is no folder nowhere"), "{}", err(&nowhere));
    assert!(!out(&nowhere).contains("What is stored?"), "{}", out(&nowhere));
    let option = ["new", "x.toml", "--entity", "Order: order_id"];
    let output = keyloom(folder.path(), &option, "");
    assert!(err(&output).contains("has no type"), "{}", err(&output));
}

#[test]
fn options_ask_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "new",
        "notes.toml",
        "--entity",
        "Note: note_id ulid, owner ulid, at datetime",
        "--pattern",
        "notes: Note where owner = ? order at desc",
    ];
    let output = keyloom(folder.path(), &arguments, "");
    let shown = out(&output);
    assert!(output.status.success() && !shown.contains("What is stored?"), "{shown}");
    assert!(shown.contains("add `rate` to see limits"), "{shown}");
}

#[test]
fn what_synth_cannot_do_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("a.toml"),
        "[entity.A.fields]\na_id = \"ulid\"\nb = \"token\"\nc = \"token\"\n\
         [access.x]\nfind = \"A\"\nwhere = \"a_id = ?\"\n[access.y]\nfind = \"A\"\nwhere = \"b = ?\"\n",
    )
    .unwrap();
    for (arguments, words) in [
        (&["synth", "a.toml", "--keep", "PK"][..], "`PK` cannot be kept"),
        (&["synth", "a.toml", "--max-indexes", "0"], "needs 1 index for `A`"),
        (&["synth", "a.toml", "--time-limit=-1"], "--time-limit"),
        (&["synth", "gone.toml"], "cannot be read"),
    ] {
        let output = keyloom(folder.path(), arguments, "");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(err(&output).contains(words), "{arguments:?}: {}", err(&output));
    }
}
