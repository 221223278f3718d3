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

/// The Rust of the README is the program `examples/notes`, line by line.
#[test]
fn the_rust_example_is_a_program() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let program = std::fs::read_to_string(root().join("examples/notes/src/main.rs")).unwrap();
    let blocks = blocks(&readme, "rust");
    assert!(blocks.len() >= 2, "the README shows a design and its use");
    let mut lines = program.lines().map(str::trim);
    for shown in blocks.iter().flat_map(|block| block.lines()).map(str::trim) {
        assert!(
            shown.is_empty() || lines.any(|line| line == shown),
            "README.md shows {shown:?}, which examples/notes does not have, or not in this order"
        );
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
