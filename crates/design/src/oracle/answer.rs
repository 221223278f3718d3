//! The records that a pattern asks for.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};
use std::sync::Arc;

use keyloom_keys::{Case, Precision, Value};

use super::compare::{Typed, order};
use super::record::{Datum, Record, operand, stored};
use super::test::Conditions;
use crate::generate::shard_of;
use crate::model::{Access, Entity, FieldKind, OrderBy, Question, Shards};

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Senseless {
    /// An input has no value.
    NoInput {
        /// Its name.
        name: String,
    },
    /// Link rows do not tell which rows they lead to.
    NoWay {
        /// The link.
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
    /// The rows.
    pub hits: Vec<Hit>,
    /// Whether every two of them have a place in the order; without, their sequence says nothing.
    pub ordered: bool,
}

/// Which records a pattern asks for with these inputs.
pub fn ask(
    access: &Access,
    inputs: &BTreeMap<String, Value<'static>>,
    population: &[Record],
) -> Result<Answer, Senseless> {
    let conditions = Conditions { inputs };
    let kinds = access.via.as_ref().map_or(access.find.as_slice(), std::slice::from_ref);
    let ways = access.via.as_ref().map(|via| Ways::new(access, via, population)).transpose()?;
    let mut hits = Vec::new();
    for (at, record) in population.iter().enumerate() {
        let wanted = kinds.iter().any(|kind| kind.name == record.entity.name);
        if !wanted || !all_hold(&conditions, access, record)? {
            continue;
        }
        match &ways {
            None => hits.push(Hit { record: at, link: None }),
            Some(ways) => {
                let found = ways.from(record);
                hits.extend(found.map(|record| Hit { record, link: Some(at) }));
            }
        }
    }
    let ordered = have_places(&access.order, &hits, population);
    if ordered {
        hits.sort_by(|a, b| {
            let order = order_of(&access.order, sorted_by(a, population), sorted_by(b, population));
            order.unwrap_or(Ordering::Equal)
        });
    }
    Ok(Answer { hits, ordered })
}

/// Whether every row has a value in every field of the order, and all of them compare.
fn have_places(by: &[OrderBy], hits: &[Hit], population: &[Record]) -> bool {
    by.iter().all(|term| {
        let one = std::slice::from_ref(term);
        let first = hits.first().and_then(|hit| sorted_by(hit, population));
        hits.iter().all(|hit| order_of(one, first, sorted_by(hit, population)).is_some())
    })
}

fn all_hold(conditions: &Conditions, access: &Access, record: &Record) -> Result<bool, Senseless> {
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
    record: &Record,
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
pub(super) fn sorted_by<'p>(hit: &Hit, population: &'p [Record]) -> Option<&'p Record> {
    population.get(hit.link.unwrap_or(hit.record))
}

/// As [`sorts`], of records that may not be there.
pub(super) fn order_of(by: &[OrderBy], a: Option<&Record>, b: Option<&Record>) -> Option<Ordering> {
    sorts(by, a?, b?)
}

/// How two records sort; nothing if one of them has no place in the order.
pub fn sorts(by: &[OrderBy], a: &Record, b: &Record) -> Option<Ordering> {
    for term in by {
        let typed = |record| -> Option<Typed<'_>> {
            let record: &Record = record;
            Some(Typed { kind: record.kind(&term.field)?, datum: record.value(&term.field)? })
        };
        let order = order(typed(a)?, typed(b)?)?;
        let order = if term.descending { order.reverse() } else { order };
        if order.is_ne() {
            return Some(order);
        }
    }
    Some(Ordering::Equal)
}

/// The rows that links lead to, found by the values that they share.
struct Ways {
    kinds: Vec<Way>,
}

/// The way to one kind of rows.
struct Way {
    entity: Arc<Entity>,
    joins: Vec<Join>,
    rows: HashMap<String, Vec<usize>>,
}

/// A field that a link and the row it leads to share.
struct Join {
    field: String,
    /// Its type in the entity that is reached.
    kind: FieldKind,
    /// How finely the key tells it, and in which case.
    precision: Option<Precision>,
    case: Case,
    /// How it follows from other fields, if it is a calculated shard.
    shards: Option<Shards>,
}

impl Ways {
    fn new(access: &Access, via: &Entity, population: &[Record]) -> Result<Self, Senseless> {
        let mut kinds = Vec::new();
        for kind in &access.find {
            let joins = joins(kind, via).ok_or_else(|| Senseless::NoWay {
                via: via.name.clone(),
                find: kind.name.clone(),
            })?;
            let mut rows: HashMap<String, Vec<usize>> = HashMap::new();
            for (at, record) in population.iter().enumerate() {
                if record.entity.name == kind.name
                    && let Some(shared) = shared(kind, &joins, record)
                {
                    rows.entry(shared).or_default().push(at);
                }
            }
            kinds.push(Way { entity: Arc::clone(kind), joins, rows });
        }
        Ok(Self { kinds })
    }

    fn from<'w>(&'w self, link: &'w Record) -> impl Iterator<Item = usize> + 'w {
        self.kinds
            .iter()
            .filter_map(|way| way.rows.get(&shared(&way.entity, &way.joins, link)?))
            .flatten()
            .copied()
    }
}

/// The fields by which an entity is reached from a link; nothing if the link does not tell them.
fn joins(entity: &Entity, link: &Entity) -> Option<Vec<Join>> {
    let index = entity.reached_from(link)?;
    let key = entity.index_key(index)?;
    let pieces = key.parts().flat_map(|part| part.shape.template().field_pieces());
    let joins = pieces.filter_map(|piece| {
        let kind = entity.field(piece.name())?.kind.clone();
        let shards = match &kind {
            FieldKind::Shard(shards) if !shards.by.is_empty() => Some(shards.clone()),
            _ => None,
        };
        let (precision, case) = (piece.format().precision(), piece.format().case());
        Some(Join { field: piece.name().to_owned(), kind, precision, case, shards })
    });
    Some(joins.collect())
}

/// The shared values of a record as one text, each in the type of the entity that is reached, as finely as its
/// key tells it; nothing if one is missing.
fn shared(entity: &Entity, joins: &[Join], record: &Record) -> Option<String> {
    let mut text = String::new();
    for join in joins {
        if let Some(shards) = &join.shards {
            let _ = write!(text, "{},", shard(entity, shards, record)?);
            continue;
        }
        let datum = match record.value(&join.field)? {
            Datum::Scalar(value) => operand(&join.kind, value),
            document @ Datum::Document(_) => document.clone(),
        };
        let cut = match (in_time(join, datum), join.precision) {
            // A moment is the same with and without milliseconds; a day is no moment.
            (Datum::Scalar(Value::Time(time)), Some(precision)) => {
                let fine = time.precision() >= Precision::Second;
                let precision = if fine { precision } else { precision.min(time.precision()) };
                Datum::Scalar(Value::Time(time.at(precision)))
            }
            (Datum::Scalar(Value::Text(text)), _) => Datum::Scalar(match join.case {
                Case::AsIs => Value::Text(text),
                Case::Lower => Value::from(text.to_ascii_lowercase()),
                Case::Upper => Value::from(text.to_ascii_uppercase()),
            }),
            (datum, _) => datum,
        };
        let _ = write!(text, "{:?},", stored(&join.kind, &cut));
    }
    Some(text)
}

/// A loosely written time as the moment it means, where the key tells its period.
fn in_time(join: &Join, datum: Datum) -> Datum {
    match &datum {
        Datum::Scalar(Value::Text(text))
            if join.kind == FieldKind::LooseTime && join.precision.is_some() =>
        {
            text.parse().map_or(datum, |time| Datum::Scalar(Value::Time(time)))
        }
        _ => datum,
    }
}

/// The shard that the values of a record give in the entity that is reached.
fn shard(entity: &Entity, shards: &Shards, record: &Record) -> Option<u32> {
    let value = |by: &str| match (record.value(by)?, entity.field(by)) {
        (Datum::Scalar(value), Some(field)) => match operand(&field.kind, value) {
            Datum::Scalar(own) => Some(own),
            Datum::Document(_) => Some(value.clone()),
        },
        _ => None,
    };
    shard_of(entity, &shards.by, shards.count, value)
}
