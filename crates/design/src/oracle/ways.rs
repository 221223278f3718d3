//! The rows that links lead to.

use std::fmt::Write as _;
use std::sync::Arc;

use keyloom_keys::{Case, FieldFormat, FieldType, Precision, Value};

use super::answer::Senseless;
use super::record::{Datum, Known, operand, stored};
use super::shard::shard_of;
use crate::evaluate::{Places, hash_of};
use crate::key::{FieldPiece, Piece};
use crate::model::{Access, Entity, EntityKey, FieldKind, Shards};

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

/// The fields by which a link means rows of an entity: those of the primary key if it tells them all, else those of the
/// first index that it tells and that has every row. Nothing if there is none.
fn joins(entity: &Entity, link: &Entity) -> Option<Vec<Join>> {
    entity.table.indexes.iter().enumerate().find_map(|(at, index)| {
        let attributes = index.hash.iter().chain(&index.range);
        let own = |name: &str| entity.keys.iter().find(|key| key.attribute == name);
        let keys: Vec<&EntityKey> =
            attributes.map(|attribute| own(&attribute.name)).collect::<Option<_>>()?;
        let has_all = |key: &&EntityKey| {
            key.when.is_none()
                && fields_of(key)
                    .all(|piece| entity.field(piece.name()).is_some_and(|field| !field.optional))
        };
        // The table comes first, and has every row.
        if at > 0 && !keys.iter().all(has_all) {
            return None;
        }
        keys.into_iter().flat_map(fields_of).map(|piece| join(entity, link, piece)).collect()
    })
}

fn fields_of(key: &EntityKey) -> impl Iterator<Item = &FieldPiece> {
    let shape = key.shape.template();
    shape.pieces().iter().filter_map(Piece::as_field)
}

/// What a link and a row share in a field of the row's key; nothing if the link does not tell it.
fn join(entity: &Entity, link: &Entity, piece: &FieldPiece) -> Option<Join> {
    let name = piece.name();
    let kind = entity.field(name)?.kind.clone();
    let mut shards = None;
    let is_told = match &kind {
        FieldKind::Shard(own) if !own.by.is_empty() => {
            shards = Some(own.clone());
            own.by.iter().all(|by| tells(link, entity, by))
        }
        // A random one is nowhere but in keys, so that only the link's own primary key can have it.
        FieldKind::Shard(_) => {
            let table = link.table.indexes.first()?;
            let is_primary = |key: &&EntityKey| {
                let mut attributes = table.hash.iter().chain(&table.range);
                attributes.any(|attribute| attribute.name == key.attribute)
            };
            let mut pieces = link.keys.iter().filter(is_primary).flat_map(fields_of);
            pieces.any(|piece| piece.name() == name)
        }
        _ => tells(link, entity, name),
    };
    let (precision, case) = (piece.format().precision(), piece.format().case());
    is_told.then(|| Join { field: name.to_owned(), kind, precision, case, shards })
}

/// Whether the value of a link's field can be a value of an entity's field of that name: it is of the same kind, and a
/// time as fine as any key of the entity has it.
fn tells(link: &Entity, entity: &Entity, name: &str) -> bool {
    let (Some(theirs), Some(own)) = (link.field(name), entity.field(name)) else { return false };
    let (FieldKind::Scalar(given), FieldKind::Scalar(wanted)) = (&theirs.kind, &own.kind) else {
        return theirs.kind == own.kind;
    };
    let pieces = entity.keys.iter().flat_map(fields_of).filter(|piece| piece.name() == name);
    match (group(given), group(wanted)) {
        (Group::Time(fine), Group::Time(_)) => {
            pieces.filter_map(|piece| piece.format().precision()).all(|wanted| wanted <= fine)
        }
        // With a fraction, the digits after the point are written out.
        (Group::Fraction, Group::Fraction) => given.to_string() == wanted.to_string(),
        (given, wanted) => given == wanted,
    }
}

/// Types whose values can be the same.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Group<'f> {
    Text,
    Whole,
    Fraction,
    Time(Precision),
    /// Only the type itself.
    Alone(&'f FieldType),
}

fn group(format: &FieldFormat) -> Group<'_> {
    match format.kind() {
        FieldType::String | FieldType::Token | FieldType::Fixed | FieldType::Enum(_) => Group::Text,
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 | FieldType::I64 => {
            Group::Whole
        }
        FieldType::Decimal { .. } => Group::Fraction,
        FieldType::Year => Group::Time(Precision::Year),
        FieldType::Month => Group::Time(Precision::Month),
        FieldType::Date => Group::Time(Precision::Day),
        FieldType::Hour => Group::Time(Precision::Hour),
        FieldType::DateTime => Group::Time(Precision::Second),
        FieldType::DateTimeMs => Group::Time(Precision::Millisecond),
        alone => Group::Alone(alone),
    }
}

/// The shared values of a record as one text, each in the type of the entity that is reached, as finely as its
/// key tells it; nothing if one is missing.
fn shared(entity: &Entity, joins: &[Join], record: &impl Known) -> Option<String> {
    let mut text = String::new();
    for join in joins {
        if let Some(shards) = &join.shards {
            let _ = write!(text, "{},", shard_of(entity, shards, record)?);
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
