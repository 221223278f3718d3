//! U01–U03: whether keys tell items apart.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Context, Findings, key_text, quoted};
use crate::key::{KeyTemplate, Piece};
use crate::model::{Entity, Field, FieldKind};

/// U01: two items in the same second are one item.
pub(super) fn time_only(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        // What makes an item unique is said, and U05 looks after it.
        if !entity.unique_by.is_empty() {
            continue;
        }
        let key = entity.primary_key();
        let mut fields: Vec<&Field> = key
            .range
            .iter()
            .flat_map(|part| part.shape.template().fields())
            .filter_map(|name| entity.field(name))
            .collect();
        fields.retain(|field| !matches!(field.kind, FieldKind::Shard(_)));
        let hash_is_id =
            key.hash_fields().filter_map(|n| entity.field(n)).any(Field::is_identifier)
                && fields.is_empty();
        let (Some(finest), Some(part)) = (fields.last(), key.range.last()) else { continue };
        let components = parts_of_time(&fields);
        if hash_is_id || !(fields.iter().all(|field| field.is_time()) || components) {
            continue;
        }
        // A key may hold the day of a moment.
        let pieces = part.shape.template().field_pieces().filter(|p| p.name() == finest.name);
        let written = pieces.filter_map(|piece| piece.format().precision()).max();
        let step = match written.or_else(|| finest.format().and_then(|f| f.precision())) {
            Some(precision) => format!("{precision:?}").to_lowercase(),
            None => "moment".to_owned(),
        };
        let step = if components { "second".to_owned() } else { step };
        findings
            .add(
                part.span,
                &entity.name,
                format!(
                    "two `{}` in the same {step} have the same key {}",
                    entity.name,
                    key_text(part)
                ),
            )
            .because("the second put replaces the first without an error")
            .fix(format!("add an id after the time in {}", part.attribute));
    }
}

/// `{year}#{month}#{day}#…`: a time written in parts.
fn parts_of_time(fields: &[&Field]) -> bool {
    let names = ["year", "month", "day", "hour", "minute", "second"];
    fields.len() > 1 && fields.iter().all(|field| names.contains(&field.name.as_str()))
}

/// U02: a put of one entity would replace an item of another.
pub(super) fn shared_key(context: &Context, findings: &mut Findings) {
    // Only keys that begin alike can meet, so entities are compared within groups.
    let mut groups: HashMap<(&str, String), Vec<&Arc<Entity>>> = HashMap::new();
    for entity in context.design.entities() {
        let beginning =
            entity.primary_key().hash.first().map_or_else(String::new, |part| {
                match part.shape.template().pieces().first() {
                    Some(Piece::Literal(text)) => text.clone(),
                    _ => String::new(),
                }
            });
        groups.entry((entity.table.name.as_str(), beginning)).or_default().push(entity);
    }
    let mut keys: Vec<&(&str, String)> = groups.keys().collect();
    keys.sort();
    let mut pairs = Vec::new();
    for (at, first) in keys.iter().enumerate() {
        for second in keys.iter().skip(at) {
            let alike = first.0 == second.0
                && (first.1.starts_with(&second.1) || second.1.starts_with(&first.1));
            if !alike {
                continue;
            }
            let (Some(left), Some(right)) = (groups.get(*first), groups.get(*second)) else {
                continue;
            };
            for (i, a) in left.iter().enumerate() {
                let skip = if first == second { i + 1 } else { 0 };
                pairs.extend(right.iter().skip(skip).map(|b| (*a, *b)));
            }
        }
    }
    // One other entity says enough about each; where all of many meet, the pairs would be without end.
    let mut told: HashSet<&str> = HashSet::new();
    for (a, b) in pairs {
        if told.contains(b.name.as_str()) {
            continue;
        }
        if let Some(example) = common_key(a, b) {
            told.insert(&b.name);
            findings
                .add(
                    b.span,
                    &b.name,
                    format!("`{}` and `{}` can have the same primary key", a.name, b.name),
                )
                .because(format!("for example `{example}`: a put of one replaces the other"))
                .fix("give each its own text in the sort key, for example the entity's name");
        }
    }
}

fn common_key(a: &Entity, b: &Entity) -> Option<String> {
    let (mine, theirs) = (a.primary_key(), b.primary_key());
    let parts = || {
        let both = mine.parts().zip(theirs.parts());
        both.map(|(x, y)| (x.shape.template(), y.shape.template()))
    };
    // Most keys begin with different texts, which is seen at once; comparing languages takes long.
    let begin_alike =
        |(x, y): (&KeyTemplate, &KeyTemplate)| match (x.pieces().first(), y.pieces().first()) {
            (Some(Piece::Literal(p)), Some(Piece::Literal(q))) => {
                p.starts_with(q.as_str()) || q.starts_with(p.as_str())
            }
            _ => true,
        };
    if !parts().all(begin_alike) {
        return None;
    }
    let shared = parts().map(|(x, y)| {
        let text = x.language().shared_text(&y.language())?;
        Some(String::from_utf8_lossy(&text).into_owned())
    });
    let texts: Option<Vec<String>> = shared.collect();
    texts.map(|texts| texts.join(" / "))
}

/// U03: DynamoDB keeps nothing unique but primary keys.
pub(super) fn unenforced(context: &Context, findings: &mut Findings) {
    for rule in context.design.uniques() {
        let fields: Vec<&str> = rule.fields.iter().map(String::as_str).collect();
        if same_fields(&rule.entity, &fields) {
            continue;
        }
        match &rule.by {
            None => {
                findings
                    .add(
                        rule.span,
                        &rule.name,
                        format!("nothing keeps {} of `{}` unique", quoted(&fields), rule.entity.name),
                    )
                    .because("only primary keys are unique; an index is not, and it is written later")
                    .fix(format!(
                        "add an entity with the primary key \"{}#{}\", name it in `by`, and write both in one transaction",
                        fields.first().map(|f| f.to_uppercase()).unwrap_or_default(),
                        fields.iter().map(|f| format!("{{{f}}}")).collect::<Vec<_>>().join("#")
                    ));
            }
            Some(by) if !same_fields(by, &fields) => {
                findings
                    .add(
                        rule.span,
                        &rule.name,
                        format!(
                            "the primary key of `{}` is not made of {}",
                            by.name,
                            quoted(&fields)
                        ),
                    )
                    .because(format!(
                        "it is made of {}, so two items may share the values",
                        quoted(&by.identity())
                    ))
                    .fix(format!("key `{}` by {} and nothing else", by.name, quoted(&fields)));
            }
            Some(_) => {}
        }
    }
}

fn same_fields(entity: &Entity, fields: &[&str]) -> bool {
    let identity = entity.identity();
    identity.len() == fields.len() && fields.iter().all(|field| identity.contains(field))
}
