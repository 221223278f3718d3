//! Public functions that nothing calls: the compiler does not report them, and a rule that is written and tested but
//! never applied looks like coverage.
//!
//! The search is textual: a function counts as used if its name stands anywhere in the workspace's sources outside
//! tests, besides its own definition. So it finds fewer than there are, and what it finds is worth a look.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates whose public functions are there for other people's programs.
const LIBRARIES: [&str; 2] = ["keys", "keyloom"];

/// Public functions of inner crates that only users, tests or benchmarks call, and why they stay.
const ALLOWED: [(&str, &str); 11] = [
    ("as_b", "reads values in programs"),
    ("as_value", "properties of PartiQL compare operands"),
    ("ask_cloudwatch", "the fuzz target of that name"),
    ("background_failures", "embedded programs watch their database"),
    ("into_results", "embedded programs read the nearest items"),
    ("is_intact", "users of a store verify it"),
    ("ordered_by", "programs build designs"),
    ("set_ms", "tests move the clock"),
    ("sign_get", "programs read signed metrics"),
    ("split_stream_shards", "tests of stream consumers need closed shards"),
    ("store_stats", "embedded programs watch their store"),
];

/// All source files below a folder but those of modules that are declared under `#[cfg(test)]`.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let texts = paths.iter().filter_map(|path| fs::read_to_string(path).ok());
    let test_modules: Vec<String> = texts.flat_map(|text| test_modules(&text)).collect();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if test_modules.contains(&name) {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The names of the modules that a file declares for tests, and that have files of their own.
fn test_modules(text: &str) -> Vec<String> {
    let declared = text.split("#[cfg(test)]\n").skip(1).filter_map(|after| {
        let (module, _) = after.split_once('\n')?;
        let module = module.trim().strip_suffix(';')?;
        Some(module.rsplit_once("mod ")?.1.to_owned())
    });
    declared.collect()
}

/// The text of a file without its inline test module and its comments.
fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let tests = text.match_indices("#[cfg(test)]\nmod ").find(|(at, _)| {
        let line = text.get(*at..).and_then(|rest| rest.lines().nth(1));
        line.is_some_and(|line| line.ends_with('{'))
    });
    let code = text.get(..tests.map_or(text.len(), |(at, _)| at)).unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.split(move |c: char| !is_part(c)).filter(|word| !word.is_empty())
}

#[test]
fn every_public_function_of_an_inner_crate_is_called_somewhere() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    let mut defined: Vec<(String, String)> = Vec::new();
    for folder in fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        for file in files {
            let code = code_of(&file);
            for word in words(&code) {
                *uses.entry(word.to_owned()).or_default() += 1;
            }
            if LIBRARIES.contains(&name.as_str()) || name == "testkit" {
                continue;
            }
            let parts: Vec<&str> = code.split("fn ").collect();
            for pair in parts.windows(2) {
                let [before, after] = pair else { continue };
                let line = before.rsplit('\n').next().unwrap_or_default().trim();
                if line.starts_with("pub") {
                    let function = words(after).next().unwrap_or_default().to_owned();
                    defined.push((function, file.display().to_string()));
                }
            }
        }
    }
    let is_allowed = |function: &str| ALLOWED.iter().any(|(allowed, _)| *allowed == function);
    let unused: Vec<String> = defined
        .iter()
        .filter(|(function, _)| uses.get(function) == Some(&1) && !is_allowed(function))
        .map(|(function, file)| format!("{function} in {file}"))
        .collect();
    assert!(
        defined.len() > 500 && unused.is_empty(),
        "public functions that nothing calls; use them, remove them, or list them with a reason:\n{}",
        unused.join("\n")
    );
    for (allowed, reason) in ALLOWED {
        let is_unused = uses.get(allowed) == Some(&1);
        assert!(is_unused, "{allowed} is used now, so it need not be listed ({reason})");
    }
}
