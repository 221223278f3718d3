//! The oracle knows of the rest of the crate what a design says, and no way to turn it into keys and requests.

use std::fs;
use std::path::Path;

/// What it may use: the model, the types of values, rows, and a way to look them up.
const ALLOWED: &[&str] = &[
    "use crate::evaluate::Row;",
    "use crate::evaluate::{Places, hash_of};",
    "use crate::key::{FieldPiece, Piece};",
    "use crate::model::",
];

/// What the planner finds keys and links by, and the writer attributes: the oracle has its own of each.
const FOREIGN: &[&str] = &[
    "reached_from",
    "is_told_by",
    "index_key",
    "primary_key",
    "key_attribute",
    "index_values",
    "identity()",
    "comparison_class",
    "leading_to",
    "attribute_of",
    "element_of",
    "crate::generate",
    "crate::plan",
];

#[test]
fn the_oracle_shares_no_code_with_the_planner() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/oracle");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let lines = code.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        for line in lines {
            let is_allowed = ALLOWED.iter().any(|allowed| line.starts_with(allowed));
            let is_foreign = FOREIGN.iter().any(|name| line.contains(name));
            if line.contains("crate::") && !is_allowed || is_foreign {
                found.push(format!("{}: {line}", path.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
