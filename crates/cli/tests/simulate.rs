//! `keyloom simulate`, run as people run it.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::path::Path;
use std::process::{Command, Output};

fn simulate(arguments: &[&str]) -> Output {
    let designs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/designs");
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
    command.current_dir(designs).arg("simulate").args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_first_limit_comes_with_a_change_that_moves_it() {
    let shown = text(&simulate(&["hot-keys.as-written.toml"]));
    assert!(shown.contains("DAY#{day} of hot reaches 1,000 writes/s"), "{shown}");
    assert!(shown.contains("+ pk    = \"DAY#{day}#{shard}\""), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&text(&simulate(&["hot-keys.as-written.toml", "--format", "json"])))
            .unwrap();
    let advice = json.get("advice").unwrap();
    let number = |key: &str| advice.get(key).and_then(serde_json::Value::as_f64).unwrap();
    assert!(number("after") > number("before") * 5.0, "{advice}");
}

#[test]
fn the_same_input_gives_the_same_output() {
    let once =
        text(&simulate(&["tasks.toml", "--profile", "daily", "--minutes", "90", "--zipf", "1"]));
    assert_eq!(
        once,
        text(&simulate(&["tasks.toml", "--profile", "daily", "--minutes", "90", "--zipf", "1"]))
    );
}

#[test]
fn a_build_can_be_denied() {
    let output = simulate(&["hot-keys.as-written.toml", "--deny", "10"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--deny 10"), "{output:?}");
    assert!(simulate(&["tasks.toml", "--deny", "10"]).status.success());
}

#[test]
fn pages_and_pictures_need_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (page, pictures) = (folder.path().join("forecast.html"), folder.path().join("plots"));
    let (page, pictures) = (page.to_str().unwrap(), pictures.to_str().unwrap());
    text(&simulate(&["hot-keys.as-written.toml", "--html", page, "--svg", pictures]));
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("<svg") && !html.contains("<script") && !html.contains("src="), "{html}");
    assert!(std::fs::read_dir(pictures).unwrap().count() >= 3);
}

#[test]
fn wrong_arguments_are_named() {
    for (arguments, named) in [
        (["--scale", "0"], "--scale 0"),
        (["--profile", "weekly"], "expected constant, daily, spike or launch"),
        (["--profile", "daily=2"], "a share"),
        (["--zipf", "9"], "--zipf 9"),
        (["--from", "nowhere.json"], "nowhere.json"),
    ] {
        let output = simulate(&["tasks.toml", arguments[0], arguments[1]]);
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(named), "{arguments:?}: {said}");
    }
}
