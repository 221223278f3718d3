//! The contradictions in `tests/contradictions/`: a design in TOML; a pattern, inputs, rows and what becomes of the call in
//! JSON. Each was found once, and must hold now. `KEYLOOM_BLESS=1` writes what becomes of each.

use std::fs;
use std::path::{Path, PathBuf};

use keyloom_design::Design;
use serde_json::Value as Json;

use crate::case::Case;
use crate::spec::Spec;
use crate::trial::Outcome;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contradictions")
}

/// What becomes of a case by now, in words, or what is wrong: the design may be refused, which contradicts nothing.
fn outcome(path: &Path, json: &Json) -> Result<String, String> {
    let text = fs::read_to_string(path).unwrap();
    let (design, problems) = Design::parse("case.toml", &text);
    let Some(design) = design else {
        return Ok(format!("the design is refused: {}", problems[0].message));
    };
    match Case::from_json(json, &design).outcome(&design) {
        None => Err("the case has no sense".to_owned()),
        Some(Outcome::Kept(rows)) => Ok(format!("what is claimed holds, with {rows} rows")),
        Some(Outcome::Unclaimed) => Ok("nothing is claimed".to_owned()),
        Some(Outcome::NotTaken(rows)) => Ok(format!("the inputs are not taken, for {rows} rows")),
        Some(Outcome::Broken(broken)) => Err(format!("{broken:?}")),
    }
}

#[test]
fn contradictions_of_the_past_hold() {
    let mut wrong = Vec::new();
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let case = path.with_extension("json");
        let mut json: Json = serde_json::from_str(&fs::read_to_string(&case).unwrap()).unwrap();
        let found = match outcome(path, &json) {
            Ok(found) => found,
            Err(why) => {
                wrong.push(format!("{name}: {why}"));
                continue;
            }
        };
        if std::env::var_os("KEYLOOM_BLESS").is_some() {
            json["outcome"] = found.into();
            fs::write(&case, serde_json::to_string_pretty(&json).unwrap() + "\n").unwrap();
        } else if json["outcome"] != found.as_str() {
            wrong.push(format!("{name}: {found}, which should be: {}", json["outcome"]));
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
