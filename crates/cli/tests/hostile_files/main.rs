//! Files that nobody writes by hand: every command that reads a design answers each of them soon, in bounded memory, with
//! a clear word and without a panic.
//!
//! `KEYLOOM_HOSTILE_LONG=1` makes the large ones ten times larger.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "a panic is how a test fails, and a list of files is long"
)]

mod files;
mod talk;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How much of a processor's time a command may take in a debug build, and how much memory it may have.
const PROCESSOR_SECONDS: u64 = 60;
/// How long it may take: a command that waits for ever takes no processor's time, and other work may hold it up.
const PATIENCE: Duration = Duration::from_mins(10);
const MEMORY_KB: u64 = 4 << 20;
/// How much it may say.
const MOST_SAID: usize = 4 << 20;

/// Runs the command with a bound on its time and memory.
fn run(arguments: &[&str], folder: &Path) -> Output {
    let program = env!("CARGO_BIN_EXE_keyloom");
    let bounded =
        format!("ulimit -v {MEMORY_KB}; ulimit -t {PROCESSOR_SECONDS}; exec \"$0\" \"$@\"");
    let mut child = Command::new("sh");
    child
        .args(["-c", &bounded, "timeout", &PATIENCE.as_secs().to_string(), program])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    child.spawn().unwrap().wait_with_output().unwrap()
}

/// What is wrong with an answer.
fn trouble(output: &Output) -> Option<String> {
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let start = |text: &str| text.chars().take(300).collect::<String>();
    let obeyed = |text: &str| text.chars().find(|c| c.is_control() && !"\n\t\r".contains(*c));
    if !matches!(output.status.code(), Some(0..=2)) {
        return Some(format!("ended with {:?}: {}", output.status, start(&err)));
    }
    if err.contains("panicked") || err.contains("overflow") {
        return Some(start(&err));
    }
    if out.len() + err.len() > MOST_SAID {
        return Some(format!("says {} bytes", out.len() + err.len()));
    }
    if let Some(c) = obeyed(&out).or_else(|| obeyed(&err)) {
        return Some(format!("prints {c:?}, which a terminal obeys"));
    }
    (output.status.code() != Some(0) && out.trim().is_empty() && err.trim().is_empty())
        .then(|| "fails without a word".to_owned())
}

/// Runs a command on every file, on a few threads.
fn all(command: &[&str], folder: &Path, files: &[PathBuf]) -> Vec<String> {
    let one = |file: &PathBuf| {
        let file = file.to_str().unwrap();
        let words: Vec<&str> =
            command.iter().map(|word| if *word == "FILE" { file } else { *word }).collect();
        let start = Instant::now();
        let trouble = trouble(&run(&words, folder))?;
        let name = Path::new(file).file_name().unwrap().to_string_lossy();
        Some(format!("{command:?} of {name} after {:.1?}: {trouble}", start.elapsed()))
    };
    let half = files.len().div_ceil(2).max(1);
    std::thread::scope(|scope| {
        let parts = files
            .chunks(half)
            .map(|part| scope.spawn(move || part.iter().filter_map(one).collect::<Vec<_>>()));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

#[test]
fn check_answers_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = files::small(folder.path());
    files.extend(files::large(folder.path()));
    let wrong = all(&["check", "FILE"], folder.path(), &files);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn other_commands_answer_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let files = files::small(folder.path());
    let before = files::sound(folder.path());
    let before = before.to_str().unwrap();
    let commands: [&[&str]; 12] = [
        &["check", "--format", "sarif", "FILE"],
        &["explain", "FILE", "a"],
        &["try", "--items", "20", "FILE"],
        &["simulate", "FILE"],
        &["synth", "FILE"],
        &["diff", before, "FILE"],
        &["diff", "FILE", before],
        &["migrate", "plan", before, "FILE"],
        &["migrate", "plan", "FILE", before],
        &["migrate", "plan", "FILE", "FILE"],
        &["docs", "FILE"],
        &["generate", "typescript", "FILE"],
    ];
    let wrong: Vec<String> =
        commands.iter().flat_map(|command| all(command, folder.path(), &files)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn infer_answers_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let files = files::items(folder.path());
    let wrong = all(&["infer", "FILE"], folder.path(), &files);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is too much is said with the number, and nothing of it is planned.
#[test]
fn too_much_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    files::large(folder.path());
    for (file, said) in [
        ("patterns.toml", "there are 100000 access patterns, and 20000 are the most"),
        ("entities.toml", "there are 10000 entities, and 5000 are the most"),
        ("values.toml", "there are 100000 values of `s`, and 2000 are the most"),
        ("indexes.toml", "there are 2000 indexes of `app`, and 100 are the most"),
        ("endless.toml", "it is longer than 16 MB"),
        ("endless-wide.toml", "it is longer than 16 MB"),
        ("endless-wide-by-one.toml", "it is longer than 16 MB"),
    ] {
        let output = run(&["check", file], folder.path());
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains(said), "{file}: {}", text.chars().take(500).collect::<String>());
    }
    for (device, said) in [("/dev/zero", "longer than 16 MB"), ("pipe.toml", "named pipe")] {
        files::small(folder.path());
        let output = run(&["check", device], folder.path());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(said) && output.status.code() == Some(2), "{device}: {text}");
    }
}

/// An editor shows every file, too.
#[test]
fn the_language_server_answers_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let texts = files::texts(&files::small(folder.path()));
    talk::editor(&texts, PATIENCE);
}

/// An assistant that asks for hundreds of things at once gets all answers, from a few processes at a time.
#[test]
fn assistants_may_flood() {
    let folder = tempfile::tempdir().unwrap();
    let texts = files::texts(&files::small(folder.path()));
    talk::assistant(&texts, PATIENCE);
}
