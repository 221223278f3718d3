//! The designs in `examples/designs`, through the `keyloom` binary: what is wrong with those that come as
//! written, that the corrected ones are right, and that plans and engine agree about all of them.
//!
//! Golden files are in `tests/golden`; `KEYLOOM_BLESS=1 cargo test -p keyloom-cli --test corpus` writes
//! them anew. `KEYLOOM_ITEMS` asks for more generated items than the few that keep the test fast.
#![expect(clippy::unwrap_used, reason = "tests")]

mod check;
mod deploy;
#[path = "../shared/process.rs"]
mod process;
mod trial;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where the designs are.
fn designs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/designs")
}

/// The names of all design files, sorted.
fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(designs())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|kind| kind == "toml"))
        .collect();
    names.sort();
    names
}

fn is_as_written(name: &str) -> bool {
    name.ends_with(".as-written.toml")
}

fn corrected() -> Vec<String> {
    names().into_iter().filter(|name| !is_as_written(name)).collect()
}

fn as_written() -> Vec<String> {
    names().into_iter().filter(|name| is_as_written(name)).collect()
}

/// Runs the binary among the designs, so that messages show plain file names.
fn keyloom<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyloom"))
        .args(arguments)
        .current_dir(designs())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

/// Compares with a golden file, or writes it.
fn golden(name: &str, actual: &str) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("KEYLOOM_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
        return Ok(());
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected == actual {
        return Ok(());
    }
    let differ = expected.lines().zip(actual.lines()).find(|(a, b)| a != b);
    let (wanted, got) = differ.unwrap_or(("(its end)", "(another end)"));
    Err(format!("{}:\n  wanted {wanted}\n  got    {got}", path.display()))
}

/// Fails with everything that is wrong at once.
fn all_right(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
