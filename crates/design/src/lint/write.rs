//! A07–A09, A11, A12, W01: writes.

use super::{Context, Findings, key_text, quoted, short_bytes};
use crate::diagnostic::Severity;
use crate::model::{Entity, Field, Member, Write, WriteKind};
use crate::source::Span;

/// A07: two items that belong together, written one after the other.
pub(super) fn not_together(context: &Context, findings: &mut Findings) {
    for write in context.design.writes() {
        let names: Vec<&str> = write.entities().map(|entity| entity.name.as_str()).collect();
        if names.len() > 1 && write.kind != WriteKind::Transact {
            findings
                .add(
                    write.span,
                    &write.name,
                    format!("`{}` writes {} one after the other", write.name, quoted(&names)),
                )
                .because("if the program stops in between, or two of them run at once, the items contradict each other; two puts side by side are not atomic")
                .fix("kind = \"transact\": TransactWriteItems writes all or none, for twice the write units");
        }
    }
    for rule in context.design.uniques() {
        let Some(by) = &rule.by else { continue };
        for write in context.design.writes() {
            let creates = matches!(write.kind, WriteKind::Put | WriteKind::Create);
            let writes = |entity: &Entity| write.entities().any(|e| e.name == entity.name);
            if creates && writes(&rule.entity) && !writes(by) {
                findings
                    .add(
                        write.span,
                        &write.name,
                        format!("`{}` writes `{}` without its `{}`", write.name, rule.entity.name, by.name),
                    )
                    .because(format!("`{}` keeps {} unique", rule.name, quoted(&rule.fields)))
                    .fix(format!("write both in one transaction: entity = [\"{}\", \"{}\"], kind = \"transact\"", rule.entity.name, by.name));
            }
        }
    }
}

/// A08: a condition does in one request what a read and a write do in two.
pub(super) fn reads_first(context: &Context, findings: &mut Findings) {
    for write in context.design.writes().iter().filter(|write| write.reads_first) {
        let fix = match write.kind {
            WriteKind::Put | WriteKind::Create => {
                "let the write check: ConditionExpression = attribute_not_exists(PK), kind = \"create\""
            }
            _ => {
                "let the write check and change: UpdateExpression with a ConditionExpression on a version"
            }
        };
        findings
            .add(write.span, &write.name, format!("`{}` reads the item before it writes it", write.name))
            .because("another write may come in between and is lost; the read costs units and a round trip")
            .fix(fix);
    }
}

const KILOBYTE: f64 = 1024.0;

/// A09: items grow until a write fails.
pub(super) fn large_item(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        let stored = || entity.fields.iter().filter(|field| field.is_stored());
        let average: f64 = stored().filter_map(|field| field.size).sum();
        let greatest = |field: &Field| field.greatest_bytes().or(field.size);
        // A declared bound speaks for all fields together.
        let bound = entity.volume.max_size.unwrap_or_else(|| {
            let fields: f64 = stored().filter_map(greatest).sum();
            fields.max(entity.volume.size.unwrap_or(0.0))
        });
        let most = bound.max(average);
        let severity = if most > 400.0 * KILOBYTE {
            Severity::Error
        } else if most >= 300.0 * KILOBYTE {
            Severity::Warn
        } else if most >= 100.0 * KILOBYTE {
            Severity::Info
        } else {
            continue;
        };
        findings
            .add(
                entity.span,
                &entity.name,
                format!("`{}` may grow to {}", entity.name, short_bytes(most)),
            )
            .because(format!(
                "an item has at most 400 KB, and each write of this one costs {:.0} write units",
                (most / KILOBYTE).ceil()
            ))
            .fix("split it into items under the same partition key, or keep the large part in object storage")
            .severity(severity);
    }
}

/// A15: a list or set that only grows, in an item without a bound.
pub(super) fn endless_growth(context: &Context, findings: &mut Findings) {
    for (write, expression, update) in super::expression::updates(context) {
        let Some(entity) = write.entities().find(|e| e.volume.max_size.is_none()) else {
            continue;
        };
        for name in super::expression::growing(&update, expression, entity) {
            grows(findings, write, entity, &name, expression.text.span);
        }
    }
    for write in context.design.writes() {
        for field in &write.appends {
            let unbounded = write.entities().filter(|e| e.volume.max_size.is_none());
            for entity in unbounded.filter(|entity| entity.field(&field.value).is_some()) {
                grows(findings, write, entity, &field.value, field.span);
            }
        }
    }
}

fn grows(findings: &mut Findings, write: &Write, entity: &Entity, name: &str, span: Span) {
    if entity.field(name).is_some_and(|field| field.greatest_bytes().is_some()) {
        return;
    }
    findings
        .add(
            span,
            &write.name,
            format!("`{}` lets `{name}` of `{}` grow without an end", write.name, entity.name),
        )
        .because("every call makes the item larger and dearer to write, until it passes 400 KB and the write fails")
        .fix(format!(
            "write an item for each element instead; if it stays small, declare max_items of `{name}` or max_size of `{}`",
            entity.name
        ));
}

/// A11: an entity that is read but never written.
pub(super) fn unfed(context: &Context, findings: &mut Findings) {
    if context.design.writes().is_empty() {
        return;
    }
    let feeds = |write: &Write, entity: &Entity| {
        write.members.iter().any(|member| {
            let kind = member.kind;
            matches!(kind, WriteKind::Put | WriteKind::Create | WriteKind::Transact)
                && member.entity.name == entity.name
        })
    };
    for entity in context.design.entities() {
        let read = context.design.accesses().iter().find(|access| access.finds(entity));
        let fed = context.design.writes().iter().any(|write| feeds(write, entity));
        if let (Some(access), false) = (read, fed) {
            findings
                .add(
                    entity.span,
                    &entity.name,
                    format!("`{}` is read by `{}` and written by nobody", entity.name, access.name),
                )
                .because("no write puts or creates it, so its index keys and cost are not checked")
                .fix(format!("add [write.\"…\"] entity = \"{}\", kind = \"put\"", entity.name));
        }
    }
}

/// A12: a primary key cannot change; the item moves.
pub(super) fn key_field_changes(context: &Context, findings: &mut Findings) {
    for write in context.design.writes() {
        let updated = write.members.iter().filter(|member| member.kind == WriteKind::Update);
        for Member { entity, .. } in updated {
            for part in entity.primary_key().parts() {
                for field in part.shape.template().fields() {
                    let Some(set) = write.sets.iter().find(|set| set.value == field) else {
                        continue;
                    };
                    findings
                        .add(
                            set.span,
                            &write.name,
                            format!("`{}` changes `{field}`, which is in the primary key {}", write.name, key_text(part)),
                        )
                        .because("an update cannot change a primary key: the item must be deleted and put anew, in one transaction")
                        .fix(format!("keep `{field}` out of the primary key, or make it kind = \"transact\" with a delete and a put"));
                }
            }
        }
    }
}

/// W01: an index key that is not rewritten leads to the old place.
pub(super) fn stale_index_key(context: &Context, findings: &mut Findings) {
    for (write, plan) in context.design.writes().iter().zip(context.writes) {
        for effect in &plan.effects {
            if effect.rewrites.is_empty() || effect.lacks.is_empty() || effect.index == "table" {
                continue;
            }
            findings
                .add(
                    write.span,
                    &write.name,
                    format!(
                        "`{}` cannot rebuild {} of {}",
                        write.name,
                        quoted(&effect.rewrites),
                        effect.index
                    ),
                )
                .because(format!(
                    "the key also holds {}, which the caller does not give; left alone, the index answers with the old value",
                    quoted(&effect.lacks)
                ))
                .fix(format!(
                    "give them to the update (given = [{}]), or index the attributes natively, which need no rebuilding",
                    write
                        .given
                        .iter()
                        .chain(&effect.lacks)
                        .map(|name| format!("\"{name}\""))
                        .collect::<Vec<_>>()
                        .join(", ")
                ));
        }
    }
}
