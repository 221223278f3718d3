//! The contradictions in `tests/contradictions/`: a design in TOML; a pattern, inputs and rows in JSON.
//!
//! A case that is on the list of known ones must still fail, in the way the list says; any other must hold.

use std::fs;
use std::path::{Path, PathBuf};

use keyloom_design::Design;

use crate::bed::Found;
use crate::case::Case;
use crate::known::{KNOWN, Known};
use crate::shrink::shrink;
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
fn contradictions_are_put_right_or_on_the_list() {
    let mut names = Vec::new();
    let mut wrong = Vec::new();
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        names.push(name.to_owned());
        let (outcome, known) = match read(path) {
            None => (Outcome::Unclaimed, None),
            Some((design, case)) => {
                case.outcome(&design).unwrap_or_else(|| panic!("{name}: the case has no sense"))
            }
        };
        let listed = KNOWN.iter().any(|known| known.name == name);
        match (outcome, listed) {
            (Outcome::Broken(broken), false) => wrong.push(format!("{name}: {broken:?}")),
            (Outcome::Broken(broken), true) if known.is_none_or(|known| known.name != name) => {
                wrong.push(format!("{name} breaks in another way than the list says: {broken:?}"));
            }
            (Outcome::Broken(_), true) | (_, false) => {}
            (_, true) => wrong.push(format!("{name} holds now: take it off the list")),
        }
    }
    for known in KNOWN.iter().filter(|known| !names.contains(&known.name.to_owned())) {
        wrong.push(format!("{} has no case: {}", known.name, known.why));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Writes the first instance of a known contradiction into the folder that `KEYLOOM_CASES` names.
pub(crate) fn write_down(found: &Found, known: &Known, count: usize) {
    let Ok(folder) = std::env::var("KEYLOOM_CASES") else { return };
    let path = Path::new(&folder).join(format!("{}.toml", known.name));
    if count > 1 || path.exists() {
        return;
    }
    let (spec, case) = shrink(found);
    fs::write(&path, format!("# {}.\n\n{}", known.why, spec.text())).unwrap();
    let json = serde_json::to_string_pretty(&case.to_json()).unwrap();
    fs::write(path.with_extension("json"), json + "\n").unwrap();
}
