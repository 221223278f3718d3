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

/// Programs that read reports learn of files that could not be read, and of all others.
#[test]
fn unreadable_files_are_in_every_report_and_exceed_findings() {
    let folder = tempfile::tempdir().unwrap();
    let latin = folder.path().join("latin.toml");
    std::fs::write(&latin, b"# caf\xe9\n").unwrap();
    let latin = latin.to_str().unwrap();
    let files = [latin, "no-such.toml", ".", "stores.as-written.toml", "stores.toml"];
    let run = |format: &str| {
        let output = keyloom(&[["check", "--format", format].as_slice(), &files].concat());
        assert_eq!(output.status.code(), Some(2), "{format}");
        output
    };
    let report = json(&run("json"));
    let findings = report["findings"].as_array().unwrap();
    let unread: Vec<&str> = findings
        .iter()
        .filter(|finding| finding["rule"] == "D00")
        .map(|finding| finding["where"]["file"].as_str().unwrap())
        .collect();
    assert_eq!(unread, [latin, "no-such.toml", "."]);
    assert!(findings.iter().any(|f| f["where"]["file"] == "stores.as-written.toml"));
    assert!(report["designs"].as_array().unwrap().iter().any(|d| d["file"] == "stores.toml"));
    let sarif = json(&run("sarif"));
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.iter().filter(|result| result["ruleId"] == "D00").count(), 3);
    assert!(text(&run("markdown").stdout).contains("## no-such.toml"));
    let human = run("human");
    assert_eq!(text(&human.stderr).matches(" cannot be read: ").count(), 3, "{human:?}");
    assert!(text(&human.stdout).contains("stores.toml: no findings"), "{human:?}");
}

#[test]
fn prices_and_input_that_cannot_be_read_are_told_from_findings() {
    for arguments in [["check", "-", "-"].as_slice(), &["check", "stores.toml", "--prices", "no"]] {
        let output = keyloom(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains("read"), "{output:?}");
    }
}

/// A report says where each rule is explained, and the page is there.
#[test]
fn reports_link_to_the_pages_of_their_rules() {
    let pages = designs().join("../../docs/rules");
    let output = keyloom(&["check", "stores.as-written.toml", "--format", "json"]);
    for finding in json(&output)["findings"].as_array().unwrap() {
        let link = finding["help"].as_str().unwrap();
        let (_, page) = link.split_once("/docs/rules/").unwrap();
        assert_eq!(page, format!("{}.md", finding["rule"].as_str().unwrap()));
        assert!(pages.join(page).is_file(), "{link}");
    }
    let sarif = json(&keyloom(&["check", "stores.as-written.toml", "--format", "sarif"]));
    for rule in sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap() {
        assert!(rule["helpUri"].as_str().unwrap().contains("/docs/rules/"), "{rule}");
    }
    let output = keyloom(&["rule", "K07", "A03"]);
    let shown = text(&output.stdout);
    assert!(shown.starts_with("# K07: ") && shown.contains("\n# A03: "), "{shown}");
    let unknown = keyloom(&["rule", "K77"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("did you mean \"K07\"?"), "{unknown:?}");
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

/// Every command that reads a design reads it from standard input as well.
#[test]
fn a_design_can_come_from_standard_input() {
    let design = std::fs::read(designs().join("tasks.toml")).unwrap();
    let commands: [&[&str]; 8] = [
        &["check", "-"],
        &["explain", "-", "tasks in a project"],
        &["try", "-", "--items", "100"],
        &["docs", "-"],
        &["diff", "-", "tasks.toml"],
        &["diff", "tasks.toml", "-"],
        &["deploy", "-", "--emit", "terraform"],
        &["generate", "rust", "-"],
    ];
    for arguments in commands {
        let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_keyloom"))
            .args(arguments)
            .current_dir(designs())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut process.stdin.take().unwrap(), &design).unwrap();
        let output = process.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{arguments:?}");
    }
    let output = keyloom(&["diff", "-", "-"]);
    assert!(text(&output.stderr).contains("it can be read only once"), "{output:?}");
}

/// A flag that would have no effect is refused.
#[test]
fn deploy_refuses_flags_that_it_would_ignore() {
    for flags in [
        ["--emit", "terraform", "--dry-run"].as_slice(),
        &["--emit", "terraform", "--check"],
        &["--emit", "cdk", "--region", "eu-west-1"],
        &["--emit", "cdk", "--profile", "me"],
        &["--emit", "cdk", "--table", "tasks"],
        &["--to", "http://localhost:1", "--table", "tasks"],
        &["--dry-run"],
    ] {
        let output = keyloom(&[["deploy", "tasks.toml"].as_slice(), flags].concat());
        assert_ne!(output.status.code(), Some(0), "{flags:?}");
        assert!(output.stdout.is_empty(), "{flags:?}");
    }
}
