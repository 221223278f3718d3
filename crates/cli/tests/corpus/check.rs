//! `keyloom check` on the corpus.

use std::collections::BTreeSet;

use super::{all_right, as_written, corrected, designs, golden, json, keyloom, names, text};

#[test]
fn designs_as_written_show_exactly_their_findings() {
    let mut wrong = Vec::new();
    for name in as_written() {
        let report = text(&keyloom(&["check", name.as_str()]).stdout);
        let stem = name.trim_end_matches(".as-written.toml");
        wrong.extend(golden(&format!("check/{stem}.txt"), &report).err());
        if report.contains(": no findings") {
            wrong.push(format!("{name} has no findings: what is wrong with it?"));
        }
    }
    all_right(wrong);
}

#[test]
fn corrected_designs_have_no_findings_and_refuse_nothing() {
    let mut arguments = vec!["check".to_owned(), "--format".to_owned(), "json".to_owned()];
    arguments.extend(corrected());
    let output = keyloom(&arguments);
    let report = json(&output);
    let findings = report["findings"].as_array().unwrap();
    let mut wrong: Vec<String> = findings
        .iter()
        .map(|f| format!("{} {}: {}", f["where"]["file"], f["rule"], f["message"]))
        .collect();
    for pattern in report["patterns"].as_array().unwrap() {
        let refuted = pattern["proofs"].as_object().unwrap().iter().any(|(_, p)| p == "refuted");
        if pattern["verdict"] == "refused" || refuted {
            wrong.push(format!("{}: {} is not proven", pattern["file"], pattern["name"]));
        }
    }
    all_right(wrong);
    assert!(output.status.success());
}

#[test]
fn the_exit_code_tells_errors_from_warnings() {
    assert_eq!(keyloom(&["check", "stores.as-written.toml"]).status.code(), Some(1), "errors");
    assert_eq!(keyloom(&["check", "stores.toml"]).status.code(), Some(0));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let output = keyloom(&["check", "no-such.toml", "stores.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("stores.toml: no findings"), "the others are reported");
    assert!(text(&output.stderr).contains("no-such.toml cannot be read"), "{output:?}");
}

const WARNED: &str = r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.Log]
PK = "LOG#{id:ulid}"
SK = "{at}"
[entity.Log.fields]
at = "datetime:loose"
[access."log"]
find = "Log"
where = "id = ?"
key = 'PK = "LOG#{id}" and begins_with(SK, "2024")'
[[allow]]
rule = "A13"
subject = "log"
reason = "only this year is of interest"
[[allow]]
rule = "K07"
subject = "log"
reason = "only this year is of interest"
"#;

/// Runs `check -` with this text as its input.
fn check_input(text: &str, more: &[&str]) -> std::process::Output {
    use std::io::Write as _;
    let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_keyloom"))
        .args(["check", "-"])
        .args(more)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    process.wait_with_output().unwrap()
}

#[test]
fn standard_input_is_checked_and_what_is_denied_fails_the_run() {
    let plain = check_input(WARNED, &[]);
    assert_eq!(plain.status.code(), Some(0), "{}", text(&plain.stdout));
    assert!(text(&plain.stdout).contains("standard input: "), "{}", text(&plain.stdout));
    let warned = check_input(WARNED, &["--deny", "warnings"]);
    assert_eq!(warned.status.code(), Some(1));
    assert!(text(&warned.stderr).contains("warnings are denied"), "{}", text(&warned.stderr));
    // Allowed by name, and denied all the same.
    let unproven = check_input(WARNED, &["--deny", "unproven"]);
    assert_eq!(unproven.status.code(), Some(1));
    assert!(text(&unproven.stderr).contains("not proven, which is denied: log"));
}

/// Every rule of the linter that a single design can break is broken somewhere in the corpus, except for
/// these, which need something the source documents do not have.
#[test]
fn most_rules_are_broken_by_some_design() {
    let mut arguments = vec!["check".to_owned(), "--format".to_owned(), "json".to_owned()];
    arguments.extend(as_written());
    let report = json(&keyloom(&arguments));
    let rules: BTreeSet<&str> =
        report["findings"].as_array().unwrap().iter().filter_map(|f| f["rule"].as_str()).collect();
    for rule in [
        "K01", "K02", "K03", "K04", "K05", "K06", "K07", "K08", "K09", "K11", "K12", "K13", "P01",
        "P02", "P03", "P04", "P05", "P08", "P09", "P10", "P11", "I01", "I03", "I05", "I06", "I07",
        "A01", "A02", "A03", "A04", "A05", "A06", "A07", "A08", "E01", "E02", "E04", "U01", "D03",
        "D04",
    ] {
        assert!(rules.contains(rule), "no design breaks {rule}: {rules:?}");
    }
}

/// The index beside the designs names every file.
#[test]
fn the_readme_lists_every_design() {
    let readme = std::fs::read_to_string(designs().join("README.md")).unwrap();
    let missing: Vec<String> =
        names().into_iter().filter(|name| !readme.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
