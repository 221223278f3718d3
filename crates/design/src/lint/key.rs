//! K01–K04, K09, K10, K14: keys whose text goes wrong.

use keyloom_keys::Order;

use super::{Context, Findings, key_text};
use crate::key::{KeyTemplate, Piece, may_hold_separator, visible};
use crate::model::{Entity, EntityKey, Escape, FieldKind, KeyShape, Test};

/// Every template that is a sort key somewhere.
fn sort_templates(entity: &Entity) -> impl Iterator<Item = (&EntityKey, &KeyTemplate)> {
    entity.keys.iter().filter_map(|key| match &key.shape {
        KeyShape::Template(template) => {
            let sorts =
                entity.table.indexes.iter().any(|index| {
                    index.range.iter().any(|attribute| attribute.name == key.attribute)
                });
            sorts.then_some((key, template))
        }
        KeyShape::Native(_) => None,
    })
}

fn is_shard(entity: &Entity, field: &str) -> bool {
    entity.field(field).is_some_and(|field| matches!(field.kind, FieldKind::Shard(_)))
}

/// K01: `V#10` sorts before `V#9`.
pub(super) fn unpadded_number(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        for (key, template) in sort_templates(entity) {
            for piece in template.field_pieces() {
                if !piece.format().is_plain() || is_shard(entity, piece.name()) {
                    continue;
                }
                let example = match template.template().order() {
                    Order::Broken(found) if found.field == piece.name() => {
                        format!(
                            "`{}` sorts before `{}`, although 10 is greater than 9",
                            visible(&found.greater),
                            visible(&found.lesser)
                        )
                    }
                    _ => "`10` sorts before `9`".to_owned(),
                };
                findings
                    .add(
                        key.span,
                        &entity.name,
                        format!(
                            "`{}` is an unpadded number in the sort key {}",
                            piece.name(),
                            key_text(key)
                        ),
                    )
                    .because(example)
                    .fix(format!(
                        "drop `plain` of `{}`, or give it a `width`; stored keys must be rewritten with the padding",
                        piece.name()
                    ));
            }
        }
    }
}

/// K02: a value that contains the separator reads as two.
pub(super) fn unguarded_separator(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        if entity.table.escape != Escape::None {
            continue;
        }
        let separator = entity.table.separator.as_str();
        for key in entity.keys.iter().filter(|key| !key.shape.is_native()) {
            let template = key.shape.template();
            let open: Vec<&str> = template
                .field_pieces()
                .filter(|piece| may_hold_separator(piece.format()))
                .map(keyloom_keys::Field::name)
                .collect();
            let (Some(first), true) = (open.first(), template.pieces().len() > 1) else { continue };
            findings
                .add(
                    key.span,
                    &entity.name,
                    format!("`{first}` may contain `{separator}`, which separates the parts of {}", key_text(key)),
                )
                .because(format!(
                    "with `{first}` = \"a{separator}b\" the key has a part more, equals or precedes keys of other items, and cannot be parsed"
                ))
                .fix("set escape = \"reject\" (or \"percent\", \"order\") on the table, or use the type token".to_owned());
        }
    }
}

/// K03 is found when templates are read: an entity with such a key is left out of the rest of the check.
pub(super) fn ambiguous(_context: &Context, _findings: &mut Findings) {}

/// How long a key may be and how long it must not be, if the first is more.
pub(crate) fn excess(key: &EntityKey) -> Option<(usize, usize)> {
    let template = key.shape.template();
    let limit = template.template().role().limit();
    let declared: usize = template
        .pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Literal(text) => text.len(),
            Piece::Field(field) => template.field_bytes(field).unwrap_or(1),
        })
        .sum();
    let most = template.template().lengths().max.unwrap_or(declared).max(declared);
    (most > limit).then_some((most, limit))
}

/// K04: the declared lengths add up to more than DynamoDB takes.
pub(super) fn too_long(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        for key in entity.keys.iter().filter(|key| !key.shape.is_native()) {
            let Some((most, limit)) = excess(key) else { continue };
            let role = if limit == 1024 { "sort" } else { "partition" };
            findings
                .add(
                    key.span,
                    &entity.name,
                    format!("{} may be {most} bytes long; a {role} key takes {limit}", key_text(key)),
                )
                .because(
                    "a partition key value has at most 2048 bytes and a sort key value 1024, half of that",
                )
                .fix("lower `max` of its fields, or put a hash or an id in their place");
        }
    }
}

/// K09: texts of times sort by time only when all have one form.
pub(super) fn loose_time(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        for key in &entity.keys {
            for piece in key.shape.template().field_pieces() {
                let loose = entity
                    .field(piece.name())
                    .is_some_and(|field| field.kind == FieldKind::LooseTime);
                if !loose {
                    continue;
                }
                findings
                    .add(
                        key.span,
                        &entity.name,
                        format!("`{}` in {} has no fixed form", piece.name(), key_text(key)),
                    )
                    .because(
                        "`10:30:00.5Z` sorts before `10:30:00Z` because `.` is below `Z`, and `12:30:00+02:00` sorts after `11:00:00Z`, which is later",
                    )
                    .fix("use the type datetime or datetime:ms: UTC, one width");
            }
        }
    }
}

/// K10: only where a pattern sorts by the field or ranges over it, because prefixes stay right.
pub(super) fn low_bytes(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        for (key, template) in sort_templates(entity) {
            let Order::Broken(broken) = template.template().order() else { continue };
            let text = template
                .field_pieces()
                .find(|piece| piece.name() == broken.field)
                .is_some_and(|piece| piece.format().is_text());
            let matters = context.design.accesses().iter().any(|access| {
                let asked = access.finds(entity)
                    || access.via.as_ref().is_some_and(|via| via.name == entity.name);
                asked
                    && (access.order.iter().any(|term| term.field == broken.field)
                        || access.questions().any(|term| {
                            term.field == broken.field && matches!(term.test, Test::Range { .. })
                        }))
            });
            // Loosely written times have a rule of their own (K09).
            let loose =
                entity.field(&broken.field).is_some_and(|field| field.kind == FieldKind::LooseTime);
            if !text || !matters || loose {
                continue;
            }
            findings
                .add(
                    key.span,
                    &entity.name,
                    format!("keys {} do not sort by `{}`", key_text(key), broken.field),
                )
                .because(format!(
                    "{}: `{}` sorts after `{}`",
                    broken.reason,
                    visible(&broken.lesser),
                    visible(&broken.greater)
                ))
                .fix(broken.fix);
        }
    }
}

/// K14: a primary key is always there, so all its parts must be.
pub(super) fn optional_component(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        for key in entity.primary_key().parts() {
            if let Some(when) = &key.when {
                findings
                    .add(
                        key.span,
                        &entity.name,
                        format!("the primary key {} is written only when {when}", key_text(key)),
                    )
                    .because("an item without its primary key cannot be stored")
                    .fix("use `when` on index keys only");
            }
            for field in key.shape.template().fields() {
                if !entity.field(field).is_some_and(|field| field.optional) {
                    continue;
                }
                findings
                    .add(
                        key.span,
                        &entity.name,
                        format!("`{field}` may be absent and is part of the primary key {}", key_text(key)),
                    )
                    .because("programs then write keys such as `USER#undefined`, which all items without it share")
                    .fix(format!("make `{field}` required, or keep it out of the primary key"));
            }
        }
    }
}
