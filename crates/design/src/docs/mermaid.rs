//! The entity-relationship diagram, as Mermaid text.

use std::fmt::Write as _;

use crate::model::{Design, Entity, RelationshipKind};

/// Entities with their key fields, and the relationships: declared ones, and those that shared
/// partition keys imply.
pub fn mermaid(design: &Design) -> String {
    let mut out = String::from("erDiagram\n");
    for entity in design.entities() {
        let identity = entity.identity();
        let _ = writeln!(out, "  {} {{", word(&entity.name));
        for field in &entity.fields {
            let key = if identity.contains(&field.name.as_str()) { " PK" } else { "" };
            let kind = field.type_name();
            let kind = kind.split([':', ' ']).next().unwrap_or("string");
            let _ = writeln!(out, "    {} {}{key}", word(kind), word(&field.name));
        }
        out.push_str("  }\n");
    }
    for relationship in design.relationships() {
        let line = match relationship.kind {
            RelationshipKind::OneToOne => "||--||",
            RelationshipKind::OneToMany => "||--o{",
            RelationshipKind::ManyToMany => "}o--o{",
        };
        let _ = writeln!(
            out,
            "  {} {line} {} : \"{}\"",
            word(&relationship.from.name),
            word(&relationship.to.name),
            relationship.name.replace('"', "'")
        );
    }
    for (parent, child) in implied(design) {
        let declared = design.relationships().iter().any(|known| {
            let pair = [known.from.name.as_str(), known.to.name.as_str()];
            pair.contains(&parent.name.as_str()) && pair.contains(&child.name.as_str())
        });
        if !declared {
            let _ = writeln!(out, "  {} ||--o{{ {} : has", word(&parent.name), word(&child.name));
        }
    }
    out
}

/// Parents and children: the child's identity begins with the whole identity of the parent.
fn implied(design: &Design) -> Vec<(&Entity, &Entity)> {
    let mut pairs = Vec::new();
    for child in design.entities() {
        let own = child.identity();
        let parent = design
            .entities()
            .iter()
            .filter(|parent| parent.name != child.name)
            .filter(|parent| {
                let theirs = parent.identity();
                !theirs.is_empty() && theirs.len() < own.len() && own.starts_with(&theirs)
            })
            .max_by_key(|parent| parent.identity().len());
        if let Some(parent) = parent {
            pairs.push((parent.as_ref(), child.as_ref()));
        }
    }
    pairs
}

/// Names that Mermaid takes: letters, digits and underscores.
fn word(name: &str) -> String {
    let safe: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if safe.is_empty() { "_".to_owned() } else { safe }
}
