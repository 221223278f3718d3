//! The meaning of a pattern, evaluated by brute force: which rows it should return, whatever the keys.
//!
//! Nothing here knows plans or indexes. The planner checks its own counter-examples against this answer, migrations
//! their new tables. What judges the planner is [`oracle`](crate::oracle), which shares no code with it.

mod places;
mod row;
mod test;
mod typed;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use keyloom_core::AttributeValue;
use keyloom_keys::Value;

pub use self::places::{Places, hash_of};
pub use self::row::{Row, item_label};
pub(crate) use self::test::{holds, stated_test, when_test};
pub(crate) use self::typed::is_of;
pub use self::typed::{document_value, entity_of, stranger, typed};
use crate::key::compare;
use crate::model::{Access, Entity, Index, Operand, OrderBy, Question};

/// Values for a pattern's inputs, by name.
pub type Inputs = BTreeMap<String, Value<'static>>;

/// What a pattern should return.
#[derive(Clone, Debug)]
pub struct Expected<'r> {
    /// The rows in the order asked for; rows that tie stand in any order.
    pub rows: Vec<&'r Row>,
    /// How many rows satisfy the conditions before the limit.
    pub matching: usize,
    order: Vec<OrderBy>,
    limit: Option<usize>,
    /// How many rows must come at least.
    least: usize,
    all: Vec<Ranked<'r>>,
}

/// A row, and the row whose fields give it its place: itself, or the link that led to it.
#[derive(Clone, Copy, Debug)]
struct Ranked<'r> {
    row: &'r Row,
    by: &'r Row,
}

/// Evaluates a pattern's conditions, order and limit over all rows of the design.
///
/// Through links, the limit counts the links that are followed: one that leads nowhere makes the answer
/// shorter.
pub fn expected<'r>(access: &Access, inputs: &Inputs, rows: &'r [Row]) -> Expected<'r> {
    let asked = |row: &&Row| match &access.via {
        None => access.finds(&row.entity),
        Some(via) => row.entity.name == via.name,
    };
    let links: Vec<&Row> =
        rows.iter().filter(asked).filter(|row| satisfies(access, inputs, row)).collect();
    follow(access, links, rows)
}

/// Puts the rows that satisfy the conditions into the order asked for, and follows them if they are links.
fn follow<'r>(access: &Access, mut links: Vec<&'r Row>, rows: &'r [Row]) -> Expected<'r> {
    let linked = |link: &Row| {
        let found = rows.iter().filter(|row| access.finds(&row.entity) && is_linked(link, row));
        found.collect::<Vec<_>>()
    };
    links.sort_by(|a, b| order_of(&access.order, a, b));
    let limit = access.limit.map(|limit| limit as usize);
    let (mut all, mut counts) = (Vec::new(), Vec::new());
    for by in &links {
        let before = all.len();
        if access.via.is_none() {
            all.push(Ranked { row: by, by });
        } else {
            all.extend(linked(by).into_iter().map(|row| Ranked { row, by }));
        }
        counts.push(all.len() - before);
    }
    let least = limit
        .map_or(all.len(), |limit| least_rows(&access.order, &links, &counts, limit).min(limit));
    let rows = all.iter().take(limit.unwrap_or(usize::MAX)).map(|ranked| ranked.row).collect();
    Expected { rows, matching: all.len(), order: access.order.clone(), limit, least, all }
}

/// How many rows the first `limit` links lead to at least: which of those that tie at the end are taken,
/// the order does not say.
fn least_rows(order: &[OrderBy], links: &[&Row], counts: &[usize], limit: usize) -> usize {
    let (Some(last), Some(_)) = (links.get(limit.wrapping_sub(1)), links.get(limit)) else {
        return counts.iter().sum();
    };
    let before = links.iter().take_while(|link| order_of(order, link, last).is_lt()).count();
    let sure: usize = counts.iter().take(before).sum();
    let mut tied: Vec<usize> = links
        .iter()
        .zip(counts)
        .skip(before)
        .take_while(|(link, _)| order_of(order, link, last).is_eq())
        .map(|(_, count)| *count)
        .collect();
    tied.sort_unstable();
    sure + tied.iter().take(limit - before).sum::<usize>()
}

/// Whether a row satisfies every condition of a pattern.
pub(crate) fn satisfies(access: &Access, inputs: &Inputs, row: &Row) -> bool {
    let all = |terms: &[Question]| {
        terms.iter().all(|term| {
            let Some(field) = row.entity.field(&term.field) else { return false };
            let value = row.values.get(&term.field);
            holds(&term.test, field, value, &|operand| operand_value(operand, inputs))
        })
    };
    let any = || access.alternatives.is_empty() || access.alternatives.iter().any(|some| all(some));
    all(&access.terms) && any()
}

pub(crate) fn operand_value(operand: &Operand, inputs: &Inputs) -> Option<Value<'static>> {
    match operand {
        Operand::Value(value) => Some(value.clone()),
        Operand::Input(name) => inputs.get(name).cloned(),
    }
}

/// Whether a link row points at a row: the key that the link's values make is the key of the row, in the
/// index through which such links lead there.
pub(crate) fn is_linked(link: &Row, row: &Row) -> bool {
    linked_key(link, &row.entity).is_some_and(|(index, key)| row.index_values(index) == Some(key))
}

/// The key that a link's values make, and the index through which it leads to an entity.
fn linked_key<'e>(link: &Row, entity: &'e Arc<Entity>) -> Option<(&'e Index, Vec<AttributeValue>)> {
    let index = entity.reached_from(&link.entity)?;
    Some((index, link.clone().leading_to(entity).index_values(index)?))
}

/// How two rows stand in the order asked for.
pub fn order_of(order: &[OrderBy], a: &Row, b: &Row) -> Ordering {
    for term in order {
        let ordering = match (a.place(&term.field), b.place(&term.field)) {
            (Some(a), Some(b)) => compare(&a, &b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        let ordering = if term.descending { ordering.reverse() } else { ordering };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
    Ordering::Equal
}

/// How an answer differs from what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// A row that does not belong to the answer.
    Foreign(String),
    /// A row that is not there.
    Missing(String),
    /// A row that comes too early.
    Disorder(String),
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Foreign(key) => write!(f, "{key} is returned and should not be"),
            Self::Missing(key) => write!(f, "{key} is missing"),
            Self::Disorder(key) => write!(f, "{key} stands in the wrong place"),
        }
    }
}

impl Expected<'_> {
    /// Compares an answer, given as primary keys in the order received ([`Row::label`]).
    ///
    /// Rows that tie in the order asked for may come in any order among themselves; a row that several
    /// links lead to comes once for each.
    pub fn compare(&self, answer: &[String]) -> Result<(), Mismatch> {
        let labels: Vec<String> = self.all.iter().map(|ranked| ranked.row.label()).collect();
        let mut wanted = counted(&labels);
        for label in answer {
            match wanted.get_mut(label.as_str()) {
                Some(count) if *count > 0 => *count -= 1,
                _ => return Err(Mismatch::Foreign(label.clone())),
            }
        }
        // What is still wanted was not received.
        let absent = |label: &&String| wanted.get(label.as_str()).is_some_and(|count| *count > 0);
        if answer.len() < self.least {
            return Err(Mismatch::Missing(labels.iter().find(absent).cloned().unwrap_or_default()));
        }
        if let (Some(limit), Some(last)) = (self.limit, answer.last())
            && answer.len() > limit
        {
            return Err(Mismatch::Foreign(last.clone()));
        }
        let ties = self.all.chunk_by(|a, b| order_of(&self.order, a.by, b.by).is_eq());
        let (mut received, mut labels) = (answer, labels.as_slice());
        for tie in ties {
            let (here, later) = labels.split_at_checked(tie.len()).unwrap_or((labels, &[]));
            let (mine, rest) = received.split_at_checked(tie.len()).unwrap_or((received, &[]));
            let mut left = counted(here);
            for label in mine {
                match left.get_mut(label.as_str()) {
                    Some(count) if *count > 0 => *count -= 1,
                    _ => {
                        // Beyond the limit a row too early is a row that another one has to miss.
                        return Err(match here.iter().find(absent) {
                            Some(missing) => Mismatch::Missing(missing.clone()),
                            None => Mismatch::Disorder(label.clone()),
                        });
                    }
                }
            }
            (received, labels) = (rest, later);
        }
        Ok(())
    }
}

/// How often each label occurs.
fn counted(labels: &[String]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for label in labels {
        *counts.entry(label.as_str()).or_insert(0) += 1;
    }
    counts
}
