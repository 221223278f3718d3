//! A design file, the Rust module that is generated from it, and the design file that the macro reads from that: the first
//! and the last say the same.

use std::fs;
use std::path::{Path, PathBuf};

use keyloom_design::model::{Design, Relationship};
use keyloom_design::rust_module;

use crate::arg::Args;
use crate::{file, read};

/// What the macro makes of a module.
fn read_back(source: &str) -> String {
    let file = syn::parse_file(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let module = file.items.into_iter().find_map(|item| match item {
        syn::Item::Mod(module) => Some(module),
        _ => None,
    });
    let mut module = module.unwrap();
    let attribute = module.attrs.remove(0);
    let args: Args = attribute.parse_args().unwrap();
    let read =
        read::module(args.0, &mut module).unwrap_or_else(|error| panic!("{error}\n{source}"));
    file::write(&read, None).unwrap().as_str().to_owned()
}

/// The text without the places in files, which are in braces.
fn without_places(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("Span {") {
        out.push_str(before);
        rest = after.split_once('}').map_or("", |(_, tail)| tail);
    }
    out + rest
}

fn relationship(design: &Design, relationship: &Relationship) -> String {
    let Relationship { name, from, to, kind, through, .. } = relationship;
    let through = through.as_ref().map(|link| &link.name);
    let mut implied: Vec<String> = design
        .accesses()
        .iter()
        .filter(|access| access.implied_by.as_ref() == Some(name))
        .map(|access| format!("{} {:?}", access.name, access.terms))
        .collect();
    implied.sort();
    format!("relationship {name} {} {} {kind:?} {through:?} {implied:?}", from.name, to.name)
}

/// All that a design says, in parts that are in no order.
fn parts(design: &Design) -> Vec<String> {
    let name = Some(design.name()).filter(|_| !design.has_file_name());
    let mut parts = vec![format!("{name:?} {}", design.description())];
    parts.extend(design.tables().iter().map(|table| format!("{table:?}")));
    for entity in design.entities() {
        let mut entity = (**entity).clone();
        // Where a field stands among others says nothing.
        entity.fields.sort_by(|a, b| a.name.cmp(&b.name));
        entity.keys.sort_by(|a, b| a.attribute.cmp(&b.attribute));
        parts.push(format!("{entity:?}"));
    }
    for access in design.accesses() {
        let mut access = access.clone();
        access.via = None;
        access.find.clear();
        let own = design.access(&access.name).unwrap();
        let find: Vec<&str> = own.find.iter().map(|entity| entity.name.as_str()).collect();
        let via = own.via.as_ref().map(|via| &via.name);
        parts.push(format!("find {find:?} via {via:?} {access:?}"));
    }
    for write in design.writes() {
        let mut write = write.clone();
        let members: Vec<String> = write
            .members
            .drain(..)
            .map(|member| format!("{} {:?}", member.entity.name, member.kind))
            .collect();
        write.given.sort();
        parts.push(format!("{members:?} {write:?}"));
    }
    for rule in design.uniques() {
        let by = rule.by.as_ref().map(|by| &by.name);
        parts.push(format!("{} {} {:?} {by:?}", rule.name, rule.entity.name, rule.fields));
    }
    parts.extend(design.relationships().iter().map(|one| relationship(design, one)));
    parts.extend(design.allows().iter().map(|allow| format!("{allow:?}")));
    let mut parts: Vec<String> = parts.iter().map(|part| without_places(part)).collect();
    parts.sort();
    parts
}

/// Every design file below a folder.
fn designs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            designs(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            found.push(path);
        }
    }
}

#[test]
fn a_module_states_every_design_without_loss() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    for folder in ["examples", "crates/design/tests", "crates/keyloom/tests", "crates/cli/tests"] {
        designs(&root.join(folder), &mut paths);
    }
    paths.sort();
    let (mut stated, mut faults) = (0, Vec::new());
    for path in &paths {
        let text = fs::read_to_string(path).unwrap();
        // Manifests and what is broken on purpose are no designs.
        let (Some(design), _) = Design::parse("design.toml", &text) else { continue };
        if design.entities().is_empty() {
            continue;
        }
        let module = match rust_module(&design, "round_trip") {
            Ok(module) => module,
            Err(missing) => {
                faults.push(format!("{}: {missing:?}", path.display()));
                continue;
            }
        };
        let back = read_back(&module);
        let (Some(again), problems) = Design::parse("design.toml", &back) else {
            faults.push(format!("{}: no design comes back\n{back}", path.display()));
            continue;
        };
        assert!(problems.iter().all(|p| p.severity != keyloom_design::Severity::Error));
        let (before, after) = (parts(&design), parts(&again));
        let lost = before.iter().filter(|part| !after.contains(part));
        let come = after.iter().filter(|part| !before.contains(part));
        let told: Vec<String> = lost
            .map(|part| format!("lost {part}"))
            .chain(come.map(|part| format!("come {part}")))
            .collect();
        if !told.is_empty() {
            faults.push(format!("{}:\n{}", path.display(), told.join("\n")));
        }
        stated += 1;
    }
    assert!(faults.is_empty(), "{} of {stated}:\n{}", faults.len(), faults.join("\n\n"));
    assert!(stated >= 150, "{stated} designs");
}
