//! The records that a pattern asks for.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use keyloom_keys::Value;

use super::compare::{Place, Typed, identity};
use super::record::Known;
use super::test::Conditions;
use super::ways::Ways;
use crate::evaluate::{Places, hash_of};
use crate::model::{Access, Entity, FieldKind, Operand, OrderBy, Question, Test};

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Senseless {
    /// An input has no value.
    NoInput {
        /// The name of the input.
        name: String,
    },
    /// Link rows do not tell which rows they lead to.
    NoWay {
        /// The entity that links the two.
        via: String,
        /// What should be found.
        find: String,
    },
}

impl fmt::Display for Senseless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInput { name } => write!(f, "input `{name}` has no value"),
            Self::NoWay { via, find } => write!(f, "`{via}` does not tell which `{find}` is meant"),
        }
    }
}

/// One row of an answer: a record, and the link that leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The position of the record in the population.
    pub record: usize,
    /// The position of the link.
    pub link: Option<usize>,
}

/// What a pattern asks for, before its limit, in its order.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The rows of the answer.
    pub hits: Vec<Hit>,
    /// Whether every two of them have a place in the order; without, their sequence says nothing.
    pub ordered: bool,
}

/// A pattern with the population that it is asked of, ready for many calls.
#[derive(Debug)]
pub struct Oracle<'a, K> {
    access: &'a Access,
    population: &'a [K],
    /// The positions of what the conditions are about.
    asked: Vec<u32>,
    /// Those by the value of a field that the conditions pin.
    pinned: Option<Pinned<'a>>,
    ways: Option<Ways>,
}

/// Which records a pattern asks for with these inputs.
pub fn ask<K: Known>(
    access: &Access,
    inputs: &BTreeMap<String, Value<'static>>,
    population: &[K],
) -> Result<Answer, Senseless> {
    Oracle::new(access, population)?.ask(inputs)
}

impl<'a, K: Known> Oracle<'a, K> {
    /// Looks at every record once.
    pub fn new(access: &'a Access, population: &'a [K]) -> Result<Self, Senseless> {
        let kinds = access.via.as_ref().map_or(access.find.as_slice(), std::slice::from_ref);
        let is_asked = |record: &K| kinds.iter().any(|kind| kind.name == record.entity().name);
        let numbered = population.iter().zip(0_u32..);
        let asked: Vec<u32> =
            numbered.filter(|(record, _)| is_asked(record)).map(|(_, at)| at).collect();
        let pinned = Pinned::new(access, kinds, &asked, population);
        let ways = access.via.as_ref().map(|via| Ways::new(access, via, population)).transpose()?;
        Ok(Self { access, population, asked, pinned, ways })
    }

    /// Which records are asked for with these inputs.
    pub fn ask(&self, inputs: &BTreeMap<String, Value<'static>>) -> Result<Answer, Senseless> {
        let conditions = Conditions { inputs };
        let among = match &self.pinned {
            Some(pinned) => pinned.candidates(&conditions)?,
            None => None,
        };
        let mut hits = Vec::new();
        for at in among.as_deref().unwrap_or(&self.asked) {
            let at = *at as usize;
            let Some(record) = self.population.get(at) else { continue };
            if !all_hold(&conditions, self.access, record)? {
                continue;
            }
            match &self.ways {
                None => hits.push(Hit { record: at, link: None }),
                Some(ways) => {
                    let found = ways.from(record, self.population);
                    hits.extend(found.map(|record| Hit { record, link: Some(at) }));
                }
            }
        }
        let ordered = self.put_in_order(&mut hits);
        Ok(Answer { hits, ordered })
    }

    /// Sorts rows if every one has a value in every field of the order, and all of them compare.
    fn put_in_order(&self, hits: &mut Vec<Hit>) -> bool {
        let by = &self.access.order;
        let placed = hits.iter().map(|hit| {
            let record = sorted_by(hit, self.population)?;
            Some((*hit, places(by, record)?))
        });
        let Some(mut placed) = placed.collect::<Option<Vec<_>>>() else { return false };
        let Some((_, first)) = placed.first() else { return true };
        let compare = |a: &[Place], b: &[Place]| {
            a.iter().zip(b).map(|(a, b)| a.order(b)).collect::<Option<Vec<Ordering>>>()
        };
        if !placed.iter().all(|(_, own)| compare(first, own).is_some()) {
            return false;
        }
        placed.sort_by(|(_, a), (_, b)| in_order(by, a, b).unwrap_or(Ordering::Equal));
        *hits = placed.into_iter().map(|(hit, _)| hit).collect();
        true
    }
}

/// Rows by the value of a field for which a condition names one value.
#[derive(Debug)]
struct Pinned<'a> {
    kind: &'a FieldKind,
    operand: &'a Operand,
    by_value: Places,
    /// Rows whose value has no text to be found by.
    others: Vec<u32>,
}

impl<'a> Pinned<'a> {
    fn new<K: Known>(
        access: &'a Access,
        kinds: &'a [Arc<Entity>],
        asked: &[u32],
        population: &[K],
    ) -> Option<Self> {
        let (field, kind, operand) = access.terms.iter().find_map(|term| {
            let Test::Equal(operand) = &term.test else { return None };
            let mut own = kinds.iter().map(|kind| kind.field(&term.field).map(|f| &f.kind));
            let first = own.next()??;
            let pins = is_equal_by_text(first) && own.all(|other| other == Some(first));
            pins.then_some((&term.field, first, operand))
        })?;
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for at in asked {
            let record = population.get(*at as usize)?;
            let Some(datum) = record.value(field) else { continue };
            match identity(Typed { kind, datum: &datum }) {
                Some(text) => found.push((hash_of(&text), *at)),
                None => others.push(*at),
            }
        }
        Some(Self { kind, operand, by_value: Places::new(found.into_iter()), others })
    }

    /// Rows that may satisfy the condition; nothing if all of them have to be looked at.
    fn candidates(&self, conditions: &Conditions) -> Result<Option<Vec<u32>>, Senseless> {
        let datum = conditions.datum(self.kind, self.operand)?;
        let Some(text) = identity(Typed { kind: self.kind, datum: &datum }) else {
            return Ok(None);
        };
        let found = self.by_value.find(hash_of(&text)).map(|at| at as u32);
        let mut all: Vec<u32> = found.chain(self.others.iter().copied()).collect();
        all.sort_unstable();
        Ok(Some(all))
    }
}

/// Times may be periods, and what only an attribute can hold is compared as one.
fn is_equal_by_text(kind: &FieldKind) -> bool {
    matches!(kind, FieldKind::Scalar(format) if format.precision().is_none())
}

fn all_hold(
    conditions: &Conditions,
    access: &Access,
    record: &impl Known,
) -> Result<bool, Senseless> {
    if !holds_together(conditions, access, &access.terms, record)? {
        return Ok(false);
    }
    for alternative in &access.alternatives {
        if holds_together(conditions, access, alternative, record)? {
            return Ok(true);
        }
    }
    Ok(access.alternatives.is_empty())
}

fn holds_together(
    conditions: &Conditions,
    access: &Access,
    questions: &[Question],
    record: &impl Known,
) -> Result<bool, Senseless> {
    for question in questions {
        // An input has the type of the first entity that is asked.
        let typed_by = access.asked().and_then(|entity| entity.field(&question.field));
        let Some(typed_by) = typed_by else { return Ok(false) };
        if !conditions.hold(question, &typed_by.kind, record)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The record whose fields an order is about: the link, or the row itself.
pub(super) fn sorted_by<'p, K>(hit: &Hit, population: &'p [K]) -> Option<&'p K> {
    population.get(hit.link.unwrap_or(hit.record))
}

/// As [`sorts`], of records that may not be there.
pub(super) fn order_of<K: Known>(by: &[OrderBy], a: Option<&K>, b: Option<&K>) -> Option<Ordering> {
    sorts(by, a?, b?)
}

/// The values of a record that an order is about; nothing if one is missing.
fn places(by: &[OrderBy], record: &impl Known) -> Option<Vec<Place>> {
    let place = |term: &OrderBy| {
        let (kind, datum) = (record.kind(&term.field)?, record.value(&term.field)?);
        Some(Place::of(Typed { kind, datum: &datum }))
    };
    by.iter().map(place).collect()
}

/// How two records sort by the values of their order.
fn in_order(by: &[OrderBy], a: &[Place], b: &[Place]) -> Option<Ordering> {
    for (term, (a, b)) in by.iter().zip(a.iter().zip(b)) {
        let order = a.order(b)?;
        let order = if term.descending { order.reverse() } else { order };
        if order.is_ne() {
            return Some(order);
        }
    }
    Some(Ordering::Equal)
}

/// How two records sort; nothing if one of them has no place in the order.
pub fn sorts<K: Known>(by: &[OrderBy], a: &K, b: &K) -> Option<Ordering> {
    in_order(by, &places(by, a)?, &places(by, b)?)
}
