//! P13: partition keys that a policy cannot guard for a tenant.
//!
//! `dynamodb:LeadingKeys` compares the partition key of a request with a pattern such as `acme#*`. That tells
//! tenants apart only if every partition key begins with the tenant, in the table and in each global index:
//! fixed text may stand before it, and where it ends must be certain: at the end of the key, after a fixed
//! width, or at fixed text that no tenant contains.

use keyloom_keys::{ByteSet, Language};

use super::partition::placements;
use super::{Context, Findings, index_subject, key_text};
use crate::key::{FieldPiece, KeyTemplate, Piece, visible};
use crate::model::{EntityKey, Index, IndexKind, Table};

/// So many keys whose beginnings may be mistaken for each other are compared in a design; each comparison builds two automata.
const MOST_COMPARED: usize = 1000;

/// P13: the partition key does not begin with the tenant.
pub(super) fn unguarded(context: &Context, findings: &mut Findings) {
    mixed(context, findings);
    // Half a design may lack the entities that have it.
    for table in context.design.tables().iter().filter(|_| context.is_whole) {
        let Some(tenant) = &table.tenant else { continue };
        let mut entities = context.design.entities().iter();
        if !entities.any(|entity| entity.table.name == table.name && entity.field(tenant).is_some())
        {
            findings
                .add(table.span, &table.name, format!("no entity has the tenant field `{tenant}`"))
                .because("the table declares it, so its items should belong to tenants")
                .fix(format!(
                    "put {{{tenant}}} in front of the partition keys, or remove `tenant`"
                ));
        }
    }
    for (table, index, entity, key) in placements(context) {
        let Some(tenant) = table.tenant.as_ref().filter(|name| entity.field(name).is_some()) else {
            continue;
        };
        // A local index has the table's own partition key; of several attributes the first one counts.
        let Some(part) = key.hash.first().filter(|_| index.kind != IndexKind::Local) else {
            continue;
        };
        let Some(why) = obstacle(part.shape.template(), tenant) else { continue };
        let place = index_subject(table, index);
        findings
            .add(
                part.span,
                &entity.name,
                format!("a policy cannot guard {} in {place} for a tenant", key_text(part)),
            )
            .because(why)
            .fix(format!(
                "begin it with the tenant: {} = \"{{{tenant}}}{}…\"; allow P13 if only the root user reads {place}",
                part.attribute, table.separator
            ));
    }
}

/// P13 for two keys that are guarded each by itself: where one begins with the tenant and the other with text, a tenant that is
/// called like the text would be let through to everybody's keys of the other form.
fn mixed(context: &Context, findings: &mut Findings) {
    let mut guarded: Vec<(&Table, &Index, &EntityKey, String)> = Vec::new();
    let mut compared = 0;
    for (table, index, entity, key) in placements(context) {
        let Some(tenant) = table.tenant.as_ref().filter(|name| entity.field(name).is_some()) else {
            continue;
        };
        let Some(part) = key.hash.first().filter(|_| index.kind != IndexKind::Local) else {
            continue;
        };
        let template = part.shape.template();
        if obstacle(template, tenant).is_some() {
            continue;
        }
        let text = text_before(template);
        let mixed = guarded.iter().find_map(|(other_table, other_index, other, other_text)| {
            let together = other_table.name == table.name && other_index.name == index.name;
            let nested = text.starts_with(other_text) || other_text.starts_with(&text);
            if !together || !nested || *other_text == text || compared == MOST_COMPARED {
                return None;
            }
            compared += 1;
            Some((*other, shared(template, other.shape.template())?))
        });
        if let Some((other, both)) = mixed {
            findings
                .add(
                    part.span,
                    &entity.name,
                    format!(
                        "a policy cannot guard both {} and {} for a tenant",
                        key_text(part),
                        key_text(other)
                    ),
                )
                .because(format!(
                    "they begin differently, so that a tenant's name can pass for text: of the key `{}` both can be the \
                     beginning, with another tenant each",
                    visible(&both)
                ))
                .fix("begin all partition keys of a table or index with the same text before the tenant");
        }
        guarded.push((table, index, part, text));
    }
}

/// A key of both forms, in which the tenant stands at different places, if there is one.
fn shared(one: &KeyTemplate, other: &KeyTemplate) -> Option<String> {
    let found = beginning(one).shared_text(&beginning(other))?;
    Some(String::from_utf8_lossy(&found).into_owned())
}

/// The text before the tenant.
fn text_before(template: &KeyTemplate) -> String {
    let literals = template.pieces().iter().map_while(|piece| match piece {
        Piece::Literal(text) => Some(text.as_str()),
        Piece::Field(_) => None,
    });
    literals.collect()
}

/// What a policy for all tenants would let through: the text, a tenant, the text behind it, anything.
fn beginning(template: &KeyTemplate) -> Language {
    let mut language = Language::empty_text();
    language.literal(text_before(template).as_bytes());
    let mut rest = template.pieces().iter().skip_while(|piece| matches!(piece, Piece::Literal(_)));
    if let Some(Piece::Field(tenant)) = rest.next() {
        template.add_field(&mut language, tenant);
    }
    match rest.next() {
        Some(Piece::Literal(text)) => {
            language.literal(text.as_bytes());
            language.anything();
        }
        Some(Piece::Field(_)) => language.anything(),
        None => {}
    }
    language
}

/// Why the beginning of a key does not tell the tenant; none if it does.
fn obstacle(template: &KeyTemplate, tenant: &str) -> Option<String> {
    let mut pieces =
        template.pieces().iter().skip_while(|piece| matches!(piece, Piece::Literal(_)));
    let Some(Piece::Field(first)) = pieces.next() else {
        return Some(format!("it does not contain `{tenant}`, so that all tenants share it"));
    };
    if first.name() != tenant {
        return Some(format!(
            "dynamodb:LeadingKeys compares how the key begins, and that is `{}`, not `{tenant}`",
            first.name()
        ));
    }
    if first.format().is_desc() {
        return Some(format!("`{tenant}` is written in reverse, which no tag of a user is"));
    }
    let literal = match pieces.next() {
        Some(Piece::Literal(text)) => text.as_str(),
        Some(Piece::Field(_)) => "",
        // A pattern for the whole key fits one tenant.
        None => return None,
    };
    let longer = mistaken(template, first, literal)?;
    Some(if literal.is_empty() {
        format!(
            "nothing stands behind `{tenant}`: a pattern for one tenant also fits longer names, such as `{}`",
            visible(&longer)
        )
    } else {
        format!(
            "nothing keeps `{literal}` out of `{tenant}`: a pattern for one tenant, which ends with `{literal}*`, also \
             fits keys of another one, such as `{}`",
            visible(&longer)
        )
    })
}

/// A tenant whose keys the pattern of another one fits, if there is one.
///
/// The pattern of the tenant `S` is `S`, the text that follows, and `*`. A key of `U` fits it only if one of the two
/// names begins with the other, and then the longer one is `S` with `y` behind it such that `y` and the text begin
/// with the text. So `y` begins with the text, or is a beginning after which the text repeats itself, as in `--`.
fn mistaken(template: &KeyTemplate, tenant: &FieldPiece, literal: &str) -> Option<String> {
    let names = |add: &dyn Fn(&mut Language)| {
        let mut language = Language::empty_text();
        template.add_field(&mut language, tenant);
        add(&mut language);
        language
    };
    let all = names(&|_| {});
    let literal = literal.as_bytes();
    let with_literal = names(&|language| {
        if literal.is_empty() {
            language.classes(&[ByteSet::ALL]);
        }
        language.literal(literal);
        language.anything();
    });
    let beginnings = (1..literal.len()).filter_map(|at| literal.split_at_checked(at));
    let repeated = beginnings
        .filter(|(_, rest)| literal.starts_with(rest))
        .map(|(beginning, _)| names(&|language| language.literal(beginning)));
    let mut longer = std::iter::once(with_literal).chain(repeated);
    let found = longer.find_map(|longer| longer.shared_text(&all))?;
    Some(String::from_utf8_lossy(&found).into_owned())
}
