//! Counter-examples: a few concrete items for which a pattern returns the wrong rows.
//!
//! Candidates are made from samples that are likely to show the fault: rows whose fields sort against
//! each other, values that begin with one another, rows of the entities that share the key range. The plan
//! is then run on them and compared with the brute-force answer, so every counter-example is a real one.
//! What is not needed to show the fault is taken away again.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_keys::{Timestamp, Value};

use super::concrete::{ConcreteRead, SortCondition, concretize};
use super::simulate::{answer, labels, simulate};
use super::{Plan, Problem, Proof, Verdict};
use crate::evaluate::{Inputs, Mismatch, Row, expected, operand_value};
use crate::generate::{sample, shard_of};
use crate::key::{Language, extent};
use crate::model::{
    Access, Design, End, Entity, EntityKey, Field, FieldKind, InputRole, Operand, Test,
};

/// Items for which a pattern does not return what it should.
#[derive(Clone, Debug)]
pub struct CounterExample {
    /// The inputs of the call.
    pub inputs: Inputs,
    /// The items in the table.
    pub rows: Vec<Row>,
    /// The primary keys of what is returned, in order.
    pub returns: Vec<String>,
    /// The primary keys of what should be returned, in order.
    pub should_return: Vec<String>,
    /// What is wrong.
    pub wrong: Mismatch,
}

/// Looks for a counter-example to any failed proof about the rows of a pattern.
pub(super) fn find(design: &Design, access: &Access, plan: &Plan) -> Option<CounterExample> {
    let proofs = &plan.proofs;
    let failed = [proofs.rows, proofs.order, proofs.limit, proofs.purity].contains(&Proof::Refuted);
    if failed { search(design, access, plan) } else { None }
}

/// Looks for data on which the plan's answer is wrong, whatever was proven.
pub(crate) fn search(design: &Design, access: &Access, plan: &Plan) -> Option<CounterExample> {
    if plan.reads.is_empty() && plan.raw.is_none() {
        return None;
    }
    let strangers = strangers(design, plan);
    let mut base = base_inputs(access);
    if let Some(raw) = &plan.raw {
        raw.add_inputs(access, &mut base);
    }
    let mut all_inputs = vec![base.clone()];
    all_inputs.extend(strangers.iter().filter_map(|g| inputs_like(access, plan, g, &base)));
    for inputs in &all_inputs {
        for style in Style::ALL {
            if let Some(found) = attempt(access, plan, inputs, &strangers, style) {
                return Some(found);
            }
        }
    }
    None
}

/// How the free fields of sample rows vary.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Other fields run against the order asked for.
    Against,
    /// Other fields run with it.
    Along,
    /// Texts that begin with one another.
    Nested,
    /// A page full of rows that a filter throws away, and wanted ones on both sides of it.
    Filtered,
}

impl Style {
    const ALL: [Self; 4] = [Self::Against, Self::Along, Self::Nested, Self::Filtered];
}

fn attempt(
    access: &Access,
    plan: &Plan,
    inputs: &Inputs,
    strangers: &[Arc<Entity>],
    style: Style,
) -> Option<CounterExample> {
    let reads = reads(access, plan, inputs)?;
    let mut rows: Vec<Row> = Vec::new();
    if style == Style::Filtered {
        rows.extend(filtered_rows(access, plan, inputs));
    } else {
        for entity in access.via.iter().chain(&access.find) {
            rows.extend(wanted_rows(access, entity, inputs, style));
            rows.extend(neighbours(access, entity, inputs));
        }
        for entity in strangers {
            rows.extend(stranger_row(entity, &reads, &rows));
        }
    }
    let rows = distinct(rows);
    wrong_on(access, plan, inputs, &reads, &rows)?;
    let rows = shrink(access, plan, inputs, &reads, rows);
    let (returns, should_return, wrong) = wrong_on(access, plan, inputs, &reads, &rows)?;
    Some(CounterExample { inputs: inputs.clone(), rows, returns, should_return, wrong })
}

/// The plan's reads; where a filter makes the limit unreliable, with the limit sent along.
fn reads(access: &Access, plan: &Plan, inputs: &Inputs) -> Option<Vec<ConcreteRead>> {
    let mut reads = match &plan.raw {
        Some(raw) => vec![raw.concrete(inputs).ok()?],
        None => concretize(access, plan, inputs).ok()?,
    };
    let only_limit = plan.proofs.limit == Proof::Refuted
        && plan.proofs.order != Proof::Refuted
        && plan.proofs.purity != Proof::Refuted;
    if only_limit {
        for read in &mut reads {
            read.limit = access.limit;
        }
    }
    Some(reads)
}

type Wrong = (Vec<String>, Vec<String>, Mismatch);

fn wrong_on(
    access: &Access,
    plan: &Plan,
    inputs: &Inputs,
    reads: &[ConcreteRead],
    rows: &[Row],
) -> Option<Wrong> {
    let returned = labels(&answer(access, plan, reads, rows));
    let wanted = expected(access, inputs, rows);
    let mismatch = wanted.compare(&returned).err()?;
    Some((returned, labels(&wanted.rows), mismatch))
}

/// Takes rows away as long as the answer stays wrong.
fn shrink(
    access: &Access,
    plan: &Plan,
    inputs: &Inputs,
    reads: &[ConcreteRead],
    mut rows: Vec<Row>,
) -> Vec<Row> {
    let mut at = 0;
    while at < rows.len() {
        let mut fewer = rows.clone();
        fewer.remove(at);
        if wrong_on(access, plan, inputs, reads, &fewer).is_some() {
            rows = fewer;
        } else {
            at += 1;
        }
    }
    rows
}

/// Two rows with one primary key are one item; the later would overwrite the earlier.
fn distinct(rows: Vec<Row>) -> Vec<Row> {
    let writable = rows.into_iter().filter(Row::is_writable);
    let by_key: BTreeMap<String, Row> = writable.map(|row| (row.label(), row)).collect();
    by_key.into_values().collect()
}

/// The entities that share the key range: those that a failed purity proof names, and where a filter on
/// the type keeps others out, all others of the table.
fn strangers(design: &Design, plan: &Plan) -> Vec<Arc<Entity>> {
    if let Some(read) = plan.reads.iter().find(|read| read.type_filter) {
        let others = design.entities_in(&read.table);
        let found = |entity: &Entity| read.entities.iter().any(|wanted| wanted.name == entity.name);
        return others.filter(|entity| !found(entity)).cloned().collect();
    }
    let names = plan.problems.iter().flat_map(|problem| match problem {
        Problem::Bleed { entities, .. } => entities.as_slice(),
        _ => &[],
    });
    names.filter_map(|name| design.entity(name).cloned()).collect()
}

/// A plausible value for every input.
pub(crate) fn base_inputs(access: &Access) -> Inputs {
    inputs_numbered(access, 0)
}

/// A plausible value for every input, different for every number.
pub(crate) fn inputs_numbered(access: &Access, n: u32) -> Inputs {
    let mut inputs = Inputs::new();
    for input in &access.inputs {
        let field = access.asked().and_then(|entity| entity.field(&input.field));
        let Some(field) = field else { continue };
        let value = match input.role {
            InputRole::Value => sample(field, 3 + n),
            InputRole::Low => sample(field, 2 + n),
            InputRole::High => sample(field, 120 + n),
            InputRole::Prefix => {
                let text = sample(field, 3 + n).to_string();
                let part: String = text.chars().take(4).collect();
                Value::Text(part.into())
            }
        };
        inputs.insert(input.name.clone(), value);
    }
    inputs
}

/// Inputs for which the partition key is one that a stranger can have too.
fn inputs_like(
    access: &Access,
    plan: &Plan,
    stranger: &Arc<Entity>,
    base: &Inputs,
) -> Option<Inputs> {
    let read = plan.reads.first()?;
    let theirs = stranger.index_key(read.index())?;
    let mine = read.range.entity.index_key(read.index())?;
    let row = sample_row(stranger, 3);
    let mut inputs = base.clone();
    for (mine, theirs) in mine.hash.iter().zip(&theirs.hash) {
        let text = theirs.shape.template().build(|name| row.values.get(name).cloned())?;
        let parsed = mine.shape.template().template().parse_key(&text).ok()?;
        for (name, value) in parsed.iter() {
            if let Some(Operand::Input(input)) = access.equality(name) {
                inputs.insert(input.clone(), value.into_owned());
            }
        }
    }
    Some(inputs)
}

/// The sample numbers of rows: close together, apart, and on both sides of a change of digits.
const NUMBERS: [u32; 6] = [3, 9, 10, 11, 40, 100];

fn wanted_rows(access: &Access, entity: &Arc<Entity>, inputs: &Inputs, style: Style) -> Vec<Row> {
    let last = NUMBERS.len() - 1;
    (0..NUMBERS.len())
        .filter_map(|k| {
            let up = NUMBERS.get(k).copied()?;
            let down = NUMBERS.get(last - k).copied()?;
            Some(wanted_row(access, entity, inputs, |field| {
                let ordered = access.order.iter().any(|term| term.field == field.name);
                let n = if ordered || style == Style::Along { up } else { down };
                match (style, &field.kind) {
                    (Style::Nested, FieldKind::Scalar(format))
                        if crate::key::may_hold_separator(format) =>
                    {
                        nested(k)
                    }
                    _ => sample(field, n),
                }
            }))
        })
        .collect()
}

/// A row that satisfies the conditions; fields without a condition have the free values.
fn wanted_row(
    access: &Access,
    entity: &Arc<Entity>,
    inputs: &Inputs,
    free: impl Fn(&Field) -> Value<'static>,
) -> Row {
    let mut row = Row { entity: entity.clone(), values: BTreeMap::new() };
    for field in &entity.fields {
        if let Some(value) = value_for(access, entity, field, inputs, free(field)) {
            row.values.insert(field.name.clone(), value);
        }
    }
    set_shards(&mut row);
    row
}

fn nested(k: usize) -> Value<'static> {
    let texts = ["a", "a b", "a!", "ab", "a$", "a#"];
    Value::Text(texts.get(k).copied().unwrap_or("c").to_owned().into())
}

/// A value that satisfies the pattern's condition on a field; the free one if there is none.
fn value_for(
    access: &Access,
    entity: &Entity,
    field: &Field,
    inputs: &Inputs,
    free: Value<'static>,
) -> Option<Value<'static>> {
    let asked = access.via.as_ref().is_none_or(|via| via.name == entity.name);
    let term = access.terms.iter().find(|term| asked && term.field == field.name);
    let Some(term) = term else { return Some(free) };
    let value = |operand: &Operand| operand_value(operand, inputs);
    match &term.test {
        Test::Equal(operand) => value(operand).map(|v| first_moment(field, v)),
        Test::In(operands) => operands.first().and_then(value),
        Test::Range { low, high } => Some(inside(field, low.as_ref(), high.as_ref(), inputs, free)),
        Test::BeginsWith(operand) => {
            let prefix = value(operand)?.to_string();
            let free = free.to_string();
            let text = if free.starts_with(&prefix) { free } else { format!("{prefix}{free}") };
            let parsed = field
                .format()
                .and_then(|format| Value::parse_for(&format, &text).ok().map(Value::into_owned));
            parsed.or(Some(Value::Text(text.into())))
        }
        Test::Missing => None,
        Test::Contains(operand) => value(operand),
        Test::Exists | Test::NotEqual(_) | Test::Lacks(_) => Some(free),
    }
}

fn first_moment(field: &Field, value: Value<'static>) -> Value<'static> {
    match (value, field.format().and_then(|format| format.precision())) {
        (Value::Time(time), Some(precision)) => Value::Time(time.at(precision)),
        (value, _) => value,
    }
}

/// The free value if it lies in the range, else an end of the range: the last moment of the upper end
/// is where hand-written ranges go wrong.
fn inside(
    field: &Field,
    low: Option<&End>,
    high: Option<&End>,
    inputs: &Inputs,
    free: Value<'static>,
) -> Value<'static> {
    let test = Test::Range { low: low.cloned(), high: high.cloned() };
    let resolve = |operand: &Operand| operand_value(operand, inputs);
    if crate::evaluate::holds(&test, Some(&free), &resolve) {
        return free;
    }
    let precision = field.format().and_then(|format| format.precision());
    let end = high.or(low).and_then(|end| resolve(&end.operand));
    match (end, precision) {
        (Some(Value::Time(time)), Some(precision)) => {
            let (first, last) = extent(time);
            let at = if high.is_some() { last } else { first };
            Value::Time(Timestamp::from_millis(at).at(precision))
        }
        (Some(value), _) => value,
        (None, _) => free,
    }
}

/// The most rows that a counter-example to a limit may take.
const MAX_FILLED: u64 = 25;

/// As many rows as the limit counts, none of which a filter keeps, and a wanted row before and after them.
fn filtered_rows(access: &Access, plan: &Plan, inputs: &Inputs) -> Vec<Row> {
    let mut rows = Vec::new();
    let limit =
        access.limit.filter(|limit| *limit <= MAX_FILLED && plan.verdict == Verdict::Filter);
    let Some(limit) = limit else { return rows };
    let filtered: Vec<&str> =
        plan.reads.iter().flat_map(|read| &read.filter).map(|q| q.field.as_str()).collect();
    for entity in access.via.iter().chain(&access.find) {
        rows.extend([50, 200].map(|n| wanted_row(access, entity, inputs, |f| sample(f, n))));
        for n in 0..limit as u32 {
            let mut row = wanted_row(access, entity, inputs, |field| sample(field, 100 + n));
            for field in filtered.iter().filter_map(|name| entity.field(name)) {
                let other = (1..30)
                    .map(|n| sample(field, n))
                    .find(|value| Some(value) != row.values.get(&field.name));
                row.values.extend(other.map(|value| (field.name.clone(), value)));
            }
            set_shards(&mut row);
            rows.push(row);
        }
    }
    rows
}

/// Rows that almost satisfy the conditions: their texts begin with the text asked for.
fn neighbours(access: &Access, entity: &Arc<Entity>, inputs: &Inputs) -> Vec<Row> {
    let Some(model) = wanted_rows(access, entity, inputs, Style::Along).into_iter().next() else {
        return Vec::new();
    };
    let separator = entity.table.separator.as_str();
    let mut rows = Vec::new();
    for term in &access.terms {
        let Test::Equal(operand) = &term.test else { continue };
        let Some(Value::Text(text)) = operand_value(operand, inputs) else { continue };
        for tail in ["0".to_owned(), format!("{separator}0"), format!("{separator}x")] {
            let mut row = model.clone();
            row.values.insert(term.field.clone(), Value::Text(format!("{text}{tail}").into()));
            set_shards(&mut row);
            rows.push(row);
        }
    }
    rows
}

pub(crate) fn sample_row(entity: &Arc<Entity>, n: u32) -> Row {
    let values = entity.fields.iter().map(|field| (field.name.clone(), sample(field, n))).collect();
    let mut row = Row { entity: entity.clone(), values };
    set_shards(&mut row);
    row
}

/// Calculated shards follow from the other fields.
pub(crate) fn set_shards(row: &mut Row) {
    let entity = row.entity.clone();
    for field in &entity.fields {
        let FieldKind::Shard(shards) = &field.kind else { continue };
        if shards.by.is_empty() {
            continue;
        }
        let values: Option<Vec<Value>> =
            shards.by.iter().map(|f| row.values.get(f).cloned()).collect();
        if let Some(values) = values {
            let shard = shard_of(&values, shards.count);
            row.values.insert(field.name.clone(), Value::from(shard));
        }
    }
}

/// A row of another entity inside the range of one of the reads.
fn stranger_row(entity: &Arc<Entity>, reads: &[ConcreteRead], others: &[Row]) -> Option<Row> {
    for read in reads {
        let index = match &read.index {
            None => entity.table.primary(),
            Some(name) => entity.table.index(name)?,
        };
        let key = entity.index_key(index)?;
        let mut row = sample_row(entity, 3);
        if let Some(first) = others.first() {
            for (name, value) in &first.values {
                let same = first.entity.field(name).map(|f| &f.kind)
                    == entity.field(name).map(|f| &f.kind);
                if same && entity.field(name).is_some() {
                    row.values.insert(name.clone(), value.clone());
                }
            }
        }
        for (part, (_, value)) in key.parts().zip(&read.equal) {
            adopt(&mut row, part, value.as_s()?);
        }
        if !simulate(read, std::slice::from_ref(&row)).is_empty() {
            return Some(row);
        }
        if let (Some((_, condition)), Some(part)) = (&read.sort, key.parts().nth(read.equal.len()))
        {
            let mut wanted = condition_language(condition)?;
            let text = wanted.shared_text(&part.shape.template().language()).or_else(|| {
                wanted.anything();
                None
            })?;
            adopt(&mut row, part, &String::from_utf8(text).ok()?);
        }
        if !simulate(read, std::slice::from_ref(&row)).is_empty() {
            return Some(row);
        }
    }
    None
}

/// Gives a row the fields that a key text holds.
fn adopt(row: &mut Row, part: &EntityKey, text: &str) {
    let Ok(fields) = part.shape.template().template().parse_key(text) else { return };
    for (name, value) in fields.iter() {
        row.values.insert(name.to_owned(), value.into_owned());
    }
}

fn condition_language(condition: &SortCondition<keyloom_core::AttributeValue>) -> Option<Language> {
    let mut language = Language::empty_text();
    match condition {
        SortCondition::BeginsWith(prefix) => {
            language.literal(prefix.as_s()?.as_bytes());
            language.anything();
        }
        SortCondition::Between(low, high) => {
            language.between(low.as_s()?.as_bytes(), high.as_s()?.as_bytes());
        }
        SortCondition::Compare(_, value) => language.literal(value.as_s()?.as_bytes()),
    }
    Some(language)
}
