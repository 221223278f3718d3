//! Demands: what each access pattern asks of the keys of one entity.

use crate::draft::{AccessDraft, Draft};
use crate::model::{Access, Design, Entity, Field, FieldKind, Operand, Question, Test};
use crate::source::Spanned;

/// What one pattern, or one alternative of it, asks of one entity's keys.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    /// The pattern's name.
    pub(super) pattern: String,
    /// The pattern for this entity alone, as the planner is asked about it.
    pub(super) alone: AccessDraft,
    /// Fields that are pinned to one value, or to one of a list.
    pub(super) pinned: Vec<String>,
    /// Pinned fields whose values stand in the pattern, with the condition.
    pub(super) stated: Vec<(String, String)>,
    /// The fields that follow in the key: the order asked for, or the field of a range. True is descending.
    pub(super) then: Vec<(String, bool)>,
    /// The time that is bounded from both sides, if one is: it may be spread over periods.
    pub(super) period: Option<String>,
    /// Whether the author expects a filter.
    pub(super) filters: bool,
}

/// The demands on one entity, patterns in the order of the file.
pub(super) fn demands(design: &Design, draft: &Draft, entity: &Entity) -> Vec<Demand> {
    let mut found = Vec::new();
    for access in design.accesses() {
        // As the author wrote it, where it is one condition.
        let written = draft.accesses.iter().find(|it| it.name.value == access.name);
        let written = written.filter(|_| access.alternatives.is_empty());
        let asked = match &access.via {
            Some(via) => via.name == entity.name,
            None => access.finds(entity),
        };
        if asked {
            for alone in access.each() {
                let mut demand = demand(&alone, entity);
                if let Some(written) = written {
                    demand.alone.condition =
                        written.condition.clone().map(|it| Spanned::free(it.value));
                }
                found.push(demand);
            }
        }
    }
    found
}

/// Whether keys can hold a field in some way.
pub(super) fn can_be_key(entity: &Entity, name: &str) -> bool {
    entity.field(name).is_some_and(|field| {
        field.format().is_some() && !matches!(field.kind, FieldKind::Shard(_))
            || matches!(field.kind, FieldKind::Number | FieldKind::Binary)
    })
}

fn demand(access: &Access, entity: &Entity) -> Demand {
    let (mut pinned, mut stated, mut range, mut period) = (Vec::new(), Vec::new(), None, None);
    for term in &access.terms {
        if !can_be_key(entity, &term.field) {
            continue;
        }
        match &term.test {
            Test::Equal(_) | Test::In(_) => {
                pinned.push(term.field.clone());
                if term.test.inputs().is_empty() {
                    stated.push((term.field.clone(), written(term)));
                }
            }
            Test::Range { low, high } => {
                range = Some(term.field.clone());
                if low.is_some() && high.is_some() {
                    period = Some(term.field.clone());
                }
            }
            Test::BeginsWith(_) => range = Some(term.field.clone()),
            _ => {}
        }
    }
    let order = access.order.iter().filter(|by| !pinned.contains(&by.field));
    let mut then: Vec<(String, bool)> = order.map(|by| (by.field.clone(), by.descending)).collect();
    if then.is_empty() {
        then.extend(range.map(|field| (field, false)));
    }
    Demand {
        pattern: access.name.clone(),
        alone: alone(access, entity),
        pinned,
        stated,
        then,
        period: period.filter(|name| entity.field(name).is_some_and(Field::is_time)),
        filters: access.keeps.is_some(),
    }
}

fn written(term: &Question) -> String {
    term.test.design_text(&term.field, operand)
}

fn operand(operand: &Operand) -> String {
    match operand {
        Operand::Input(name) => format!(":{name}"),
        Operand::Value(keyloom_keys::Value::Text(text)) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        Operand::Value(value) => value.to_string(),
    }
}

fn alone(access: &Access, entity: &Entity) -> AccessDraft {
    let mut draft = AccessDraft::new(&access.name, &entity.name);
    let condition = access.where_text(operand);
    draft.condition = (!condition.is_empty()).then(|| Spanned::free(condition));
    let order = access.order_text();
    draft.order = (!order.is_empty()).then(|| Spanned::free(order));
    draft.limit = access.limit;
    draft.consistent = access.consistent;
    draft.rate = access.rate;
    draft.items = access.items;
    draft.all_pages = access.all_pages;
    draft.keeps = access.keeps;
    draft.max_requests = access.max_requests;
    if access.via.is_none() {
        let own = access.returns.iter().filter(|name| entity.field(name).is_some());
        draft.returns = own.map(|name| Spanned::free(name.clone())).collect();
    }
    draft
}
