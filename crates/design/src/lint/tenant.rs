//! P13: partition keys that a policy cannot guard for a tenant.
//!
//! `dynamodb:LeadingKeys` compares the partition key of a request with a pattern such as `acme#*`. That tells
//! tenants apart only if every partition key begins with the tenant, in the table and in each global index:
//! fixed text may stand before it, and something fixed or the end of the key must stand behind it.

use super::partition::placements;
use super::{Context, Findings, index_subject, key_text};
use crate::key::{KeyTemplate, Piece};
use crate::model::IndexKind;

/// P13: the partition key does not begin with the tenant.
pub(super) fn unguarded(context: &Context, findings: &mut Findings) {
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
    match pieces.next() {
        Some(Piece::Field(next)) => Some(format!(
            "nothing stands between `{tenant}` and `{}`: a pattern for one tenant also fits longer names",
            next.name()
        )),
        Some(Piece::Literal(_)) | None => None,
    }
}
