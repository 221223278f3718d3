//! U04, U05: keys with too few values for the items that are declared, and time to live that never comes (T01).

use keyloom_keys::{Case, FieldFormat, FieldType, Precision, Timestamp};

use super::{Context, Findings, key_text, quoted, short};
use crate::cost::cardinality;
use crate::model::{Entity, Field, FieldKind};
use crate::words::about;

/// How many different values of a field a key can hold that writes it in this format.
fn capacity(field: &Field, written: &FieldFormat) -> Option<f64> {
    let FieldKind::Scalar(own) = &field.kind else { return None };
    if let Some(precision) = written.precision() {
        return Some(periods(field, precision));
    }
    let by_type = match own.kind() {
        FieldType::U8 => 256.0,
        FieldType::U16 => 65_536.0,
        FieldType::U32 => 4_294_967_296.0,
        FieldType::Bool => 2.0,
        FieldType::Enum(values) => return Some(folded(values, written.case()) as f64),
        FieldType::Hex => return Some(16_f64.powf(written.lengths().max? as f64)),
        FieldType::String | FieldType::Token | FieldType::Fixed => {
            let lengths = written.lengths();
            return Some(texts(lengths.min, lengths.max?, written.case()));
        }
        FieldType::U64 => f64::INFINITY,
        _ => return None,
    };
    let by_width = if written.is_plain() {
        f64::INFINITY
    } else {
        written.width().map_or(f64::INFINITY, |width| 10_f64.powi(width.min(300) as i32))
    };
    Some(by_type.min(by_width))
}

/// How many periods of this length there are from the first to the last time that a field can have.
fn periods(field: &Field, precision: Precision) -> f64 {
    let end = |time: Option<Timestamp>, otherwise| {
        time.or_else(|| Timestamp::from_date(otherwise, 12, 31))
    };
    let first = end(field.since, 0).map_or(0, Timestamp::millis);
    let last = end(field.until, 9999).map_or(i64::MAX, |last| last.last_millisecond().millis());
    (precision.index_of(last) - precision.index_of(first) + 1) as f64
}

/// How many of the listed values differ once their case is folded.
fn folded(values: &[String], case: Case) -> usize {
    let mut texts: Vec<String> = values
        .iter()
        .map(|value| match case {
            Case::AsIs => value.clone(),
            Case::Lower => value.to_ascii_lowercase(),
            Case::Upper => value.to_ascii_uppercase(),
        })
        .collect();
    texts.sort_unstable();
    texts.dedup();
    texts.len()
}

/// Above this length there are more texts than items.
const MANY_BYTES: usize = 16;

/// How many texts in UTF-8 have so many bytes; letters that differ by case count once if it is folded.
fn texts(least: usize, most: usize, case: Case) -> f64 {
    if most > MANY_BYTES {
        return f64::INFINITY;
    }
    let single = if case == Case::AsIs { 128.0 } else { 102.0 };
    let characters = [single, 1920.0, 61_440.0, 1_048_576.0];
    let mut counts = vec![1.0];
    for _ in 0..most {
        let last = characters.iter().zip(counts.iter().rev());
        let count = last.map(|(characters, shorter)| characters * shorter).sum::<f64>();
        counts.push(count);
    }
    counts.iter().skip(least).sum()
}

/// U04: two of the declared items must have one key.
pub(super) fn too_few_keys(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        too_narrow(context, entity, findings);
        let (Some(count), Some(part)) = (entity.volume.count, entity.primary_key().parts().last())
        else {
            continue;
        };
        let mut keys = 1.0;
        let mut shown = Vec::new();
        for name in entity.identity() {
            let Some(field) = entity.field(name) else { continue };
            if matches!(field.kind, FieldKind::Shard(_)) {
                continue;
            }
            let known = cardinality(context.design, entity, name);
            let values = match (known, capacity_in_key(entity, field)) {
                (Some(known), Some(most)) => known.min(most),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => f64::INFINITY,
            };
            keys *= values.max(1.0);
            shown.push(format!("{} of `{name}`", short(values)));
        }
        if !keys.is_finite() || keys >= count {
            continue;
        }
        let shown =
            if shown.is_empty() { "it has no field".to_owned() } else { shown.join(" times ") };
        findings
            .add(
                part.span,
                &entity.name,
                format!(
                    "{} of `{}` are declared, and its primary key has {}",
                    about(count, "item"),
                    entity.name,
                    about(keys, "value")
                ),
            )
            .because(format!("{shown}; a put with a key that is taken replaces the item without an error"))
            .fix("put into the key what tells the items apart, or correct `count`, `distinct` and `width`");
    }
}

/// How many values of a field the primary key tells apart: as many as the finest form that stands there.
fn capacity_in_key(entity: &Entity, field: &Field) -> Option<f64> {
    let key = entity.primary_key();
    let pieces = key.parts().flat_map(|part| part.shape.template().field_pieces());
    let own = pieces.filter(|piece| piece.name() == field.name);
    let capacities: Option<Vec<f64>> = own.map(|piece| capacity(field, piece.format())).collect();
    capacities?.into_iter().reduce(f64::max)
}

/// A width that the declared values do not fit.
fn too_narrow(context: &Context, entity: &Entity, findings: &mut Findings) {
    for field in &entity.fields {
        let in_key =
            entity.keys.iter().any(|key| key.shape.template().fields().any(|f| f == field.name));
        let most = field.format().and_then(|format| capacity(field, &format));
        let (true, Some(most), Some(distinct)) = (in_key, most, field.distinct) else {
            continue;
        };
        if distinct <= most {
            continue;
        }
        let _ = context;
        findings
            .add(
                field.span,
                &entity.name,
                format!(
                    "`{}` has {}, and {} fit its type and width",
                    field.name,
                    about(distinct, "value"),
                    short(most)
                ),
            )
            .because("a number that is wider than its field cannot be written into a key, and the item is refused")
            .fix(format!("give `{}` a greater type or `width`", field.name));
    }
}

/// U05: the fields that make an item unique are not all in its key.
pub(super) fn unidentified(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        let lost: Vec<&str> = entity
            .unique_by
            .iter()
            .map(String::as_str)
            .filter(|name| !is_in_key(entity, name))
            .collect();
        let (false, Some(part)) = (lost.is_empty(), entity.primary_key().parts().last()) else {
            continue;
        };
        findings
            .add(
                part.span,
                &entity.name,
                format!("two `{}` that differ in {} have the same primary key", entity.name, quoted(&lost)),
            )
            .because(format!(
                "its identity is {}, and {} holds less; the second put replaces the first without an error",
                quoted(&entity.unique_by),
                key_text(part)
            ))
            .fix(format!("add {} to the key", quoted(&lost)));
    }
}

/// Whether the primary key holds all of a field.
fn is_in_key(entity: &Entity, name: &str) -> bool {
    let Some(field) = entity.field(name) else { return false };
    entity.primary_key().parts().any(|part| {
        let mut pieces = part.shape.template().field_pieces();
        pieces.any(|piece| {
            piece.name() == name && (part.shape.is_native() || field.is_told_by(piece.format()))
        })
    })
}

/// T01: DynamoDB expires items by a number of seconds, and says nothing about anything else.
pub(super) fn never_expires(context: &Context, findings: &mut Findings) {
    for table in context.design.tables() {
        let Some(attribute) = &table.ttl else { continue };
        let has = context.design.entities_in(table).filter_map(|e| Some((e, e.field(attribute)?)));
        let fields: Vec<(&std::sync::Arc<Entity>, &Field)> = has.collect();
        if fields.is_empty() && context.design.entities_in(table).next().is_some() {
            findings
                .add(
                    table.span,
                    &table.name,
                    format!("no entity of table `{}` has the attribute `{attribute}`, so nothing expires", table.name),
                )
                .because("time to live looks at one attribute, and an item without it stays for ever")
                .fix(format!("declare it where items should expire: {attribute} = \"number\""));
        }
        for (entity, field) in fields {
            let Some(why) = wrong_time(field) else { continue };
            findings
                .add(
                    field.span,
                    &entity.name,
                    format!("`{attribute}` of `{}` never expires: it is {why}", entity.name),
                )
                .because("DynamoDB expires an item by a number of seconds since 1970; anything else it leaves alone without an error")
                .fix(format!("{attribute} = \"number\", in seconds since 1970"));
        }
    }
}

/// What is wrong with a field as time to live.
fn wrong_time(field: &Field) -> Option<&'static str> {
    if !field.is_stored() {
        return Some("kept in keys only");
    }
    match &field.kind {
        FieldKind::Number => None,
        FieldKind::Scalar(format) => match format.kind() {
            FieldType::U32 | FieldType::U64 | FieldType::I64 | FieldType::Decimal { .. } => None,
            FieldType::U8 | FieldType::U16 => Some("too small for the seconds since 1970"),
            FieldType::EpochMs => Some("in milliseconds, which is a time some 50,000 years ahead"),
            FieldType::Bool => Some("a boolean"),
            _ => Some("a text"),
        },
        FieldKind::LooseTime => Some("a text"),
        FieldKind::Shard(_) => Some("kept in keys only"),
        _ => Some("not a number"),
    }
}
