//! The rows that links lead to.

use std::fmt::Write as _;
use std::sync::Arc;

use keyloom_keys::{Case, Precision, Value};

use super::answer::Senseless;
use super::record::{Datum, Known, operand, stored};
use crate::evaluate::{Places, hash_of};
use crate::generate::shard_of;
use crate::model::{Access, Entity, FieldKind, Shards};

/// The rows that links lead to, found by the values that they share.
#[derive(Debug)]
pub(super) struct Ways {
    kinds: Vec<Way>,
}

/// The way to one kind of rows.
#[derive(Debug)]
struct Way {
    entity: Arc<Entity>,
    joins: Vec<Join>,
    rows: Places,
}

/// A field that a link and the row it leads to share.
#[derive(Debug)]
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
    pub(super) fn new<K: Known>(
        access: &Access,
        via: &Entity,
        population: &[K],
    ) -> Result<Self, Senseless> {
        let mut kinds = Vec::new();
        for kind in &access.find {
            let joins = joins(kind, via).ok_or_else(|| Senseless::NoWay {
                via: via.name.clone(),
                find: kind.name.clone(),
            })?;
            let numbered = population.iter().zip(0_u32..);
            let own = numbered.filter(|(record, _)| record.entity().name == kind.name);
            let rows =
                Places::new(own.filter_map(|(record, at)| {
                    Some((hash_of(&shared(kind, &joins, record)?), at))
                }));
            kinds.push(Way { entity: Arc::clone(kind), joins, rows });
        }
        Ok(Self { kinds })
    }

    /// The positions of the rows that a link leads to.
    pub(super) fn from<'w, K: Known>(
        &'w self,
        link: &'w K,
        population: &'w [K],
    ) -> impl Iterator<Item = usize> + 'w {
        self.kinds.iter().flat_map(move |way| {
            let wanted = shared(&way.entity, &way.joins, link);
            let found = wanted.iter().flat_map(|text| way.rows.find(hash_of(text)));
            let mut found: Vec<usize> = found.collect();
            // Others may have the same hash.
            found.retain(|at| {
                let row = population.get(*at);
                row.and_then(|row| shared(&way.entity, &way.joins, row)) == wanted
            });
            found
        })
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
fn shared(entity: &Entity, joins: &[Join], record: &impl Known) -> Option<String> {
    let mut text = String::new();
    for join in joins {
        if let Some(shards) = &join.shards {
            let _ = write!(text, "{},", shard(entity, shards, record)?);
            continue;
        }
        let datum = match record.value(&join.field)?.into_owned() {
            Datum::Scalar(value) => operand(&join.kind, &value),
            document @ Datum::Document(_) => document,
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
fn shard(entity: &Entity, shards: &Shards, record: &impl Known) -> Option<u32> {
    let value = |by: &str| match (record.value(by)?.into_owned(), entity.field(by)) {
        (Datum::Scalar(value), Some(field)) => match operand(&field.kind, &value) {
            Datum::Scalar(own) => Some(own),
            Datum::Document(_) => Some(value),
        },
        _ => None,
    };
    shard_of(entity, &shards.by, shards.count, value)
}
