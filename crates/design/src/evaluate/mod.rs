//! The meaning of a pattern, evaluated by brute force: which rows it should return, whatever the keys.
//!
//! Nothing here knows plans or indexes. `try` compares this answer with the engine's, and the planner
//! checks its own counter-examples against it.

mod row;
mod test;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use keyloom_keys::Value;

pub use self::row::{Row, item_label};
pub(crate) use self::test::{holds, when_test};
use crate::key::compare;
use crate::model::{Access, Operand, OrderBy};

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
    all: Vec<Ranked<'r>>,
}

/// A row, and the row whose fields give it its place: itself, or the link that led to it.
#[derive(Clone, Copy, Debug)]
struct Ranked<'r> {
    row: &'r Row,
    by: &'r Row,
}

/// Evaluates a pattern's conditions, order and limit over all rows of the design.
pub fn expected<'r>(access: &Access, inputs: &Inputs, rows: &'r [Row]) -> Expected<'r> {
    let mut all: Vec<Ranked> = match &access.via {
        None => rows
            .iter()
            .filter(|row| access.finds(&row.entity) && satisfies(access, inputs, row))
            .map(|row| Ranked { row, by: row })
            .collect(),
        Some(via) => {
            let links = rows
                .iter()
                .filter(|row| row.entity.name == via.name && satisfies(access, inputs, row));
            links
                .filter_map(|link| {
                    let row =
                        rows.iter().find(|row| access.finds(&row.entity) && is_linked(link, row));
                    row.map(|row| Ranked { row, by: link })
                })
                .collect()
        }
    };
    all.sort_by(|a, b| order_of(&access.order, a.by, b.by));
    let limit = access.limit.map(|limit| limit as usize);
    let rows = all.iter().take(limit.unwrap_or(usize::MAX)).map(|ranked| ranked.row).collect();
    Expected { rows, matching: all.len(), order: access.order.clone(), limit, all }
}

/// Whether a row satisfies every condition of a pattern.
pub(crate) fn satisfies(access: &Access, inputs: &Inputs, row: &Row) -> bool {
    access.terms.iter().all(|term| {
        let value = row.values.get(&term.field);
        holds(&term.test, value, &|operand| operand_value(operand, inputs))
    })
}

pub(crate) fn operand_value(operand: &Operand, inputs: &Inputs) -> Option<Value<'static>> {
    match operand {
        Operand::Value(value) => Some(value.clone()),
        Operand::Input(name) => inputs.get(name).cloned(),
    }
}

/// Whether a link row points at a row: it has the same values in the fields of the row's identity.
pub(crate) fn is_linked(link: &Row, row: &Row) -> bool {
    row.entity.identity().into_iter().filter(|field| link.entity.field(field).is_some()).all(
        |field| match (link.values.get(field), row.values.get(field)) {
            (Some(a), Some(b)) => compare(a, b) == Ordering::Equal,
            _ => false,
        },
    )
}

/// The order asked for.
pub(crate) fn order_of(order: &[OrderBy], a: &Row, b: &Row) -> Ordering {
    for term in order {
        let ordering = match (a.values.get(&term.field), b.values.get(&term.field)) {
            (Some(a), Some(b)) => compare(a, b),
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
    pub fn compare(&self, answer: &[String]) -> Result<(), Mismatch> {
        let by_label: HashMap<String, Ranked> =
            self.all.iter().map(|ranked| (ranked.row.label(), *ranked)).collect();
        let mut received: Vec<Ranked> = Vec::with_capacity(answer.len());
        for label in answer {
            match by_label.get(label) {
                Some(ranked) => received.push(*ranked),
                None => return Err(Mismatch::Foreign(label.clone())),
            }
        }
        let unordered = received
            .array_windows::<2>()
            .find(|[a, b]| order_of(&self.order, a.by, b.by) == Ordering::Greater);
        if let Some([_, late]) = unordered {
            return Err(Mismatch::Disorder(late.row.label()));
        }
        if answer.len() < self.rows.len() {
            let missing = self.rows.iter().map(|row| row.label()).find(|key| !answer.contains(key));
            return Err(Mismatch::Missing(missing.unwrap_or_default()));
        }
        if self.limit.is_some_and(|limit| answer.len() > limit) {
            return Err(Mismatch::Foreign(answer.last().cloned().unwrap_or_default()));
        }
        // Position by position the order values must be the expected ones; ties may swap rows.
        for (ranked, wanted) in received.iter().zip(&self.all) {
            if order_of(&self.order, ranked.by, wanted.by) != Ordering::Equal {
                return Err(Mismatch::Missing(wanted.row.label()));
            }
        }
        Ok(())
    }
}
