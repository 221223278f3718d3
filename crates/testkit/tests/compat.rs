//! `docs/compat.md` and the table that it is made of, `crates/api/compat.toml`: every operation and every option of the
//! API, exact, approximate or refused.
//!
//! The table must have what the model has, no more and no less (`shapes` compares the model with AWS's own), and what it
//! does not refuse must be read somewhere.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use keyloom_api::Operation;
use keyloom_api::model::{Shape, Structure, input};
use toml::{Table, Value};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is said of an operation.
struct Entry {
    is: String,
    /// Members by path: the status, and the reason if it is not exact.
    members: BTreeMap<String, (&'static str, String)>,
}

fn entries() -> BTreeMap<String, Entry> {
    let text = fs::read_to_string(root().join("crates/api/compat.toml")).unwrap();
    let table: Table = text.parse().unwrap();
    let entry = |value: Value| {
        let Value::Table(table) = value else { panic!("{value:?} is not an operation") };
        let mut members = BTreeMap::new();
        for name in table["exact"].as_array().unwrap() {
            members.insert(name.as_str().unwrap().to_owned(), ("exact", String::new()));
        }
        for status in ["approximate", "refused"] {
            let Some(Value::Table(reasons)) = table.get(status) else { continue };
            for (path, reason) in reasons {
                let reason = reason.as_str().unwrap().to_owned();
                assert!(!reason.is_empty(), "{path} has no reason");
                let before = members.insert(path.clone(), (status, reason));
                assert!(before.is_none(), "{path} is listed twice");
            }
        }
        Entry { is: table["is"].as_str().unwrap().to_owned(), members }
    };
    table.into_iter().map(|(name, value)| (name, entry(value))).collect()
}

/// The structure inside a shape, if there is one.
fn structure(shape: Shape) -> Option<&'static Structure> {
    match shape.limit().0 {
        Shape::Struct(structure) => Some(structure),
        Shape::List(of) | Shape::Map(of) => structure(*of),
        _ => None,
    }
}

/// The member that a path leads to.
fn lookup(operation: Operation, path: &str) -> Option<Shape> {
    let mut found = None;
    let mut within = Some(input(operation));
    for name in path.split('.') {
        let shape = within?.member(name)?;
        (found, within) = (Some(shape), structure(shape));
    }
    found
}

#[test]
fn the_table_has_every_operation_and_every_member() {
    let entries = entries();
    let listed: BTreeSet<&str> = entries.keys().map(String::as_str).collect();
    let known: BTreeSet<&str> = Operation::ALL.iter().map(|operation| operation.name()).collect();
    assert_eq!(listed, known);
    for operation in Operation::ALL {
        let entry = &entries[operation.name()];
        let status = entry.is.split(':').next().unwrap();
        assert!(["exact", "approximate", "refused"].contains(&status), "{}", entry.is);
        let top: BTreeSet<&str> =
            entry.members.keys().map(String::as_str).filter(|path| !path.contains('.')).collect();
        let members: BTreeSet<&str> =
            input(*operation).members.iter().map(|(name, _)| *name).collect();
        assert_eq!(top, members, "{}", operation.name());
        for path in entry.members.keys() {
            assert!(lookup(*operation, path).is_some(), "{} has no {path}", operation.name());
        }
    }
}

/// All sources that read requests, but for the tables of shapes.
fn sources(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("api/src/model") {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// The names of all members inside a structure that are not under a refused path.
fn leaves(within: &Structure, path: &str, entry: &Entry, found: &mut BTreeSet<String>, depth: u8) {
    for (name, shape) in within.members {
        let path = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
        if entry.members.get(&path).is_some_and(|(status, _)| *status == "refused") {
            continue;
        }
        found.insert((*name).to_owned());
        if let Some(inner) = structure(*shape).filter(|_| depth < 12) {
            leaves(inner, &path, entry, found, depth + 1);
        }
    }
}

/// A member whose name stands nowhere is accepted and ignored.
#[test]
fn what_is_not_refused_is_read() {
    let mut text = String::new();
    for crate_name in ["api", "core", "engine", "server"] {
        sources(&root().join(format!("crates/{crate_name}/src")), &mut text);
    }
    let mut ignored = Vec::new();
    let entries = entries();
    for operation in Operation::ALL {
        let entry = &entries[operation.name()];
        let mut names = BTreeSet::new();
        leaves(input(*operation), "", entry, &mut names, 0);
        let is_unread = |name: &String| !text.contains(&format!("\"{name}\""));
        let unread = names.into_iter().filter(is_unread);
        // What lists nothing has nothing to choose from.
        let unread = unread.filter(|_| operation.name() != "ListGlobalTables");
        ignored.extend(unread.map(|name| format!("{}: {name}", operation.name())));
    }
    assert!(ignored.is_empty(), "accepted and ignored: {ignored:#?}");
}

fn page() -> String {
    let mut page = String::from(
        "# Compatibility with DynamoDB\n\n\
         Every operation and every option of the API, in the state of AWS's model that the tests compare with: **exact**,\n\
         **approximate** (how) or **refused** (why). Nothing is accepted and ignored. Options inside others follow these unless\n\
         they are listed. Made of [`crates/api/compat.toml`](https://github.com/keyloom/keyloom/blob/main/crates/api/compat.toml) by a test; do not edit.\n",
    );
    let entries = entries();
    for (title, wanted) in
        [("Exact", "exact"), ("Approximate", "approximate"), ("Refused", "refused")]
    {
        write!(page, "\n## {title}\n").unwrap();
        for (name, entry) in &entries {
            if entry.is.split(':').next() != Some(wanted) {
                continue;
            }
            let how =
                entry.is.split_once(": ").map_or(String::new(), |(_, how)| format!(" {how}."));
            write!(page, "\n### {name}\n\n**{wanted}**.{how}\n").unwrap();
            let exact: Vec<String> = entry
                .members
                .iter()
                .filter(|(_, (status, _))| *status == "exact")
                .map(|(path, _)| format!("`{path}`"))
                .collect();
            if !exact.is_empty() {
                write!(page, "\n- exact: {}\n", exact.join(", ")).unwrap();
            } else if !entry.members.is_empty() {
                page.push('\n');
            }
            for (path, (status, reason)) in &entry.members {
                if *status != "exact" {
                    writeln!(page, "- `{path}`: {status}: {reason}").unwrap();
                }
            }
        }
    }
    page
}

#[test]
fn the_page_is_made_of_the_table() {
    let path = root().join("docs/compat.md");
    if std::env::var_os("KEYLOOM_WRITE_COMPAT").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/compat.md is stale: run KEYLOOM_WRITE_COMPAT=1 cargo test -p keyloom-testkit --test compat"
    );
}
