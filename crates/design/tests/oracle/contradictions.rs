//! The contradictions in `tests/contradictions/`: a design in TOML; a pattern, inputs and rows in JSON. Each was found
//! once, and must hold now.

use std::fs;
use std::path::{Path, PathBuf};

use keyloom_design::Design;

use crate::case::Case;
use crate::spec::Spec;
use crate::trial::Outcome;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contradictions")
}

/// A case; none if its design is refused by now, which contradicts nothing.
fn read(path: &Path) -> Option<(Design, Case)> {
    let text = fs::read_to_string(path).unwrap();
    let (design, problems) = Design::parse("case.toml", &text);
    let Some(design) = design else {
        assert!(!problems.is_empty(), "{}: refused without a reason", path.display());
        return None;
    };
    let json = fs::read_to_string(path.with_extension("json")).unwrap();
    let case = Case::from_json(&serde_json::from_str(&json).unwrap(), &design);
    Some((design, case))
}

#[test]
fn contradictions_of_the_past_hold() {
    let mut wrong = Vec::new();
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let Some((design, case)) = read(path) else { continue };
        let outcome = case.outcome(&design);
        match outcome.unwrap_or_else(|| panic!("{name}: the case has no sense")) {
            Outcome::Broken(broken) => wrong.push(format!("{name}: {broken:?}")),
            Outcome::Kept(_) | Outcome::Unclaimed | Outcome::NotTaken(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Writes a contradiction into the folder that `KEYLOOM_CASES` names.
pub(crate) fn write_down(seed: u64, spec: &Spec, case: &Case) {
    let Ok(folder) = std::env::var("KEYLOOM_CASES") else { return };
    let path = Path::new(&folder).join(format!("seed-{seed}.toml"));
    fs::write(&path, spec.text()).unwrap();
    let json = serde_json::to_string_pretty(&case.to_json()).unwrap();
    fs::write(path.with_extension("json"), json + "\n").unwrap();
}
