//! The console in a real browser (Chromium, driven by Playwright): every page and flow with the demo's design, errors,
//! hostile data, accessibility; and its files, which a rebuild must give again byte for byte. Pictures of every page are
//! left in `target/console`.
//!
//! `scripts/setup-clients` installs what it needs; with `KEYLOOM_REQUIRE_CLIENTS=1`, as in CI, a missing client fails the
//! tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Says that a test is skipped, or fails where clients are demanded.
fn skip(why: &str) {
    let demanded = std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_some();
    assert!(!demanded, "{why}, and KEYLOOM_REQUIRE_CLIENTS demands it");
    eprintln!("skipped: {why} (scripts/setup-clients installs it)");
}

fn has_node() -> bool {
    Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn pages_and_flows_work_in_a_browser() {
    let tests = workspace().join("tests/clients/console");
    if !has_node() || !tests.join("node_modules/playwright-core").exists() {
        return skip("Playwright is not installed");
    }
    if !Path::new("/usr/bin/chromium").exists() {
        return skip("Chromium is not installed");
    }
    let pictures = workspace().join("target/console");
    let output = Command::new("node")
        .arg(tests.join("run.mjs"))
        .arg(env!("CARGO_BIN_EXE_keyloom"))
        .arg(&pictures)
        .output()
        .expect("to run node");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("ok      page overview"), "nothing was tested:\n{said}");
}

#[test]
fn a_rebuild_gives_the_same_files() {
    let sources = workspace().join("crates/server/console");
    if !has_node() || !sources.join("node_modules/esbuild").exists() {
        return skip("esbuild is not installed");
    }
    let rebuilt = tempfile::tempdir().expect("a folder");
    let output = Command::new("node")
        .arg(sources.join("build.mjs"))
        .arg(rebuilt.path().join("dist"))
        .output()
        .expect("to run node");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (kept, made) = (files(&sources.join("dist")), files(&rebuilt.path().join("dist")));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&kept), names(&made), "run `npm run build` in crates/server/console");
    for (name, bytes) in &kept {
        assert!(
            made.get(name) == Some(bytes),
            "{name} differs: run `npm run build` in crates/server/console"
        );
    }
}

#[test]
fn the_page_has_no_inline_code_and_names_no_other_host() {
    let files = files(&workspace().join("crates/server/console/dist"));
    assert!(files.contains_key("assets/licences.txt"), "the licences of third parties");
    let index = String::from_utf8_lossy(files.get("index.html").expect("a page"));
    assert!(!index.contains("<script>") && !index.contains(" onload="), "inline code is forbidden");
    assert!(!index.contains("<style") && !index.contains(" style="), "inline styles are forbidden");
    assert!(!index.contains("://"), "the page names another host");
}

/// Every file below a folder, by its path.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    found
}
