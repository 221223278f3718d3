//! The crates depend on each other as `ARCHITECTURE.md` says, and in no other way; modules have one style.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

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
const TEST_ARROWS: [(&str, &str); 4] = [
    ("keyloom", "keyloom-server"),
    ("keyloom-design", "keyloom"),
    ("keyloom-design", "keyloom-engine"),
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

/// The crates that a build of the client for endpoints alone compiles.
#[test]
fn the_remote_client_does_not_compile_the_engine() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "keyloom", "--no-default-features", "--features", "remote"])
        .args(["--edges", "normal", "--prefix", "none", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let has = |name: &str| tree.lines().any(|line| line.split(' ').next() == Some(name));
    assert!(has("keyloom-api") && has("ureq"), "{tree}");
    assert!(!has("keyloom-engine") && !has("keyloom-store") && !has("lsm-tree"), "{tree}");
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
