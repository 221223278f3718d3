//! `docs/design-language.md`: its designs are checked and its reports are those of `check`; it has every key that the
//! reader and the schema know, every type, verdict, proof and rule.

use std::collections::BTreeSet;

use keyloom_design::lint::rule;
use keyloom_design::plan::Verdict;
use keyloom_design::{Code, SCHEMA, report};
use keyloom_keys::{FieldFormat, Template, Value};
use serde_json::Value as Json;

use super::{blocks, check, docs, read, shown};

fn page() -> String {
    read(&docs().join("design-language.md"))
}

/// A line with single spaces: how wide columns are depends on the other patterns.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A `toml` block is a design, `toml add` is added to the one before, and a `text` block has lines of the report.
#[test]
fn the_designs_are_valid_and_their_reports_are_what_check_prints() {
    let mut design = String::new();
    let mut compared = 0;
    for block in blocks(&page()) {
        match block.kind.as_str() {
            "toml" => design = block.text,
            "toml add" => design = format!("{design}\n{}", block.text),
            "text" => {
                let report = report::human(&check(&design));
                let lines: BTreeSet<String> = report.lines().map(squeezed).collect();
                for line in block.text.lines() {
                    let known = lines.contains(&squeezed(line));
                    assert!(known, "under {:?}, {line:?} is not in\n{report}", block.heading);
                    compared += 1;
                }
                continue;
            }
            "text grammar" => continue,
            other => panic!("under {:?} is a block of the kind {other:?}", block.heading),
        }
        let report = check(&design);
        let broken = !report.is_whole || report.findings.iter().any(|f| f.rule == "D07");
        assert!(!broken, "under {:?}:\n{}", block.heading, shown(&report));
    }
    assert!(compared > 20, "only {compared} lines were compared");
}

/// The cells of the tables with this header, row by row.
fn rows(header: &str) -> Vec<Vec<String>> {
    let page = page();
    let mut rows = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line == header {
            inside = true;
        } else if !line.starts_with('|') {
            inside = false;
        } else if inside && !line.starts_with("|---") {
            let line = line.replace("\\|", "\u{1}");
            let cells = line.trim_matches('|').split('|');
            rows.push(cells.map(|cell| cell.trim().replace('\u{1}', "|")).collect());
        }
    }
    assert!(!rows.is_empty(), "no table has the header {header}");
    rows
}

/// The texts in backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_type_is_written_into_keys_as_the_page_says() {
    let mut known = BTreeSet::new();
    for row in rows("| type | value | in a key | width | order |") {
        let [name, value, key, width, order] = row.as_slice() else { panic!("{row:?}") };
        let (name, value, key) = (quoted(name)[0], quoted(value)[0], quoted(key)[0]);
        let format = FieldFormat::parse(name).unwrap();
        let value = Value::parse_for(&format, value).unwrap_or_else(|e| panic!("{name}: {e}"));
        let template = Template::parse(&format!("{{x:{name}}}")).unwrap();
        assert_eq!(template.build(&[("x", value)]).unwrap(), key, "{name}");
        let lengths = template.lengths();
        let fixed = lengths.max.filter(|most| *most == lengths.min);
        let shown = fixed.map_or_else(|| "varies".to_owned(), |bytes| bytes.to_string());
        assert_eq!(*width, shown, "{name}");
        assert_eq!(order.starts_with("not by value"), format.is_plain(), "{name}");
        known.insert(name.split(':').next().unwrap().to_owned());
    }
    for row in rows("| type | stored as | in a key |") {
        known.extend(quoted(&row[0]).into_iter().map(str::to_owned));
    }
    // The reader lists its types when it meets one that it does not know.
    let words = FieldFormat::parse("zebra").unwrap_err().to_string();
    let (_, list) = words.split_once("the types are ").unwrap();
    let mut types: BTreeSet<String> = list.split(", ").map(str::to_owned).collect();
    let schema: Json = serde_json::from_str(SCHEMA).unwrap();
    let field = "/properties/entity/additionalProperties/properties/fields/additionalProperties/oneOf/0/description";
    let described = schema.pointer(field).unwrap().as_str().unwrap();
    let (list, _) = described.split_once(';').unwrap();
    types.extend(
        list.split(", ")
            .filter(|name| *name != "fixed:27" && *name != "datetime:ms")
            .map(str::to_owned),
    );
    assert_eq!(known, types);
}

/// What the reader asks a section for: the texts behind its calls, in its source.
fn asked(source: &str) -> BTreeSet<String> {
    let calls = [
        ".text(",
        ".texts(",
        ".required_text(",
        ".number(",
        ".integer(",
        ".boolean(",
        ".value(",
        ".section(",
        ".named_sections(",
        ".list_of_sections(",
        "&mut section,",
        "&mut parts,",
    ];
    let mut names = BTreeSet::new();
    for call in calls {
        for (at, _) in source.match_indices(call) {
            let rest = source[at + call.len()..].trim_start();
            let Some(rest) = rest.strip_prefix('"') else { continue };
            names.insert(rest.split('"').next().unwrap().to_owned());
        }
    }
    names
}

#[test]
fn every_key_that_the_reader_knows_is_on_the_page_and_in_the_schema() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/syntax");
    let mut known = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let source = read(&entry.unwrap().path());
        known.extend(asked(source.split("#[cfg(test)]").next().unwrap()));
    }
    assert!(known.len() > 60, "the reader's calls were not found: {known:?}");
    let on_page: BTreeSet<String> = rows("| key | value | meaning |")
        .iter()
        .flat_map(|row| quoted(&row[0]).into_iter().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let mut in_schema = BTreeSet::new();
    properties(&serde_json::from_str(SCHEMA).unwrap(), &mut in_schema);
    let sections =
        ["design", "table", "entity", "access", "write", "unique", "relationship", "allow"];
    for name in &known {
        assert!(in_schema.contains(name), "`{name}` is not in schema.json");
        let section = sections.contains(&name.as_str()) && page().contains(&format!("[{name}"));
        let rate = name == "average" || name == "peak";
        let shown = on_page.contains(name) || section || (rate && page().contains(name));
        assert!(shown, "`{name}` has no row on the page");
    }
    for name in &in_schema {
        assert!(known.contains(name), "schema.json has `{name}`, which the reader does not know");
    }
    for name in &on_page {
        assert!(known.contains(name), "the page has `{name}`, which the reader does not know");
    }
}

/// The names of all properties; each says what it is.
fn properties(schema: &Json, names: &mut BTreeSet<String>) {
    match schema {
        Json::Object(map) => {
            if let Some(Json::Object(own)) = map.get("properties") {
                for (name, value) in own {
                    let words = value["description"].as_str().unwrap_or_default();
                    assert!(!words.is_empty(), "`{name}` has no description in schema.json");
                    names.insert(name.clone());
                }
            }
            map.values().for_each(|value| properties(value, names));
        }
        Json::Array(list) => list.iter().for_each(|value| properties(value, names)),
        _ => {}
    }
}

#[test]
fn every_verdict_and_proof_is_explained_with_an_example() {
    let page = page();
    for verdict in [
        Verdict::Get,
        Verdict::Batch,
        Verdict::Query,
        Verdict::FanOut,
        Verdict::TwoStep,
        Verdict::Filter,
        Verdict::Refused,
    ] {
        let word = verdict.as_str();
        assert!(page.contains(&format!("\n**{word}**: ")), "{word} is not explained");
        let example = page.lines().any(|line| squeezed(line).starts_with(&format!("{word} ")));
        assert!(example, "{word} has no example");
    }
    let report = check(
        "[table.app]\npartition_key = \"PK\"\n[entity.E]\nPK = \"{a:ulid}\"\n[access.a]\nfind = \"E\"\nwhere = \"a = ?\"\n",
    );
    let proofs = report::json(&[report])["patterns"][0]["proofs"].clone();
    let explained: Vec<String> = rows("| proof | promises | asked by |")
        .iter()
        .map(|row| quoted(&row[0])[0].to_owned())
        .collect();
    let names: BTreeSet<&String> = proofs.as_object().unwrap().keys().collect();
    assert_eq!(explained.iter().collect::<BTreeSet<_>>(), names);
}

#[test]
fn rules_on_the_page_exist() {
    let page = page();
    let words = page.split(|c: char| !c.is_ascii_alphanumeric());
    let ids = words.filter(|word| {
        word.len() == 3
            && word.starts_with(|c: char| "KPIAEUTWD".contains(c))
            && word.chars().skip(1).all(|c| c.is_ascii_digit())
    });
    let mut count = 0;
    for id in ids {
        count += 1;
        let known = rule(id).is_some() || Code::ALL.iter().any(|code| code.as_str() == id);
        assert!(known, "there is no rule {id}");
    }
    assert!(count > 10);
}
