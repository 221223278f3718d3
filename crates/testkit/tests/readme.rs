//! What the README shows is what is built and run.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// The blocks of this language in a Markdown text.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    let after = text.split(open.as_str()).skip(1);
    after.map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// Pages with Rust, and the programs whose lines they show.
const PROGRAMS: [(&str, &str); 2] = [
    ("README.md", "examples/notes/src/main.rs"),
    ("docs/guide/testing.md", "crates/keyloom/examples/testing.rs"),
];

#[test]
fn the_rust_that_is_shown_is_a_program() {
    for (page, program) in PROGRAMS {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let source = std::fs::read_to_string(root().join(program)).unwrap();
        let blocks = blocks(&text, "rust");
        assert!(!blocks.is_empty(), "{page} shows no Rust");
        let mut lines = source.lines().map(str::trim);
        for shown in blocks.iter().flat_map(|block| block.lines()).map(str::trim) {
            assert!(
                shown.is_empty() || lines.any(|line| line == shown),
                "{page} shows {shown:?}, which {program} does not have, or not in this order"
            );
        }
    }
}

/// No page of the guide shows Rust that is not run.
#[test]
fn every_page_with_rust_names_its_program() {
    for entry in std::fs::read_dir(root().join("docs/guide")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let shows = !blocks(&std::fs::read_to_string(&path).unwrap(), "rust").is_empty();
        let known = PROGRAMS.iter().any(|(page, _)| root().join(page) == path);
        assert!(!shows || known, "{} shows Rust that no test runs", path.display());
    }
}

/// A program with nothing but `keyloom` in its manifest can use the derives.
#[test]
fn the_example_depends_on_keyloom_alone() {
    let manifest = std::fs::read_to_string(root().join("examples/notes/Cargo.toml")).unwrap();
    let after = manifest.split("[dependencies]\n").nth(1).unwrap();
    let dependencies: Vec<&str> = after.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(dependencies, ["keyloom.workspace = true"]);
}
