//! K11–K13: keys that people cannot read.

use std::collections::BTreeMap;

use super::{Context, Findings, key_text, quoted};
use crate::key::{KeyTemplate, Piece};
use crate::model::{Access, Design, Entity, Table};

/// K11: one table, one separator and one way to write prefixes.
pub(super) fn mixed(context: &Context, findings: &mut Findings) {
    for table in context.design.tables() {
        let (separators, cases) = styles(context.design, table);
        if separators.len() > 1 {
            let shown: Vec<String> =
                separators.iter().map(|(sign, example)| format!("`{sign}` in {example}")).collect();
            findings
                .add(
                    table.span,
                    &table.name,
                    format!(
                        "table `{}` separates key parts in {} ways",
                        table.name,
                        separators.len()
                    ),
                )
                .because(shown.join(", "))
                .fix(format!(
                    "use `{}` everywhere, or set `separator` on the table",
                    table.separator
                ));
        }
        if cases.len() > 1 {
            let shown: Vec<String> =
                cases.iter().map(|(case, example)| format!("{case} in {example}")).collect();
            findings
                .add(
                    table.span,
                    &table.name,
                    format!(
                        "table `{}` writes key prefixes in {} case styles",
                        table.name,
                        cases.len()
                    ),
                )
                .because(shown.join(", "))
                .fix("write all prefixes the same way, for example USER#");
        }
    }
}

type Styles = BTreeMap<String, String>;

fn styles(design: &Design, table: &Table) -> (Styles, Styles) {
    let (mut separators, mut cases) = (Styles::new(), Styles::new());
    for entity in design.entities_in(table) {
        for key in entity.keys.iter().filter(|key| !key.shape.is_native()) {
            let template = key.shape.template();
            let example = format!("{} ({})", key_text(key), entity.name);
            for piece in template.pieces() {
                let Piece::Literal(text) = piece else { continue };
                for sign in signs(text) {
                    separators.entry(sign).or_insert_with(|| example.clone());
                }
                for word in text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 1) {
                    cases.entry(case_of(word).to_owned()).or_insert_with(|| example.clone());
                }
            }
        }
    }
    (separators, cases)
}

/// Runs of separator characters in a literal.
fn signs(text: &str) -> Vec<String> {
    let mut signs: Vec<String> = Vec::new();
    let mut run = String::new();
    for c in text.chars().chain(['a']) {
        if matches!(c, '#' | '|' | '/' | ':' | '~' | ';') {
            run.push(c);
        } else if !run.is_empty() {
            signs.push(std::mem::take(&mut run));
        }
    }
    signs
}

fn case_of(word: &str) -> &'static str {
    if word.chars().all(char::is_uppercase) {
        "UPPER"
    } else if word.chars().all(char::is_lowercase) {
        "lower"
    } else {
        "Mixed"
    }
}

/// K12: key parts that no pattern uses lengthen keys and change their order.
pub(super) fn many_components(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        let patterns: Vec<&Access> = context
            .design
            .accesses()
            .iter()
            .filter(|access| {
                access.finds(entity)
                    || access.via.as_ref().is_some_and(|via| via.name == entity.name)
            })
            .collect();
        for key in entity.keys.iter().filter(|key| !key.shape.is_native()) {
            let template = key.shape.template();
            let parts = components(template);
            let unused = unused_fields(template, &patterns);
            if unused.is_empty() || (parts <= 5 && unused.len() < 2) {
                continue;
            }
            findings
                .add(
                    key.span,
                    &entity.name,
                    format!("{} has {parts} parts, and no pattern uses {}", key_text(key), quoted(&unused)),
                )
                .because("each part lengthens every key and index entry, and what stands to the left decides the order")
                .fix("keep what is pinned by =, then what is sorted or ranged over, then one id; store the rest as attributes");
        }
    }
}

fn components(template: &KeyTemplate) -> usize {
    let shape: String = template
        .pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Field(_) => "x".to_owned(),
        })
        .collect();
    shape.split(template.template().separator()).filter(|part| !part.is_empty()).count()
}

/// Fields that no pattern pins, ranges over or sorts by; the last field may be there to make keys unique.
fn unused_fields<'a>(template: &'a KeyTemplate, patterns: &[&Access]) -> Vec<&'a str> {
    let asked = |name: &str| {
        patterns.iter().any(|access| {
            access.questions().any(|term| term.field == name)
                || access.order.iter().any(|term| term.field == name)
                || access.raw.is_some()
        })
    };
    let names: Vec<&str> = template.fields().collect();
    let before_last = names.len().saturating_sub(1);
    names.into_iter().take(before_last).filter(|name| !asked(name)).collect()
}

/// K13: a key such as `123 / 456` does not show its entity.
pub(super) fn opaque(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        let key = entity.primary_key();
        if !key.parts().all(|part| !part.shape.is_native() && is_opaque(part.shape.template())) {
            continue;
        }
        let Some(first) = key.hash.first() else { continue };
        let prefix = entity.name.to_uppercase();
        findings
            .add(
                first.span,
                &entity.name,
                format!("the keys of `{}` do not say what they are", entity.name),
            )
            .because(example(entity))
            .fix(format!("begin them with a type: {} = \"{prefix}#…\"", first.attribute));
    }
}

fn is_opaque(template: &KeyTemplate) -> bool {
    template.pieces().iter().all(|piece| match piece {
        Piece::Literal(text) => !text.chars().any(char::is_alphanumeric),
        Piece::Field(_) => true,
    })
}

fn example(entity: &Entity) -> String {
    let parts: Vec<String> = entity
        .primary_key()
        .parts()
        .filter_map(|part| part.shape.template().template().example())
        .collect();
    format!(
        "an item's key is for example `{}`; another entity in the table could have the same one, and no prefix selects the type",
        parts.join(" / ")
    )
}
