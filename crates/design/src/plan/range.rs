//! Key ranges with unknown inputs: which pieces are bound, and the language of the keys in the range.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyloom_core::AttributeValue;
use keyloom_keys::{
    ByteSet, FieldCondition, FieldFormat, FieldType, Language, Operator, RangeError, Term, Value,
};

use super::bind::{Fan, Source};
use super::concrete::SortCondition;
use crate::condition::Comparison;
use crate::generate::sample_of;
use crate::key::{FieldPiece, KeyTemplate, Piece};
use crate::model::{End, Entity, EntityKey, IndexKey, Operand, Question, Test};
use crate::mutation::{Mutation, is_on};

/// A range of keys of one index: a partition key and a part of its sort keys.
#[derive(Clone, Debug)]
pub struct ReadRange {
    /// The entity whose templates build the key.
    pub entity: Arc<Entity>,
    /// The sources of the values of key fields.
    pub sources: Vec<(String, Source)>,
    /// The sort keys in the range.
    pub sort: SortPart,
}

/// The sort keys of a range.
#[derive(Clone, Debug)]
pub enum SortPart {
    /// All sort keys.
    Whole,
    /// One sort key.
    Exact,
    /// Sort keys that begin with the bound pieces and whose next field satisfies the condition.
    Open {
        /// The first sort key attribute that is not completely bound.
        attribute: usize,
        /// The number of its bound pieces.
        pieces: usize,
        /// The condition on the next field.
        range: Option<Question>,
    },
    /// Sort keys with the common prefix of all entities of a collection.
    Common(Vec<Piece>),
}

impl ReadRange {
    /// The source of a field's value.
    pub fn source(&self, field: &str) -> Option<&Source> {
        self.sources.iter().find(|(name, _)| name == field).map(|(_, source)| source)
    }

    /// The maximum number of rows in the range, if their primary keys limit it.
    pub(crate) fn most_rows(&self, key: &IndexKey) -> Option<u64> {
        let bound = self.bound_fields(key);
        let mut most: u64 = 1;
        for piece in
            self.entity.primary_key().parts().flat_map(|p| p.shape.template().field_pieces())
        {
            let told = bound.iter().any(|known| {
                known.name() == piece.name()
                    && (known.format().precision() >= piece.format().precision()
                        || is_on(Mutation::PeriodsIdentify))
                    && known.format().case() == piece.format().case()
            });
            if !told && !is_on(Mutation::EveryKeyIsUnique) {
                let values = self.entity.field(piece.name())?.values()?;
                most = most.saturating_mul(values.len() as u64);
            }
        }
        Some(most)
    }

    /// The fields that have one value in the range.
    fn bound_fields<'k>(&self, key: &IndexKey<'k>) -> Vec<&'k FieldPiece> {
        let mut bound: Vec<&FieldPiece> =
            key.hash.iter().flat_map(|part| part.shape.template().field_pieces()).collect();
        let (attributes, pieces) = match &self.sort {
            SortPart::Exact => (key.range.len(), 0),
            SortPart::Open { attribute, pieces, .. } => (*attribute, *pieces),
            SortPart::Whole | SortPart::Common(_) => (0, 0),
        };
        let whole = key.range.iter().take(attributes);
        bound.extend(whole.flat_map(|part| part.shape.template().field_pieces()));
        if let Some(part) = key.range.get(attributes) {
            let leading = part.shape.template().pieces().iter().take(pieces);
            bound.extend(leading.filter_map(Piece::as_field));
        }
        bound
    }

    /// Whether every request states the field in the keys that it reads. A field may have a source and no place there:
    /// a shard is calculated from it, or the range ends before it.
    pub(crate) fn is_stated(&self, key: &IndexKey, field: &str) -> bool {
        self.stated_fields(key).iter().any(|piece| piece.name() == field)
    }

    /// The fields that every request states in the keys that it reads.
    pub(crate) fn stated_fields<'k>(&'k self, key: &'k IndexKey) -> Vec<&'k FieldPiece> {
        let mut stated = self.bound_fields(key);
        if let SortPart::Common(pieces) = &self.sort {
            stated.extend(pieces.iter().filter_map(Piece::as_field));
        }
        stated
    }

    /// The language of each key attribute of the range, for any inputs.
    pub(crate) fn languages(&self, key: &IndexKey, fans: &[Fan]) -> Vec<Language> {
        let whole = |template: &KeyTemplate| {
            let mut language = Language::empty_text();
            self.add_bound(&mut language, template, template.pieces(), fans);
            language
        };
        let mut languages: Vec<Language> =
            key.hash.iter().map(|part| whole(part.shape.template())).collect();
        for (attribute, part) in key.range.iter().enumerate() {
            languages.push(self.sort_language(attribute, part.shape.template(), fans));
        }
        languages
    }

    fn sort_language(&self, attribute: usize, template: &KeyTemplate, fans: &[Fan]) -> Language {
        let mut language = Language::empty_text();
        let all = template.pieces();
        match &self.sort {
            SortPart::Whole => language.anything(),
            SortPart::Exact => self.add_bound(&mut language, template, all, fans),
            SortPart::Common(pieces) if attribute == 0 => {
                self.add_bound(&mut language, template, pieces, fans);
                language.anything();
            }
            SortPart::Common(_) => language.anything(),
            SortPart::Open { attribute: open, .. } if attribute < *open => {
                self.add_bound(&mut language, template, all, fans);
            }
            SortPart::Open { attribute: open, .. } if attribute > *open => language.anything(),
            SortPart::Open { pieces, range, .. } => {
                let bound = all.get(..*pieces).unwrap_or(all);
                self.add_bound(&mut language, template, bound, fans);
                let next = template.pieces().get(*pieces).and_then(Piece::as_field);
                if let (Some(question), Some(field)) = (range, next) {
                    language.classes(&begins_inside(field.format(), &question.test));
                }
                language.anything();
            }
        }
        language
    }

    /// Appends bound pieces: a field has the value that the pattern states, or any.
    fn add_bound(
        &self,
        language: &mut Language,
        template: &KeyTemplate,
        pieces: &[Piece],
        fans: &[Fan],
    ) {
        for piece in pieces {
            match piece {
                Piece::Literal(text) => language.literal(text.as_bytes()),
                Piece::Field(field) => match self.stated_texts(template, field, fans) {
                    Some(texts) => language.choice(&texts),
                    None => template.add_field(language, field),
                },
            }
        }
    }

    /// The encodings of a field in the range, if the pattern states its values.
    fn stated_texts(
        &self,
        template: &KeyTemplate,
        field: &FieldPiece,
        fans: &[Fan],
    ) -> Option<Vec<String>> {
        let written = |operand: &Operand| match operand {
            Operand::Value(value) => template.encode_field(field, value),
            Operand::Input(_) => None,
        };
        match self.source(field.name())? {
            Source::Pinned(operand) => Some(vec![written(operand)?]),
            Source::Fanned => fans.iter().find_map(|fan| match fan {
                Fan::Values { field: name, values } if *name == field.name() => {
                    values.iter().map(written).collect()
                }
                _ => None,
            }),
            Source::Calculated { .. } => None,
        }
    }
}

/// The first byte of every text inside a range on a field; empty if the range may contain the bare prefix.
fn begins_inside(format: &FieldFormat, test: &Test) -> Vec<ByteSet> {
    let text = format.is_text() || matches!(format.kind(), FieldType::Hex);
    match test {
        // Without a lower bound, a range of texts begins with the prefix itself.
        Test::Range { low: None, .. } if text && !format.is_desc() => Vec::new(),
        Test::Range { high: None, .. } if text && format.is_desc() => Vec::new(),
        Test::Range { .. } | Test::Equal(_) => vec![first_bytes(format)],
        _ => Vec::new(),
    }
}

/// Every byte that a text between two encoded values can begin with.
fn first_bytes(format: &FieldFormat) -> ByteSet {
    match format.kind() {
        FieldType::I64 | FieldType::Decimal { .. } => ByteSet::range(b'-', b'0'),
        FieldType::Ulid => ByteSet::range(b'0', b'7'),
        // `g` sorts above hex of any length and is the upper bound of an open range.
        FieldType::Hex if format.width().is_none() => ByteSet::range(b'0', b'g'),
        FieldType::Uuid | FieldType::Hex => ByteSet::range(b'0', b'f'),
        FieldType::Bool => ByteSet::range(b'0', b'1'),
        FieldType::String | FieldType::Token | FieldType::Fixed | FieldType::Enum(_) => {
            ByteSet::ALL
        }
        _ => ByteSet::range(b'0', b'9'),
    }
}

/// A condition for the key library; `None` if an operand has no value.
pub(crate) fn field_condition<'v>(
    field: &str,
    test: &Test,
    resolve: &dyn Fn(&Operand) -> Option<Value<'static>>,
) -> Option<FieldCondition<'v>> {
    let name = field.to_owned();
    match test {
        Test::Equal(operand) => Some(FieldCondition::eq(name, resolve(operand)?)),
        Test::BeginsWith(operand) => {
            Some(FieldCondition::begins_with(name, resolve(operand)?.to_string()))
        }
        Test::Range { low, high } => {
            let term = |end: &End, open: Operator, closed: Operator| {
                let operator = if end.inclusive { closed } else { open };
                Some(Term::Compare(operator, resolve(&end.operand)?))
            };
            let mut terms = Vec::new();
            if let Some(low) = low {
                terms.push(term(low, Operator::Gt, Operator::Ge)?);
            }
            if let Some(high) = high {
                terms.push(term(high, Operator::Lt, Operator::Le)?);
            }
            let mut terms = terms.into_iter();
            let first = FieldCondition::new(name, terms.next()?);
            Some(terms.fold(first, FieldCondition::and))
        }
        _ => None,
    }
}

/// Whether the keys that satisfy a condition on a field are contiguous, whatever its inputs are.
pub(crate) fn is_contiguous(part: &EntityKey, piece: &FieldPiece, test: &Test) -> bool {
    let template = part.shape.template();
    let bound: Vec<(&str, Value)> = template
        .field_pieces()
        .take_while(|field| field.name() != piece.name())
        .map(|field| (field.name(), sample_of(field.format(), 1)))
        .collect();
    let Some(conditions) = possible_conditions(template, piece, test) else { return false };
    let Ok(ranges) = template.template().ranges(&bound, piece.name(), &conditions) else {
        return false;
    };
    let mut is_possible = false;
    for range in ranges {
        match range {
            Ok(_) => is_possible = true,
            Err(RangeError::NotContiguous { .. }) => return false,
            // Nothing satisfies it, or it is no value of the field: no reason against other inputs.
            Err(_) => {}
        }
    }
    is_possible
}

/// A condition with inputs among which there is one for each way in which the keys may be no range.
fn possible_conditions(
    template: &KeyTemplate,
    piece: &FieldPiece,
    test: &Test,
) -> Option<Vec<FieldCondition<'static>>> {
    let ends = match test {
        Test::Range { low, high } => [low.as_ref(), high.as_ref()].map(|end| Some(&end?.operand)),
        Test::Equal(operand) | Test::BeginsWith(operand) => [Some(operand), None],
        _ => return None,
    };
    if let ([Some(Operand::Input(_)), Some(Operand::Input(_))], FieldType::Enum(values)) =
        (ends, piece.format().kind())
    {
        return Some(neighbours(template, piece, values));
    }
    // Different samples for the two bounds, or the range would be empty.
    let [lows, highs] = [(ends[0], 3), (ends[1], 7)].map(|(operand, sample)| match operand {
        Some(Operand::Input(_)) => possible_inputs(template, piece, test, sample),
        Some(Operand::Value(value)) => vec![value.clone()],
        None => vec![Value::Bool(true)],
    });
    let pairs = lows.iter().flat_map(|low| highs.iter().map(move |high| (low, high)));
    let condition = |(low, high): (&Value<'static>, &Value<'static>)| {
        let resolve = |operand: &Operand| {
            let is_high = ends[1].is_some_and(|end| std::ptr::eq(end, operand));
            Some(if is_high { high } else { low }.clone())
        };
        field_condition(piece.name(), test, &resolve)
    };
    pairs.map(condition).collect()
}

/// Each value of an enumeration, and each two that follow each other. Whatever the ends of a range, and whether they
/// belong to it, it wants a run of values. The keys of a run reach as far as those of its neighbours together, so that a
/// stranger between them lies between two neighbours.
fn neighbours(
    template: &KeyTemplate,
    piece: &FieldPiece,
    values: &[String],
) -> Vec<FieldCondition<'static>> {
    // A value that no key holds has no neighbours.
    let is_written =
        |value: &&String| template.encode_field(piece, &Value::from(value.as_str())).is_some();
    let mut values: Vec<&String> = values.iter().filter(is_written).collect();
    values.sort();
    let between = |low: &String, high: &String| {
        FieldCondition::between(piece.name().to_owned(), low.clone(), high.clone())
    };
    let pairs = values.windows(2).filter_map(|pair| match pair {
        [low, high] => Some(between(low, high)),
        _ => None,
    });
    values.iter().map(|value| between(value, value)).chain(pairs).collect()
}

/// Inputs of one end: a sample and, as what is wanted of an enumeration may have other keys in between, all of its values.
fn possible_inputs(
    template: &KeyTemplate,
    piece: &FieldPiece,
    test: &Test,
    sample: u32,
) -> Vec<Value<'static>> {
    let format = piece.format();
    let texts: Vec<String> = match (format.kind(), test) {
        (FieldType::Enum(values), Test::BeginsWith(_)) => {
            values.iter().flat_map(|value| beginnings(value)).collect()
        }
        (FieldType::Enum(values), Test::Equal(_)) => values.to_vec(),
        (FieldType::Enum(values), _) => {
            // The ends of a range need not be values: these two come before and after all.
            let outside = ["", "\u{10ffff}"].map(str::to_owned);
            values.iter().cloned().chain(outside).collect()
        }
        (_, Test::BeginsWith(_)) => possible_beginnings(template, piece, sample),
        _ => return vec![sample_of(format, sample)],
    };
    texts.into_iter().collect::<BTreeSet<String>>().into_iter().map(Value::from).collect()
}

/// The beginnings of a field's text, and some that end as what stands behind the field begins.
fn possible_beginnings(template: &KeyTemplate, piece: &FieldPiece, sample: u32) -> Vec<String> {
    let written = piece.format().encode(&sample_of(piece.format(), sample)).unwrap_or_default();
    let first = written.chars().next().unwrap_or('a');
    let is_own = |other: &Piece| other.as_field().is_some_and(|own| own.name() == piece.name());
    let behind = template.pieces().iter().skip_while(|other| !is_own(other)).nth(1);
    let literal = match behind {
        Some(Piece::Literal(literal)) => literal.as_str(),
        _ => "",
    };
    let overlaps = beginnings(literal).into_iter().map(|end| format!("{first}{end}"));
    let own = if written.is_empty() { vec![first.to_string()] } else { beginnings(&written) };
    own.into_iter().chain(overlaps).collect()
}

/// What a text begins with, from its first character to all of it.
fn beginnings(text: &str) -> Vec<String> {
    let ends = text.char_indices().map(|(at, character)| at + character.len_utf8());
    ends.filter_map(|end| text.get(..end)).map(str::to_owned).collect()
}

/// The texts that satisfy a condition on a sort key.
pub(crate) fn condition_language(condition: &SortCondition<AttributeValue>) -> Language {
    let mut language = Language::empty_text();
    let text = |value: &AttributeValue| value.as_s().unwrap_or_default().to_owned();
    match condition {
        SortCondition::BeginsWith(prefix) => {
            language.literal(text(prefix).as_bytes());
            language.anything();
        }
        SortCondition::Between(low, high) => {
            language.between(text(low).as_bytes(), text(high).as_bytes());
        }
        SortCondition::Compare(Comparison::Equal | Comparison::NotEqual, value) => {
            language.literal(text(value).as_bytes());
        }
        SortCondition::Compare(Comparison::Less | Comparison::LessOrEqual, value) => {
            language.between(b"", text(value).as_bytes());
        }
        SortCondition::Compare(Comparison::Greater | Comparison::GreaterOrEqual, value) => {
            language.between(text(value).as_bytes(), &[0xff; 4]);
        }
    }
    language
}

#[cfg(test)]
mod tests {
    use keyloom_keys::{KeyRole, Template};

    use super::*;
    use crate::model::Escape;

    /// What is proved about a range holds for all that the database finds in it, the ends included.
    #[test]
    fn both_ends_of_a_range_begin_as_its_language_says() {
        let kinds = [
            "bool", "date", "datetime", "epoch_ms", "fixed:4", "hex", "hex:2", "hex:desc", "i64",
            "string", "token", "u16", "u16:desc", "ulid", "uuid",
        ];
        for kind in kinds {
            let template = Template::parse(&format!("X#{{f:{kind}}}")).unwrap();
            let format = template.fields().next().unwrap().format();
            let end = |seed| {
                let operand = Operand::Value(sample_of(format, seed));
                Some(End { operand, inclusive: true })
            };
            for (low, high) in [(end(3), None), (None, end(3))] {
                let test = Test::Range { low, high };
                let resolve = |operand: &Operand| match operand {
                    Operand::Value(value) => Some(value.clone()),
                    Operand::Input(_) => None,
                };
                let condition = field_condition("f", &test, &resolve).unwrap();
                let range = template.range(&[], Some(&condition)).unwrap();
                for set in begins_inside(format, &test) {
                    for key in [range.lower(), range.upper()] {
                        let first = key.as_bytes().get(2).copied();
                        assert!(first.is_some_and(|byte| set.contains(byte)), "{kind}: {key}");
                    }
                }
            }
        }
    }

    /// Every range of an enumeration, with ends that are values or none and belong to it or not.
    fn all_ranges(values: &[String]) -> Vec<FieldCondition<'static>> {
        let ends: Vec<String> =
            values.iter().cloned().chain([String::new(), "\u{10ffff}".to_owned()]).collect();
        let mut all = Vec::new();
        for (low, high) in ends.iter().flat_map(|low| ends.iter().map(move |high| (low, high))) {
            for from in [Operator::Gt, Operator::Ge] {
                for to in [Operator::Lt, Operator::Le] {
                    let term =
                        |operator, end: &String| Term::Compare(operator, Value::from(end.clone()));
                    all.push(FieldCondition::new("f", term(from, low)).and(term(to, high)));
                }
            }
        }
        all
    }

    #[test]
    fn ranges_of_an_enumeration_are_contiguous_if_neighbours_are() {
        let templates = [
            "X#{f:enum:a|b|c}",
            "X#{f:enum:c}",
            "X#{f:enum:a|a!|b}#{id:u8}",
            "X#{f:enum:a|a!|a~|b}#{g:string}",
            "{f:enum:a|ab|b|ba}#{g:enum:x|y}",
            "X#{f:enum:a|b|c:desc}#{id:u8}",
            "X#{f:enum:a|a#|a#b|a$|b}#{g:string}",
            "X#{f:enum:A|a|b|é}",
        ];
        let mut outcomes = [0, 0];
        for text in templates {
            for escape in [Escape::Reject, Escape::Percent, Escape::Ordered] {
                let Ok(template) = KeyTemplate::parse(text, "#", escape, KeyRole::Sort, |_| None)
                else {
                    continue;
                };
                let piece = template.field_pieces().find(|piece| piece.name() == "f").unwrap();
                let FieldType::Enum(values) = piece.format().kind() else { panic!("{text}") };
                let is_broken = |conditions: &[FieldCondition<'static>]| {
                    let mut ranges = template.template().ranges(&[], "f", conditions).unwrap();
                    ranges.any(|range| matches!(range, Err(RangeError::NotContiguous { .. })))
                };
                let broken = is_broken(&all_ranges(values));
                let told = is_broken(&neighbours(&template, piece, values));
                assert_eq!(told, broken, "{text} {escape:?}");
                outcomes[usize::from(broken)] += 1;
            }
        }
        assert!(outcomes.iter().all(|count| *count > 2), "{outcomes:?}");
    }
}
