//! The crates depend on each other as `ARCHITECTURE.md` says, and in no other way; the files that it names exist; modules
//! have one style; docs say more than two words.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Which crates of the workspace a crate may use.
const ARROWS: [(&str, &[&str]); 12] = [
    ("keyloom-keys", &[]),
    ("keyloom-core", &[]),
    ("keyloom-store", &[]),
    ("keyloom-api", &["keyloom-core"]),
    ("keyloom-engine", &["keyloom-api", "keyloom-core", "keyloom-store"]),
    ("keyloom-design", &["keyloom-keys", "keyloom-core"]),
    ("keyloom-observe", &["keyloom-core", "keyloom-design"]),
    ("keyloom-derive", &["keyloom-keys", "keyloom-design"]),
    ("keyloom-simulate", &["keyloom-keys", "keyloom-core", "keyloom-design"]),
    (
        "keyloom",
        &[
            "keyloom-api",
            "keyloom-core",
            "keyloom-engine",
            "keyloom-keys",
            "keyloom-design",
            "keyloom-observe",
            "keyloom-derive",
        ],
    ),
    (
        "keyloom-server",
        &["keyloom-api", "keyloom-core", "keyloom-engine", "keyloom-observe", "keyloom-design"],
    ),
    (
        "keyloom-cli",
        &[
            "keyloom",
            "keyloom-api",
            "keyloom-core",
            "keyloom-design",
            "keyloom-engine",
            "keyloom-keys",
            "keyloom-observe",
            "keyloom-server",
            "keyloom-simulate",
            "keyloom-store",
        ],
    ),
];

/// What a crate may use in its tests besides: the typed client is tested against a real endpoint, plans are
/// run on a real engine, and the simulator against the partitions that the server throttles by.
const TEST_ARROWS: [(&str, &str); 6] = [
    ("keyloom", "keyloom-server"),
    ("keyloom-design", "keyloom"),
    ("keyloom-design", "keyloom-engine"),
    ("keyloom-simulate", "keyloom-api"),
    ("keyloom-simulate", "keyloom-engine"),
    ("keyloom-simulate", "keyloom-observe"),
];

/// Not published, so they may use anything.
const EXEMPT: [&str; 3] = ["keyloom-testkit", "keyloom-bench", "notes"];

/// What all manifests say, as cargo reads them.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Why the dependency may not be, if so.
fn violation(from: &str, to: &str, for_tests: bool) -> Option<String> {
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == from) else {
        return Some(format!("{from} is not in the table of crates; decide what it may use"));
    };
    let in_tests = to == "keyloom-testkit" || TEST_ARROWS.contains(&(from, to));
    (!(allowed.contains(&to) || for_tests && in_tests))
        .then(|| format!("{from} may not use {to}; it may use {allowed:?}"))
}

#[test]
fn crates_use_only_what_they_may() {
    let packages = packages();
    let name_of = |package: &Value| package["name"].as_str().unwrap().to_owned();
    let names: Vec<String> = packages.iter().map(name_of).collect();
    assert!(names.contains(&"keyloom-engine".to_owned()), "{names:?}");
    let mut violations = Vec::new();
    for package in &packages {
        let from = name_of(package);
        if EXEMPT.contains(&from.as_str()) {
            assert_eq!(package["publish"], serde_json::json!([]), "{from} must not be published");
            continue;
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = name_of(dependency);
            // A crate may name itself, to have its own features in its tests.
            if names.contains(&to) && to != from {
                violations.extend(violation(&from, &to, dependency["kind"] == "dev"));
            }
        }
        if !ARROWS.iter().any(|(known, _)| *known == from) {
            violations.push(format!("{from} is not in the table of crates"));
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn a_new_arrow_is_noticed() {
    assert!(violation("keyloom-api", "keyloom-engine", false).is_some());
    assert_eq!(violation("keyloom-engine", "keyloom-store", false), None);
    assert!(violation("keyloom-core", "keyloom-store", false).is_some());
    assert!(violation("keyloom-core", "keyloom-store", true).is_some());
    assert!(violation("keyloom-core", "keyloom-testkit", false).is_some());
    assert_eq!(violation("keyloom-core", "keyloom-testkit", true), None);
    assert!(violation("keyloom", "keyloom-server", false).is_some());
    assert_eq!(violation("keyloom", "keyloom-server", true), None);
    assert!(violation("keyloom-new", "keyloom-core", false).is_some());
}

/// The crates that a program compiles which uses `keyloom` with these features.
fn crates_of(features: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "keyloom", "--no-default-features", "--features", features])
        .args(["--edges", "normal,build", "--prefix", "none", "--no-dedupe", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn the_remote_client_does_not_compile_the_engine() {
    let crates = crates_of("remote");
    let has = |name: &str| crates.contains(name);
    assert!(has("keyloom-api") && has("ureq"), "{crates:?}");
    assert!(!has("keyloom-engine") && !has("keyloom-store") && !has("lsm-tree"), "{crates:?}");
}

/// Every crate is built by every user. A new one is worth a line of thought, and then of this table.
#[test]
fn a_program_compiles_few_crates() {
    for (features, most) in [("embedded", 42), ("disk", 67), ("remote", 63)] {
        let crates = crates_of(features);
        assert!(
            crates.len() <= most,
            "{features}: {} crates, {most} so far: {crates:?}",
            crates.len()
        );
    }
}

/// The files that stand beside a folder of their name.
fn split_modules(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            split_modules(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && path.with_extension("").is_dir()
        {
            found.push(path);
        }
    }
}

#[test]
fn a_module_with_parts_is_a_folder_with_a_mod_file() {
    let mut found = Vec::new();
    split_modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut found);
    assert!(found.is_empty(), "move these to `mod.rs` or `main.rs` in their folders: {found:?}");
}

/// The paths in backticks in a part of `ARCHITECTURE.md`, as paths from the root of the repository. A short one belongs
/// to the crate of the last whole one before it.
fn named_paths(text: &str) -> Vec<Result<PathBuf, String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let crates = root.join("crates");
    let mut sources: Option<PathBuf> = None;
    let mut paths = Vec::new();
    for name in text.split('`').skip(1).step_by(2) {
        let is_path = name.contains('/') || Path::new(name).extension().is_some_and(|e| e == "rs");
        if !is_path || name.contains([' ', ':', '<', '{']) {
            continue;
        }
        if let Some((owner, _)) = name.split_once("/src/") {
            sources = Some(crates.join(owner).join("src"));
        }
        let whole = [root.join(name), crates.join(name)].into_iter().find(|path| path.exists());
        let inside = || below(sources.as_ref()?, Path::new(name));
        paths.push(whole.or_else(inside).ok_or_else(|| name.to_owned()));
    }
    paths
}

/// The path below a folder that ends in this one.
fn below(folder: &Path, end: &Path) -> Option<PathBuf> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with(end) {
            return Some(path);
        }
        folders.extend(path.is_dir().then_some(path));
    }
    folders.iter().find_map(|folder| below(folder, end))
}

fn architecture() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_files_that_the_architecture_names_exist() {
    let paths = named_paths(&architecture());
    assert!(paths.len() > 80, "{} paths", paths.len());
    let missing: Vec<&String> = paths.iter().filter_map(|path| path.as_ref().err()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:?}");
    assert_eq!(named_paths("`core/src/nowhere.rs`"), [Err("core/src/nowhere.rs".to_owned())]);
}

/// Who wants to find their way reads it whole.
#[test]
fn the_architecture_is_short() {
    let words = architecture().split_whitespace().count();
    assert!(words < 1500, "ARCHITECTURE.md has {words} words");
}

#[test]
fn a_walk_visits_no_file_twice() {
    let text = architecture();
    let walks = text.split("\n### ").skip(1).map(|walk| walk.split("\n## ").next().unwrap());
    let mut count = 0;
    for walk in walks.filter(|walk| !walk.starts_with("Others")) {
        let files = named_paths(walk).into_iter().flatten().filter(|path| path.is_file());
        let mut files: Vec<PathBuf> = files.collect();
        let all = files.len();
        files.sort();
        files.dedup();
        assert_eq!(files.len(), all, "a file stands twice in the walk {walk}");
        count += 1;
    }
    assert_eq!(count, 4, "GetItem, PutItem, Query and `keyloom check`");
}

/// The docs of one line and at most two words below a folder, with their places. Names in backticks and ids of rules say
/// enough, and so do the docs of an enum's variants.
fn terse_docs(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            terse_docs(&path, found);
        }
        let Some(text) = path.is_file().then(|| fs::read_to_string(&path).ok()).flatten() else {
            continue;
        };
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            let is_doc = |at: usize| lines.get(at).is_some_and(|line| line.starts_with("///"));
            let Some(doc) = line.strip_prefix("/// ").filter(|_| !is_doc(at + 1)) else { continue };
            let is_alone = at.checked_sub(1).is_none_or(|before| !is_doc(before));
            let is_name = doc.starts_with('`') || doc.len() == 3;
            let item = lines[at + 1..].iter().find(|line| !line.starts_with("#["));
            let is_variant = item.is_some_and(|item| item.starts_with(char::is_uppercase));
            if is_alone && doc.split_whitespace().count() <= 2 && !is_name && !is_variant {
                found.push(format!("{}:{}: {doc}", path.display(), at + 1));
            }
        }
    }
}

/// The doc comments of commands are exempt: they are the text of `--help`.
#[test]
fn a_doc_comment_says_more_than_two_words() {
    let mut found = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap() {
        terse_docs(&entry.unwrap().path().join("src"), &mut found);
    }
    found.retain(|doc| !doc.contains("cli/src/commands/"));
    assert!(found.is_empty(), "say what these are, or remove the comments:\n{}", found.join("\n"));
}

/// The sources of a crate's library, of one of its tests, or of both.
fn searched_by(words: &[&str]) -> String {
    let after = |option: &str| {
        let at = words.iter().position(|word| *word == option)?;
        words.get(at + 1).copied()
    };
    let name = after("-p").unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(name.strip_prefix("keyloom-").unwrap_or(name));
    let mut text = String::new();
    let test = after("--test").map(|test| folder.join("tests").join(test));
    let places = match &test {
        Some(test) => vec![test.clone(), test.with_extension("rs")],
        None if words.contains(&"--lib") => vec![folder.join("src")],
        None => vec![folder.join("src"), folder.join("tests")],
    };
    for place in &places {
        add_sources(place, &mut text);
    }
    text
}

fn add_sources(place: &Path, text: &mut String) {
    if place.is_file() {
        text.push_str(&fs::read_to_string(place).unwrap());
    } else if place.is_dir() {
        for entry in fs::read_dir(place).unwrap() {
            add_sources(&entry.unwrap().path(), text);
        }
    }
}

/// A test that has got another name would leave its long run empty; the script notices that too late.
#[test]
fn the_long_runs_name_tests_that_exist() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/long");
    let script = fs::read_to_string(script)
        .unwrap()
        .replace("\\\n", " ")
        .replace("long-engine-test ", "run_tests -p keyloom-testkit --test engine ");
    let mut runs = 0;
    for command in script.lines().filter_map(|line| line.split_once("run_tests -p ")) {
        let arguments = format!("-p {}", command.1.replace(';', " "));
        let words: Vec<&str> =
            arguments.split_whitespace().take_while(|word| *word != "--").collect();
        let text = searched_by(&words);
        assert!(!text.is_empty(), "{arguments}: there is no such test");
        runs += 1;
        let is_option = |at: usize| words[at].starts_with('-') || words[at] == "}";
        let takes_value = |at: usize| ["-p", "--test", "--features"].contains(&words[at]);
        let filters = (1..words.len()).filter(|at| !is_option(*at) && !takes_value(at - 1));
        for filter in filters.map(|at| words[at]).filter(|filter| !filter.starts_with('"')) {
            let is_named = text.lines().any(|line| {
                let line = line.trim_start();
                let is_item = line.contains("fn ") || line.contains("mod ");
                is_item && line.split('(').next().is_some_and(|head| head.contains(filter))
            });
            assert!(is_named, "{arguments}: no test is named {filter}");
        }
    }
    assert!(runs > 25, "{runs}");
}
