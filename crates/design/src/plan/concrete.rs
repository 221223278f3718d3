//! Reads with values for their inputs, ready to be sent or simulated.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use keyloom_core::AttributeValue;
use keyloom_core::key::encode_key_value;
use keyloom_keys::{Precision, RangeKind, Timestamp, Value};

use super::bind::{Fan, Source, is_kept_plain};
use super::periods;
use super::range::{SortPart, field_condition};
use super::{Plan, Read};
use crate::condition::{self, Comparison};
use crate::evaluate::{Inputs, operand_value};
use crate::generate::shard_of;
use crate::key::{
    KeyTemplate, Piece, attribute_of, compare, element_of, extent, folded, key_value,
};
use crate::model::{
    Access, End, EntityKey, Field, IndexKey, KeyShape, KeyType, Operand, Question, Test,
};

/// A read with values of type `V`: attribute values, or placeholders to show.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadForm<V> {
    /// GetItem or Query.
    pub kind: ReadKind,
    /// The name of the table.
    pub table: String,
    /// The index; `None` for the table.
    pub index: Option<String>,
    /// Attributes that must be equal: the partition key, and the leading sort key attributes.
    pub equal: Vec<(String, V)>,
    /// The condition on the next sort key attribute.
    pub sort: Option<(String, SortCondition<V>)>,
    /// The filter conditions, joined by `AND`.
    pub filter: Vec<(String, FilterTest<V>)>,
    /// Whether the sort key is read in ascending order.
    pub forward: bool,
    /// The maximum number of items to evaluate.
    pub limit: Option<u64>,
    /// Whether the read is strongly consistent.
    pub consistent: bool,
    /// Whether a local index has to fetch attributes from the table.
    pub all_attributes: bool,
}

/// A read that can be sent to DynamoDB.
pub type ConcreteRead = ReadForm<AttributeValue>;

/// The operation of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// A `GetItem` by the whole primary key.
    Get,
    /// A `Query`.
    Query,
}

/// A condition on one sort key attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortCondition<V> {
    /// `begins_with` with a prefix.
    BeginsWith(V),
    /// `BETWEEN` two values, both included.
    Between(V, V),
    /// A comparison by `<`, `<=`, `>`, `>=` or `=`.
    Compare(Comparison, V),
}

impl<V> SortCondition<V> {
    /// The same as a test of the design language, for printing.
    pub(crate) fn as_test(&self) -> condition::Test<&V> {
        match self {
            Self::BeginsWith(value) => condition::Test::BeginsWith(value),
            Self::Between(low, high) => condition::Test::Between(low, high),
            Self::Compare(comparison, value) => condition::Test::Compare(*comparison, value),
        }
    }
}

/// A filter condition on one attribute.
pub type FilterTest<V> = condition::Test<V>;

/// Whether the lower bound of a range is above the upper one: DynamoDB rejects such a range.
fn is_reversed(low: &AttributeValue, high: &AttributeValue) -> bool {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let encoded = encode_key_value(low, &mut a).and_then(|()| encode_key_value(high, &mut b));
    encoded.is_ok() && low.attribute_type() == high.attribute_type() && a > b
}

/// Fills the inputs into a plan's reads; fails if an input has no value or an invalid one.
pub fn concretize(
    access: &Access,
    plan: &Plan,
    inputs: &Inputs,
) -> Result<Vec<ConcreteRead>, String> {
    let mut reads: Vec<ConcreteRead> = Vec::new();
    for read in &plan.reads {
        // Two values may be one key: the same value twice, or two moments of a day. Its rows come once. So do those of
        // alternatives that are one request.
        let several = !access.alternatives.is_empty();
        let first = if several { 0 } else { reads.len() };
        let listed = several || read.fans.iter().any(|fan| matches!(fan, Fan::Values { .. }));
        for fanned in fan_out(read, inputs)? {
            let kind = if plan.is_get(read) { ReadKind::Get } else { ReadKind::Query };
            let filled = Filler { access, read, inputs, fanned: &fanned }.fill(kind)?;
            let own = reads.get(first..).unwrap_or_default();
            reads.extend(filled.filter(|filled| !(listed && own.contains(filled))));
        }
    }
    Ok(reads)
}

type Fanned = Vec<(String, Value<'static>)>;

/// Every combination of fan values.
fn fan_out(read: &Read, inputs: &Inputs) -> Result<Vec<Fanned>, String> {
    let mut all: Vec<Fanned> = vec![Vec::new()];
    for fan in &read.fans {
        let values = fan_values(read, fan, inputs)?;
        all = all
            .into_iter()
            .flat_map(|so_far| {
                values.iter().map(move |value| {
                    let mut next = so_far.clone();
                    next.push((fan.field().to_owned(), value.clone()));
                    next
                })
            })
            .collect();
    }
    Ok(all)
}

fn fan_values(read: &Read, fan: &Fan, inputs: &Inputs) -> Result<Vec<Value<'static>>, String> {
    match fan {
        Fan::Shards { count, .. } => Ok((0..*count).map(Value::from).collect()),
        Fan::Values { values, .. } => values.iter().map(|value| resolve(value, inputs)).collect(),
        Fan::Buckets { field, precision, test } => {
            let own = read.range.entity.field(field).and_then(Field::format);
            let is_finer = own.and_then(|own| own.precision()) > Some(*precision);
            buckets(field, (*precision, is_finer), test, inputs)
        }
    }
}

fn buckets(
    field: &str,
    (precision, is_finer): (Precision, bool),
    test: &Test,
    inputs: &Inputs,
) -> Result<Vec<Value<'static>>, String> {
    let time = |operand: &Operand| match resolve(operand, inputs)? {
        Value::Time(time) => Ok(time),
        Value::Text(text) => text.parse::<Timestamp>().map_err(|error| error.to_string()),
        other => Err(format!("`{field}` is a time, not {other}")),
    };
    let touched = if let Test::BeginsWith(operand) = test {
        let text = resolve(operand, inputs)?.to_string();
        let period = periods::around(&text).ok_or_else(|| {
            format!("`{text}` begins no year, so that every period of `{field}` may begin with it")
        })?;
        periods::begun(&text, period, (precision, is_finer), periods::MAX_BUCKETS)
    } else {
        let span = periods::span(test, &time)?
            .ok_or_else(|| format!("`{field}` needs both ends of its range"))?;
        periods::touched(span, precision, periods::MAX_BUCKETS)
    };
    let touched = touched.ok_or_else(|| {
        format!("the range of `{field}` touches more than {} periods", periods::MAX_BUCKETS)
    })?;
    Ok(touched.into_iter().map(Value::Time).collect())
}

fn resolve(operand: &Operand, inputs: &Inputs) -> Result<Value<'static>, String> {
    operand_value(operand, inputs).ok_or_else(|| match operand {
        Operand::Input(name) => format!("the input `{name}` has no value"),
        Operand::Value(value) => format!("{value} has no value"),
    })
}

struct Filler<'a> {
    access: &'a Access,
    read: &'a Read,
    inputs: &'a Inputs,
    fanned: &'a Fanned,
}

impl Filler<'_> {
    /// The read; `None` if no item can satisfy it.
    fn fill(&self, kind: ReadKind) -> Result<Option<ConcreteRead>, String> {
        let read = self.read;
        let index = read.index();
        let key = read.range.entity.index_key(index).ok_or("the entity is not in the index")?;
        let mut equal = Vec::new();
        for (attribute, part) in index.hash.iter().zip(&key.hash) {
            equal.push((attribute.name.clone(), self.whole(part, attribute.kind)?));
        }
        let sort = self.sort(&key, &mut equal)?;
        let filter = self.filter()?;
        let nothing = matches!(&sort, Some((_, SortCondition::Between(a, b))) if is_reversed(a, b))
            || filter
                .iter()
                .any(|(_, test)| matches!(test, FilterTest::Between(a, b) if is_reversed(a, b)));
        if nothing {
            return Ok(None);
        }
        Ok(Some(ConcreteRead {
            kind,
            table: read.table.name.clone(),
            index: index.name.clone(),
            equal,
            sort,
            filter,
            forward: read.forward,
            limit: read.limit,
            consistent: self.access.consistent,
            all_attributes: read.fetches,
        }))
    }

    /// The value of a key field in this request.
    fn field_value(&self, name: &str) -> Result<Value<'static>, String> {
        let value = self.stated_value(name)?;
        let field = self.read.range.entity.field(name);
        Ok(field.map_or(value.clone(), |field| folded(field, value)))
    }

    fn stated_value(&self, name: &str) -> Result<Value<'static>, String> {
        match self.read.range.source(name) {
            Some(Source::Pinned(operand)) => resolve(operand, self.inputs),
            Some(Source::Fanned) => self
                .fanned
                .iter()
                .find(|(field, _)| field == name)
                .map(|(_, value)| value.clone())
                .ok_or_else(|| format!("`{name}` has no value")),
            Some(Source::Calculated { by, shards }) => {
                let mut known = BTreeMap::new();
                for field in by {
                    known.insert(field.as_str(), self.stated_value(field)?);
                }
                let value = |field: &str| known.get(field).cloned();
                let shard = shard_of(&self.read.range.entity, by, *shards, value);
                shard.map(Value::from).ok_or_else(|| format!("`{name}` has no value"))
            }
            None => Err(format!("`{name}` has no value")),
        }
    }

    fn whole(&self, part: &EntityKey, kind: KeyType) -> Result<AttributeValue, String> {
        let template = part.shape.template();
        let values: Result<Vec<Value>, String> =
            template.fields().map(|name| self.field_value(name)).collect();
        let values = values?;
        if let (KeyShape::Native(_), Some(value)) = (&part.shape, values.first()) {
            return self.native(template, kind, value);
        }
        let by_name: Vec<(&str, Value)> = template.fields().zip(values).collect();
        let built = template
            .build(|name| by_name.iter().find(|(field, _)| *field == name).map(|(_, v)| v.clone()));
        match built {
            Some(text) => Ok(AttributeValue::from(text)),
            None => Err(template
                .template()
                .build(&by_name)
                .err()
                .map_or_else(|| "the key cannot be built".to_owned(), |error| error.to_string())),
        }
    }

    fn native(
        &self,
        template: &KeyTemplate,
        kind: KeyType,
        value: &Value,
    ) -> Result<AttributeValue, String> {
        let name = template.fields().next().unwrap_or_default();
        let field = self.read.range.entity.field(name).ok_or("no such field")?;
        let value = typed(field, value)?;
        let value = key_value(field, kind, &value);
        let empty = match &value {
            AttributeValue::S(text) => text.is_empty(),
            AttributeValue::B(bytes) => bytes.is_empty(),
            _ => false,
        };
        if empty {
            return Err(format!("`{name}` is a key, which is never empty"));
        }
        Ok(value)
    }

    fn sort(
        &self,
        key: &IndexKey,
        equal: &mut Vec<(String, AttributeValue)>,
    ) -> Result<Option<(String, SortCondition<AttributeValue>)>, String> {
        let range = &self.read.index().range;
        let bound = match &self.read.range.sort {
            SortPart::Whole | SortPart::Common(_) => 0,
            SortPart::Exact => range.len(),
            SortPart::Open { attribute, .. } => *attribute,
        };
        for (attribute, part) in range.iter().zip(&key.range).take(bound) {
            equal.push((attribute.name.clone(), self.whole(part, attribute.kind)?));
        }
        let next = range.get(bound).zip(key.range.get(bound));
        match (&self.read.range.sort, next) {
            (SortPart::Open { pieces, range, .. }, Some((attribute, part))) => {
                let condition = self.open(part, attribute.kind, *pieces, range.as_ref())?;
                Ok(condition.map(|condition| (attribute.name.clone(), condition)))
            }
            (SortPart::Common(pieces), Some((attribute, part))) => {
                let text = self.written(part.shape.template(), pieces)?;
                let condition = SortCondition::BeginsWith(AttributeValue::from(text));
                Ok(Some((attribute.name.clone(), condition)))
            }
            _ => Ok(None),
        }
    }

    fn open(
        &self,
        part: &EntityKey,
        kind: KeyType,
        pieces: usize,
        range: Option<&Question>,
    ) -> Result<Option<SortCondition<AttributeValue>>, String> {
        let template = part.shape.template();
        if is_kept_plain(part, kind) {
            return match range {
                Some(question) => self.native_range(template, kind, question).map(Some),
                None => Ok(None),
            };
        }
        if template.escape() == crate::model::Escape::None && range.is_none() {
            let bound: Vec<Piece> = template.pieces().iter().take(pieces).cloned().collect();
            let text = self.written(template, &bound)?;
            return Ok(
                (!text.is_empty()).then(|| SortCondition::BeginsWith(AttributeValue::from(text)))
            );
        }
        let mut bound: Vec<(&str, Value)> = Vec::new();
        for piece in template.pieces().iter().take(pieces).filter_map(Piece::as_field) {
            bound.push((piece.name(), self.field_value(piece.name())?));
        }
        let condition = match range {
            Some(question) => Some(
                field_condition(&question.field, &question.test, &|operand| {
                    operand_value(operand, self.inputs)
                })
                .ok_or_else(|| format!("`{}` has no value", question.field))?,
            ),
            None => None,
        };
        let keys = template
            .template()
            .range(&bound, condition.as_ref())
            .map_err(|error| error.to_string())?;
        let text = |text: &str| AttributeValue::from(text);
        Ok(match keys.kind() {
            RangeKind::All => None,
            RangeKind::Exact => Some(SortCondition::Compare(Comparison::Equal, text(keys.lower()))),
            RangeKind::Prefix(prefix) => Some(SortCondition::BeginsWith(text(prefix))),
            RangeKind::Between => {
                Some(SortCondition::Between(text(keys.lower()), text(keys.upper())))
            }
        })
    }

    fn native_range(
        &self,
        template: &KeyTemplate,
        kind: KeyType,
        question: &Question,
    ) -> Result<SortCondition<AttributeValue>, String> {
        let name = template.fields().next().unwrap_or_default();
        let field = self.read.range.entity.field(name).ok_or("no such field")?;
        // A period such as a day stands for its first or its last moment, as the comparison needs.
        let edge = |operand: &Operand, last: bool| {
            let value = typed(field, &resolve(operand, self.inputs)?)?;
            self.native(template, kind, &moment(field, value, last))
        };
        match &question.test {
            Test::Equal(operand) => {
                let (first, last) = (edge(operand, false)?, edge(operand, true)?);
                Ok(if first == last {
                    SortCondition::Compare(Comparison::Equal, first)
                } else {
                    SortCondition::Between(first, last)
                })
            }
            Test::Range { low: Some(low), high: Some(high) } if low.inclusive && high.inclusive => {
                Ok(SortCondition::Between(edge(&low.operand, false)?, edge(&high.operand, true)?))
            }
            Test::Range { low: Some(low), high: None } => {
                let operator =
                    if low.inclusive { Comparison::GreaterOrEqual } else { Comparison::Greater };
                Ok(SortCondition::Compare(operator, edge(&low.operand, !low.inclusive)?))
            }
            Test::Range { low: None, high: Some(high) } => {
                let operator =
                    if high.inclusive { Comparison::LessOrEqual } else { Comparison::Less };
                Ok(SortCondition::Compare(operator, edge(&high.operand, high.inclusive)?))
            }
            other => Err(format!("{} cannot be a key condition", other.describe(&question.field))),
        }
    }

    fn written(&self, template: &KeyTemplate, pieces: &[Piece]) -> Result<String, String> {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Field(field) => {
                    let value = self.field_value(field.name())?;
                    let written = template
                        .encode_field(field, &value)
                        .ok_or_else(|| format!("{value} does not fit `{}`", field.name()))?;
                    text.push_str(&written);
                }
            }
        }
        Ok(text)
    }

    fn filter(&self) -> Result<Vec<(String, FilterTest<AttributeValue>)>, String> {
        let mut tests = Vec::new();
        if let Some(name) =
            self.read.table.type_attribute.as_ref().filter(|_| self.read.type_filter)
        {
            let names = self.read.entities.iter().map(|e| AttributeValue::from(e.name.as_str()));
            tests.push((name.clone(), FilterTest::In(names.collect())));
        }
        for question in &self.read.filter {
            let field = self
                .read
                .entities
                .iter()
                .find_map(|entity| entity.field(&question.field))
                .ok_or_else(|| format!("no field `{}`", question.field))?;
            for test in filter_tests(field, &question.test, self.inputs)? {
                tests.push((question.field.clone(), test));
            }
        }
        Ok(tests)
    }
}

/// A text input in the type of its field.
fn typed(field: &Field, value: &Value) -> Result<Value<'static>, String> {
    match (value, field.format()) {
        (Value::Text(text), Some(format)) => Value::parse_for(&format, text)
            .map(Value::into_owned)
            .map_err(|error| format!("`{}`: {error}", field.name)),
        _ => Ok(value.clone().into_owned()),
    }
}

/// A condition as filters: one, or two for a range with an exclusive bound.
fn filter_tests(
    field: &Field,
    test: &Test,
    inputs: &Inputs,
) -> Result<Vec<FilterTest<AttributeValue>>, String> {
    let value = |operand: &Operand| {
        let value = typed(field, &resolve(operand, inputs)?)?;
        let precision = field.format().and_then(|format| format.precision());
        if periods::is_period(&value, precision) {
            return Err(format!(
                "`{}` is compared with a moment here, not with {value}",
                field.name
            ));
        }
        Ok(attribute_of(field, &value))
    };
    let element = |operand: &Operand| {
        Ok::<_, String>(element_of(field, &folded(field, resolve(operand, inputs)?)))
    };
    Ok(vec![match test {
        Test::Equal(operand) => {
            let wanted = typed(field, &resolve(operand, inputs)?)?;
            let (first, last) = (moment(field, wanted.clone(), false), moment(field, wanted, true));
            if compare(&first, &last) == Ordering::Equal {
                FilterTest::Compare(Comparison::Equal, attribute_of(field, &first))
            } else {
                FilterTest::Between(attribute_of(field, &first), attribute_of(field, &last))
            }
        }
        Test::NotEqual(operand) => FilterTest::Compare(Comparison::NotEqual, value(operand)?),
        Test::Range { low, high } => {
            return filter_range(field, low.as_ref(), high.as_ref(), inputs);
        }
        Test::BeginsWith(operand) => {
            let start = folded(field, resolve(operand, inputs)?);
            FilterTest::BeginsWith(AttributeValue::from(start.to_string()))
        }
        Test::In(operands) => {
            FilterTest::In(operands.iter().map(value).collect::<Result<Vec<_>, _>>()?)
        }
        Test::Exists => FilterTest::Exists,
        Test::Missing => FilterTest::Missing,
        Test::Contains(operand) => FilterTest::Contains(element(operand)?),
        Test::Lacks(operand) => FilterTest::Lacks(element(operand)?),
    }])
}

fn filter_range(
    field: &Field,
    low: Option<&End>,
    high: Option<&End>,
    inputs: &Inputs,
) -> Result<Vec<FilterTest<AttributeValue>>, String> {
    // A period such as a day stands for its first or its last moment, as the comparison needs.
    let edge = |end: &End, last: bool| {
        let value = typed(field, &resolve(&end.operand, inputs)?)?;
        Ok::<_, String>(attribute_of(field, &moment(field, value, last)))
    };
    if let (Some(low), Some(high)) = (low, high)
        && low.inclusive
        && high.inclusive
    {
        return Ok(vec![FilterTest::Between(edge(low, false)?, edge(high, true)?)]);
    }
    let mut tests = Vec::new();
    if let Some(low) = low {
        let sign = if low.inclusive { Comparison::GreaterOrEqual } else { Comparison::Greater };
        tests.push(FilterTest::Compare(sign, edge(low, !low.inclusive)?));
    }
    if let Some(high) = high {
        let sign = if high.inclusive { Comparison::LessOrEqual } else { Comparison::Less };
        tests.push(FilterTest::Compare(sign, edge(high, high.inclusive)?));
    }
    Ok(tests)
}

fn moment(field: &Field, value: Value<'static>, last: bool) -> Value<'static> {
    let precision = field.format().and_then(|format| format.precision());
    match (value, precision) {
        (Value::Time(time), Some(precision)) => {
            let (start, end) = extent(time);
            Value::Time(Timestamp::from_millis(if last { end } else { start }).at(precision))
        }
        (value, _) => value,
    }
}
