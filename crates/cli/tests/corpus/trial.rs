//! `keyloom try` on the corpus: plans and engine agree.

use std::fmt::Write as _;

use super::{all_right, as_written, corrected, golden, json, keyloom, text};

/// Few enough to be fast; `KEYLOOM_ITEMS=10000` is the long form.
fn items() -> String {
    std::env::var("KEYLOOM_ITEMS").unwrap_or_else(|_| "300".to_owned())
}

fn tried(files: &[String]) -> serde_json::Value {
    let mut arguments: Vec<String> =
        ["try", "--format", "json", "--calls", "10", "--items"].map(str::to_owned).into();
    arguments.push(items());
    arguments.extend_from_slice(files);
    json(&keyloom(&arguments))
}

fn every_pattern_is_equal(files: &[String]) {
    let mut wrong = Vec::new();
    for document in tried(files).as_array().unwrap() {
        for pattern in document["patterns"].as_array().unwrap() {
            if pattern["result"] != "equal" {
                wrong.push(format!("{}: {}", document["file"], pattern));
            }
        }
    }
    all_right(wrong);
}

// Two tests, so that two cores share the work.
#[test]
fn corrected_designs_answer_like_brute_force_at_the_predicted_price() {
    let files = corrected();
    every_pattern_is_equal(&files[..files.len() / 2]);
}

#[test]
fn more_corrected_designs_answer_like_brute_force_at_the_predicted_price() {
    let files = corrected();
    every_pattern_is_equal(&files[files.len() / 2..]);
}

/// Designs that cannot be understood at all have nothing to try.
fn usable() -> Vec<String> {
    let broken =
        ["ambiguous-key", "array-keys", "boolean-key", "document-grants", "inverted-index"];
    as_written()
        .into_iter()
        .filter(|name| !broken.contains(&name.trim_end_matches(".as-written.toml")))
        .collect()
}

#[test]
fn what_the_planner_refutes_the_engine_shows() {
    let mut shown = String::new();
    let mut wrong = Vec::new();
    for document in tried(&usable()).as_array().unwrap() {
        let _ = writeln!(shown, "{}", document["file"].as_str().unwrap());
        for pattern in document["patterns"].as_array().unwrap() {
            // What is refuted has a counter-example, and the engine shows it.
            let unshown = pattern["result"] == "refuted" && !pattern["counter_example"].is_object();
            let broken = pattern["result"] == "broken";
            if broken || unshown || pattern["counter_example"]["shown"] == false {
                wrong.push(format!("{}: {pattern}", document["file"]));
            }
            if pattern["result"] == "equal" {
                continue;
            }
            let _ = writeln!(
                shown,
                "  {} {}",
                pattern["result"].as_str().unwrap(),
                pattern["name"].as_str().unwrap()
            );
            if let (Some(why), "refused") =
                (pattern["why"].as_str(), pattern["result"].as_str().unwrap())
            {
                let _ = writeln!(shown, "    the engine says: {why}");
            }
            let example = &pattern["counter_example"];
            if example.is_object() {
                let _ = writeln!(shown, "    returns       {}", example["returns"]);
                let _ = writeln!(shown, "    should return {}", example["should_return"]);
            }
        }
    }
    wrong.extend(golden("try.txt", &shown).err());
    all_right(wrong);
}

#[test]
fn a_design_that_cannot_be_understood_is_refused_with_its_mistakes() {
    let output = keyloom(&["try", "boolean-key.as-written.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = text(&output.stderr);
    assert!(complaint.contains("is not a design that can be used"), "{complaint}");
    assert!(complaint.contains("cannot be the S key attribute"), "{complaint}");
}

/// A design in a file of its own, tried.
fn tried_text(design: &str) -> (serde_json::Value, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("design.toml");
    std::fs::write(&path, design).unwrap();
    let output = keyloom(&["try", "--format", "json", "--items", "200", path.to_str().unwrap()]);
    (json(&output).get(0).cloned().unwrap(), output.status.code())
}

/// `check` refuses it, the engine refuses it: that is agreement. What no row shows is no evidence, and no fault.
#[test]
fn a_refusal_that_the_engine_confirms_is_right_and_no_rows_show_nothing() {
    let (tried, code) = tried_text(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.GSI1]
partition_key = "G1"
[entity.User]
PK = "USER#{id}"
SK = "PROFILE"
G1 = "MAIL#{mail}"
[entity.User.fields]
id = "ulid"
mail = "token"
state = { type = "string", values = ["on", "off"] }
[access."by mail, strongly"]
find = "User"
where = "mail = ?"
consistent = true
[access."nobody"]
find = "User"
where = "id = '01ARZ3NDEKTSV4RRFFQ69G5FAV'"
[access."several"]
find = "User"
where = "id in (?, ?, ?)"
"#,
    );
    assert_eq!(code, Some(0), "{tried}");
    let result = |at: usize| tried["patterns"][at]["result"].as_str().unwrap().to_owned();
    assert_eq!(result(0), "refused", "{tried}");
    assert!(tried["patterns"][0]["why"].as_str().unwrap().contains("Consistent"), "{tried}");
    assert_eq!(result(1), "empty");
    assert_eq!(result(2), "equal", "{tried}");
    assert_eq!(tried["patterns"][2]["verdict"], "batch");
    assert_eq!((tried["equal"].as_u64(), tried["unseen"].as_u64()), (Some(1), Some(1)));
}

/// A design whose hand-written request reads an index that does not hold what is asked for.
const UNCOVERED: &str = r#"
[table.app]
partition_key = "PK"
[table.app.index.GSI1]
partition_key = "G1"
projection = "keys"
[entity.User]
PK = "USER#{id}"
G1 = "MAIL#{mail}"
[entity.User.fields]
id = "ulid"
mail = "token"
name = "string"
[access."by mail"]
find = "User"
where = "mail = ?"
index = "GSI1"
key = 'G1 = "MAIL#{mail}"'
"#;

#[test]
fn attributes_that_do_not_come_back_are_seen() {
    let (tried, code) = tried_text(UNCOVERED);
    let pattern = &tried["patterns"][0];
    assert_eq!(pattern["result"], "refuted", "{tried}");
    assert!(pattern["why"].as_str().unwrap().contains("wrong answer"), "{tried}");
    assert_eq!(code, Some(0), "the engine shows what the planner says: {tried}");
}

#[test]
fn a_trial_of_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("design.toml");
    let refusal = |design: &str, arguments: &[&str]| {
        std::fs::write(&path, design).unwrap();
        let mut all = vec!["try", path.to_str().unwrap()];
        all.extend_from_slice(arguments);
        let output = keyloom(&all);
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        text(&output.stderr)
    };
    assert!(refusal("", &[]).contains("has nothing to try; it states no table"));
    let table = "[table.app]\npartition_key = \"PK\"\n";
    assert!(refusal(table, &[]).contains("it states no entity"));
    let entity = format!("{table}[entity.User]\nPK = \"USER#{{id:ulid}}\"\n");
    assert!(refusal(&entity, &[]).contains("it states no access pattern"));
    for none in ["--calls", "--items"] {
        let refusal = refusal(UNCOVERED, &[none, "0"]);
        assert!(refusal.contains("nothing would be tried; give 1 or more"), "{refusal}");
    }
}
