//! What all commands share: colours, exit codes, `keyloom.toml`, and folders that are not ours.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

const KEYLOOM: &str = env!("CARGO_BIN_EXE_keyloom");

const WRONG: &str = r#"
[table.shop]
partition_key = "PK"
sort_key      = "SK"

[entity.Order]
PK     = "CUSTOMER#{customer}"
SK     = "ORDER#{number}"
count  = 1000
size   = "1 KB"
fields = { customer = "token", number = { type = "u32", plain = true } }

[access]
"latest orders" = { find = "Order", where = "customer = ?", order = "number desc", limit = 10, rate = "10/s" }
"#;

fn keyloom(folder: &Path, arguments: &str) -> Output {
    Command::new(KEYLOOM).current_dir(folder).args(arguments.split(' ')).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A folder with a design in it, and one below.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("designs/deep")).unwrap();
    std::fs::write(folder.path().join("designs/orders.toml"), WRONG).unwrap();
    std::fs::write(folder.path().join("designs/other.toml"), WRONG.replace(", plain = true", ""))
        .unwrap();
    folder
}

/// Every command that prints a report in words; what it prints may be good or bad news.
const REPORTS: [&str; 10] = [
    "check designs/orders.toml",
    "explain designs/orders.toml latest",
    "diff designs/orders.toml designs/other.toml",
    "try designs/orders.toml --items 50",
    "simulate designs/orders.toml --scale 1",
    "synth designs/other.toml",
    "rule K01",
    "deploy designs/orders.toml --to nowhere",
    "migrate plan designs/orders.toml designs/other.toml",
    "verify designs",
];

#[test]
fn pipes_get_no_colours_unless_they_are_asked_for() {
    let folder = project();
    for arguments in REPORTS {
        let plain = said(&keyloom(folder.path(), arguments));
        assert!(!plain.contains('\x1b'), "{arguments}: {plain}");
        let painted = said(&keyloom(folder.path(), &format!("{arguments} --color always")));
        assert!(painted.contains("\x1b["), "{arguments}: {painted}");
        let bare = |text: &str| {
            let mut parts = text.split("\x1b[");
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |all, part| all + part.split_once('m').unwrap().1)
        };
        // `try` says how long it took, and how far it is after each second.
        let is_timed = |line: &str| {
            line.contains(", in ") || line.starts_with("items: ") || line.starts_with("trying: ")
        };
        let timeless = |text: &str| text.lines().filter(|line| !is_timed(line)).collect::<String>();
        assert_eq!(timeless(&bare(&painted)), timeless(&plain), "{arguments}");
    }
    for arguments in ["check designs/orders.toml --format json", "rule K01 --format json"] {
        let painted = said(&keyloom(folder.path(), &format!("{arguments} --color always")));
        assert!(!painted.contains('\x1b'), "{arguments}: {painted}");
    }
}

/// `script` gives the command a terminal.
#[test]
fn terminals_get_colours_unless_they_are_not_wanted() {
    let folder = project();
    let on_terminal = |arguments: &str, no_color: Option<&str>| {
        let line = format!("{KEYLOOM} {arguments}");
        let mut command = Command::new("script");
        command
            .current_dir(folder.path())
            .args(["-qec", &line, "/dev/null"])
            .env_remove("NO_COLOR");
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        command.output().ok().map(|output| said(&output))
    };
    if on_terminal("rule", None).is_none() {
        assert!(
            std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_none(),
            "`script` of util-linux is needed"
        );
        eprintln!("skipped: `script` of util-linux is not installed");
        return;
    }
    for arguments in REPORTS {
        let shown = |arguments: &str, no_color| on_terminal(arguments, no_color).unwrap();
        assert!(shown(arguments, None).contains("\x1b["), "{arguments}");
        assert!(shown(arguments, Some("")).contains("\x1b["), "{arguments}: empty is not set");
        for (line, no_color) in
            [(arguments.to_owned(), Some("1")), (format!("{arguments} --color never"), None)]
        {
            let text = shown(&line, no_color);
            // A bar of progress moves the cursor, and clears its line.
            let colours = text.replace("\x1b[K", "");
            assert!(!colours.contains('\x1b'), "{line}: {text}");
        }
    }
}

#[test]
fn a_project_says_once_what_commands_need() {
    let folder = project();
    let path = folder.path();
    let nothing = keyloom(path, "check");
    assert_eq!(nothing.status.code(), Some(2));
    assert!(said(&nothing).contains("keyloom.toml"), "{}", said(&nothing));

    let config = |text: &str| std::fs::write(path.join("keyloom.toml"), text).unwrap();
    config("designs = [\"designs/*.toml\"]\nendpoint = \"http://127.0.0.1:1\"\n");
    for below in [path.to_owned(), path.join("designs"), path.join("designs/deep")] {
        let checked = keyloom(&below, "check");
        assert_eq!(checked.status.code(), Some(1), "{}", said(&checked));
        assert!(said(&checked).contains("orders.toml: 2 errors"), "{}", said(&checked));
        assert!(said(&checked).contains("other.toml: no findings"), "{}", said(&checked));
    }
    // The file that is given wins, and so does the endpoint.
    assert!(!said(&keyloom(path, "check designs/other.toml")).contains("orders.toml:"));
    assert!(said(&keyloom(path, "doctor")).contains("http://127.0.0.1:1 does not answer"));
    assert!(
        said(&keyloom(path, "doctor --endpoint http://127.0.0.1:2"))
            .contains("127.0.0.1:2 does not")
    );

    config(
        "designs = [\"designs/orders.toml\"]\n[lint]\nK01 = \"warn\"\nA03 = \"off\"\nA13 = \"off\"\n",
    );
    let softer = keyloom(path, "check");
    assert_eq!(softer.status.code(), Some(0), "{}", said(&softer));
    assert!(
        said(&softer).contains("warn[K01]") && !said(&softer).contains("A03]"),
        "{}",
        said(&softer)
    );

    for (text, words) in [
        ("design = []", "`design`: there is no such key; did you mean \"designs\"?"),
        ("designs = [\"desings/*.toml\"]", "nothing is called \"desings/*.toml\""),
        ("[lint]\nK1 = \"off\"", "`K1`: there is no such rule"),
    ] {
        config(text);
        let refused = keyloom(path, "check");
        assert_eq!(refused.status.code(), Some(2), "{text}");
        assert!(said(&refused).contains(words), "{text}: {}", said(&refused));
    }
}

#[test]
fn exit_codes_are_told_and_kept() {
    let folder = project();
    let help = said(&keyloom(folder.path(), "--help"));
    for code in ["\n  0  ", "\n  1  ", "\n  2  "] {
        assert!(help.contains(code), "{help}");
    }
    for (arguments, code) in [
        ("check designs/other.toml", 0),
        ("check designs/orders.toml", 1),
        ("check missing.toml", 2),
        ("chekc designs/orders.toml", 2),
        ("check --deny nothing", 2),
        ("explain missing.toml", 1),
        ("verify designs", 2),
    ] {
        assert_eq!(keyloom(folder.path(), arguments).status.code(), Some(code), "{arguments}");
    }
}

/// What is in a folder, and when it was changed.
fn state(folder: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        let name = path.display().to_string();
        if meta.is_dir() {
            found.extend(state(&path));
        }
        let bytes = if meta.is_dir() { Vec::new() } else { std::fs::read(&path).unwrap() };
        found.insert(name, (bytes, meta.modified().unwrap()));
    }
    found
}

#[test]
fn folders_that_are_not_ours_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("foreign");
    std::fs::create_dir_all(foreign.join("tables")).unwrap();
    std::fs::write(foreign.join("tables/1"), "theirs").unwrap();
    std::fs::write(foreign.join("LOCK"), "").unwrap();
    let before = state(folder.path());
    for arguments in [
        "serve --data foreign --port 0",
        "verify foreign",
        "backup foreign --to made",
        "repair foreign --to made",
        "restore foreign --to made",
        "restore made --to foreign",
    ] {
        let output = keyloom(folder.path(), arguments);
        assert!(!output.status.success(), "{arguments}");
        assert!(
            said(&output).contains("foreign") || said(&output).contains("made"),
            "{}",
            said(&output)
        );
        assert_eq!(state(folder.path()), before, "{arguments}: {}", said(&output));
    }
}
