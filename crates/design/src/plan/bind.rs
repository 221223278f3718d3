//! Binding: which conditions of a pattern become the key of an entity in one index.

use std::sync::Arc;

use keyloom_keys::{Precision, Timestamp, Value};

use super::Reason;
use super::implied::follows;
use super::periods;
use super::range::{ReadRange, SortPart};
use crate::condition;
use crate::evaluate::when_test;
use crate::key::{FieldPiece, Piece, extent};
use crate::model::{
    Access, End, Entity, EntityKey, Field, FieldKind, Index, IndexKey, InputRole, KeyType, Operand,
    Question, Shards, Test,
};
use crate::mutation::{Mutation, is_on};
use crate::resolve::literal;

/// The most requests one read may become.
const MAX_FAN: f64 = 1000.0;

/// Where the value of a key field comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A condition pins it.
    Pinned(Operand),
    /// A fan supplies one value after another.
    Fanned,
    /// It is calculated from fields that have one value in each request: a shard.
    Calculated {
        /// The names of the fields.
        by: Vec<String>,
        /// How many shards there are.
        shards: u32,
    },
}

/// What multiplies a read.
#[derive(Clone, Debug, PartialEq)]
pub enum Fan {
    /// Every shard.
    Shards {
        /// The name of the field.
        field: String,
        /// How many shards there are.
        count: u32,
    },
    /// Every one of these values.
    Values {
        /// The name of the field.
        field: String,
        /// The values that the field may have.
        values: Vec<Operand>,
    },
    /// Every period that a range of time touches.
    Buckets {
        /// The name of the field.
        field: String,
        /// The length of the period.
        precision: Precision,
        /// The range of time.
        test: Test,
    },
}

impl Fan {
    /// The field it supplies.
    pub fn field(&self) -> &str {
        match self {
            Self::Shards { field, .. }
            | Self::Values { field, .. }
            | Self::Buckets { field, .. } => field,
        }
    }

    /// How many requests it makes; unknown for periods between inputs.
    pub fn width(&self) -> Option<f64> {
        match self {
            Self::Shards { count, .. } => Some(f64::from(*count)),
            Self::Values { values, .. } => Some(values.len() as f64),
            Self::Buckets { precision, test: Test::BeginsWith(operand), .. } => {
                let Operand::Value(text) = operand else { return None };
                let text = text.to_string();
                let around = periods::around(&text)?;
                let begun = periods::begun(&text, around, (*precision, true), periods::MAX_BUCKETS);
                Some(begun.map_or_else(
                    || periods::count(extent(around), *precision),
                    |begun| begun.len() as f64,
                ))
            }
            Self::Buckets { precision, test, .. } => {
                let span = periods::span(test, &periods::stated).ok().flatten()?;
                Some(periods::count(span, *precision))
            }
        }
    }
}

/// How one entity is found through one index.
#[derive(Clone, Debug)]
pub(crate) struct Binding<'a> {
    pub(crate) entity: &'a Arc<Entity>,
    pub(crate) key: IndexKey<'a>,
    pub(crate) range: ReadRange,
    pub(crate) fans: Vec<Fan>,
    pub(crate) residual: Vec<Question>,
}

impl Binding<'_> {
    /// Whether every key field has one value, so that at most one key matches in each request.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.range.sort, SortPart::Exact | SortPart::Whole) && self.key.range.is_empty()
            || matches!(self.range.sort, SortPart::Exact)
    }
}

/// Binds a pattern to an entity's key in an index, or says why that fails.
pub(crate) fn bind<'a>(
    access: &Access,
    entity: &'a Arc<Entity>,
    index: &'a Index,
) -> Result<Binding<'a>, Reason> {
    let key = entity.index_key(index).ok_or(Reason::NotThere)?;
    let mut binder =
        Binder { access, entity, sources: Vec::new(), fans: Vec::new(), used: Vec::new() };
    binder.presence(&key)?;
    binder.hash(&key)?;
    let sort = binder.sort(&key, index);
    let residual = binder.residual(index)?;
    let calls: f64 = binder.fans.iter().filter_map(Fan::width).product();
    let declared = access.max_requests.map_or(MAX_FAN, |most| most as f64);
    if calls > declared.max(MAX_FAN) {
        return Err(Reason::TooWide { calls: calls as u64 });
    }
    let range = ReadRange { entity: entity.clone(), sources: binder.sources, sort };
    Ok(Binding { entity, key, range, fans: binder.fans, residual })
}

/// Whether an operand is one value of a field, not a period of several.
fn pins(piece: &FieldPiece, operand: &Operand) -> bool {
    match operand {
        Operand::Input(_) => true,
        Operand::Value(value) => piece.format().encode(value).is_ok(),
    }
}

/// Whether a piece begins otherwise than its field: in a compact form, or with milliseconds that the field does not keep.
fn begins_otherwise(field: Option<&Field>, piece: &FieldPiece) -> bool {
    let own = field.and_then(Field::format).and_then(|format| format.precision());
    piece.format().is_compact() || own.is_some_and(|own| piece.format().precision() > Some(own))
}

/// Whether a piece tells if the condition on its field holds: it has all of the field, or the condition is about whole
/// periods that are no shorter than those of the piece.
pub(super) fn tells(entity: &Entity, piece: &FieldPiece, question: Option<&Question>) -> bool {
    let field = entity.field(piece.name());
    if is_on(Mutation::PiecesTellFields) {
        return true;
    }
    let whole = field.is_none_or(|field| field.is_told_by(piece.format()));
    let Some(Question { test, .. }) = question else { return whole };
    let elsewhere = matches!(test, Test::BeginsWith(_)) && begins_otherwise(field, piece);
    let precision = piece.format().precision();
    whole && !elsewhere
        || precision.is_some_and(|precision| periods::is_whole_periods(test, precision))
}

/// Whether a native key holds its field in another form than a template would write: a number, bytes, or a
/// text that templates turn round.
pub(crate) fn is_kept_plain(part: &EntityKey, kind: KeyType) -> bool {
    let turned = part.shape.template().field_pieces().any(|piece| piece.format().is_desc());
    part.shape.is_native() && (kind != KeyType::S || turned)
}

/// Whether one key condition on a native number or binary states a range: one end, or both ends included.
fn is_native_range(test: &Test) -> bool {
    match test {
        Test::Range { low: Some(low), high: Some(high) } => low.inclusive && high.inclusive,
        Test::BeginsWith(_) => false,
        _ => true,
    }
}

/// Values without repetitions.
fn once(values: Vec<Operand>) -> Vec<Operand> {
    let mut found: Vec<Operand> = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

struct Binder<'a> {
    access: &'a Access,
    entity: &'a Arc<Entity>,
    sources: Vec<(String, Source)>,
    fans: Vec<Fan>,
    /// Fields whose condition the key expresses exactly.
    used: Vec<String>,
}

impl Binder<'_> {
    fn question(&self, field: &str) -> Option<&Question> {
        self.access.terms.iter().find(|term| term.field == field)
    }

    fn is_bound(&self, field: &str) -> bool {
        self.sources.iter().any(|(name, _)| name == field)
    }

    fn put(&mut self, field: &str, source: Source) {
        if !self.is_bound(field) {
            self.sources.push((field.to_owned(), source));
        }
    }

    fn use_up(&mut self, piece: &FieldPiece) {
        if self.tells(piece) {
            self.used.push(piece.name().to_owned());
        }
    }

    fn tells(&self, piece: &FieldPiece) -> bool {
        tells(self.entity, piece, self.question(piece.name()))
    }

    /// A sparse index answers only patterns that ask for what its items have in common.
    fn presence(&mut self, key: &IndexKey) -> Result<(), Reason> {
        for part in key.parts() {
            for field in part.shape.template().fields() {
                let optional = self.entity.field(field).is_some_and(|field| field.optional);
                let question = self.question(field).map(|question| question.test.clone());
                match question {
                    // What is not there is unlike everything and contains nothing.
                    None | Some(Test::Missing | Test::NotEqual(_) | Test::Lacks(_))
                        if optional && !is_on(Mutation::SparseIsWhole) =>
                    {
                        return Err(Reason::Sparse { needs: format!("a `{field}`") });
                    }
                    Some(Test::Exists) => self.used.push(field.to_owned()),
                    _ => {}
                }
            }
            self.when(part)?;
        }
        Ok(())
    }

    fn when(&mut self, part: &EntityKey) -> Result<(), Reason> {
        let Some(when) = &part.when else { return Ok(()) };
        for term in &when.terms {
            let read = |operand: &condition::Operand| {
                let text = match operand {
                    condition::Operand::Text(text) | condition::Operand::Number(text) => {
                        text.clone()
                    }
                    condition::Operand::Boolean(flag) => flag.to_string(),
                    condition::Operand::Input(_) => return None,
                };
                let field = self.entity.field(&term.name)?;
                literal(field, &text, InputRole::Value).ok().map(Operand::Value)
            };
            let needed = when_test(&term.test, &read);
            let asked = self.question(&term.name).map(|question| &question.test);
            let implied = match (&needed, asked) {
                (Some(Test::Exists), Some(asked)) => {
                    !matches!(asked, Test::Missing | Test::NotEqual(_) | Test::Lacks(_))
                }
                (Some(needed), Some(asked)) => {
                    let field = self.entity.field(&term.name);
                    needed == asked || field.is_some_and(|field| follows(field, needed, asked))
                }
                _ => false,
            };
            if !implied && !is_on(Mutation::WhenIsImplied) {
                return Err(Reason::Sparse { needs: term.to_string() });
            }
            if needed.as_ref() == asked {
                self.used.push(term.name.clone());
            }
        }
        Ok(())
    }

    fn hash(&mut self, key: &IndexKey) -> Result<(), Reason> {
        let (mut open, mut bound) = (Vec::new(), Vec::new());
        let mut ranged = None;
        let pieces = || key.hash.iter().flat_map(|part| part.shape.template().field_pieces());
        // A shard follows from other fields, so they come first.
        let (shards, others): (Vec<&FieldPiece>, Vec<&FieldPiece>) =
            pieces().partition(|piece| self.shards_of(piece).is_some());
        for piece in others.into_iter().chain(shards) {
            if self.hash_field(piece, key) {
                bound.push(piece.name().to_owned());
                continue;
            }
            let range = self.question(piece.name()).map(|question| &question.test);
            if matches!(range, Some(Test::Range { .. } | Test::BeginsWith(_))) {
                ranged = Some(piece.name().to_owned());
            }
            open.push(piece.name().to_owned());
        }
        if open.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = key.hash.iter().map(|part| part.shape.template().text()).collect();
        let template = texts.join(" + ");
        Err(match ranged {
            Some(field) => Reason::PartitionRange { template, field },
            None => Reason::PartitionOpen { template, open, bound },
        })
    }

    /// Gives a partition key field its value or values.
    fn hash_field(&mut self, piece: &FieldPiece, key: &IndexKey) -> bool {
        let name = piece.name();
        if self.is_bound(name) {
            return true;
        }
        let question = self.question(name).map(|question| question.test.clone());
        match question {
            Some(Test::Equal(operand)) => {
                // A whole day given for a finer field is a range, not a value.
                if !pins(piece, &operand) {
                    return self.bucket(piece, &Test::Equal(operand));
                }
                self.put(name, Source::Pinned(operand));
                self.use_up(piece);
                true
            }
            Some(Test::In(values)) => self.fan_values(piece, values),
            Some(Test::Range { low, high }) => self.closed_bucket(piece, low, high),
            Some(Test::BeginsWith(operand)) => self.beginning_bucket(piece, operand),
            Some(_) => false,
            None => self.unasked_hash_field(piece, key) || self.closed_bucket(piece, None, None),
        }
    }

    /// Every period of a range; where an end is open, the design may say from when to when there are items.
    fn closed_bucket(&mut self, piece: &FieldPiece, low: Option<End>, high: Option<End>) -> bool {
        let field = self.entity.field(piece.name());
        let stated = |time: Option<Timestamp>| {
            time.map(|time| End { operand: Operand::Value(Value::Time(time)), inclusive: true })
        };
        let low = low.or_else(|| stated(field?.since));
        let high = high.or_else(|| stated(field?.until));
        low.is_some() && high.is_some() && self.bucket(piece, &Test::Range { low, high })
    }

    /// Every period that a beginning such as `2024-05` touches.
    fn beginning_bucket(&mut self, piece: &FieldPiece, beginning: Operand) -> bool {
        let sensible = match &beginning {
            Operand::Input(_) => true,
            Operand::Value(text) => periods::around(&text.to_string()).is_some(),
        };
        let loose = self.entity.field(piece.name()).is_none_or(Field::is_loose_time);
        !loose && sensible && self.bucket(piece, &Test::BeginsWith(beginning))
    }

    fn bucket(&mut self, piece: &FieldPiece, test: &Test) -> bool {
        let Some(precision) = piece.format().precision().filter(|_| piece.format().is_bucket())
        else {
            return false;
        };
        self.put(piece.name(), Source::Fanned);
        let field = piece.name().to_owned();
        self.fans.push(Fan::Buckets { field, precision, test: test.clone() });
        self.use_up(piece);
        true
    }

    fn fan_values(&mut self, piece: &FieldPiece, values: Vec<Operand>) -> bool {
        // A whole day in a list is no single value of a finer field.
        if !values.iter().all(|value| pins(piece, value)) {
            return false;
        }
        self.put(piece.name(), Source::Fanned);
        self.use_up(piece);
        self.fans.push(Fan::Values { field: piece.name().to_owned(), values: once(values) });
        true
    }

    fn shards_of(&self, piece: &FieldPiece) -> Option<&Shards> {
        match &self.entity.field(piece.name())?.kind {
            FieldKind::Shard(shards) => Some(shards),
            _ => None,
        }
    }

    /// A shard: calculated from fields that have one value, or a few listed ones; else all of them.
    fn shard(&mut self, name: &str, shards: &Shards, key: &IndexKey) {
        let stated: Option<Vec<(&String, Vec<Operand>)>> =
            shards.by.iter().map(|by| Some((by, self.stated(by)?))).collect();
        let stated = stated.unwrap_or_default();
        let listed: usize = stated.iter().map(|(_, values)| values.len()).product();
        let few = listed <= shards.count as usize
            || stated.iter().all(|(by, _)| self.is_bound(by) || self.reaches(key, by));
        if stated.is_empty() || !few {
            self.put(name, Source::Fanned);
            self.fans.push(Fan::Shards { field: name.to_owned(), count: shards.count });
            return;
        }
        for (by, values) in stated {
            match self.access.equality(by) {
                _ if self.is_bound(by) => {}
                Some(one) => self.put(by, Source::Pinned(one.clone())),
                None => {
                    self.put(by, Source::Fanned);
                    self.fans.push(Fan::Values { field: by.clone(), values });
                }
            }
        }
        self.put(name, Source::Calculated { by: shards.by.clone(), shards: shards.count });
    }

    /// Whether the sort key is bound up to a field, so that each value of it is a range of its own.
    fn reaches(&self, key: &IndexKey, field: &str) -> bool {
        let mut names = key.range_pieces().filter_map(Piece::as_field).map(FieldPiece::name);
        let listed = |name: &str| {
            let test = self.question(name).map(|question| &question.test);
            self.is_bound(name) || matches!(test, Some(Test::Equal(_) | Test::In(_)))
        };
        names.find(|name| *name == field || !listed(name)) == Some(field)
    }

    /// The values that the pattern states for a field. A time may be a whole period, of which no shard is calculated.
    fn stated(&self, field: &str) -> Option<Vec<Operand>> {
        if self.entity.field(field).is_none_or(Field::is_time) {
            return None;
        }
        match &self.question(field)?.test {
            Test::Equal(operand) => Some(vec![operand.clone()]),
            Test::In(operands) => Some(once(operands.clone())),
            _ => None,
        }
    }

    /// Shards and listed values can be tried one after another.
    fn unasked_hash_field(&mut self, piece: &FieldPiece, key: &IndexKey) -> bool {
        let Some(field) = self.entity.field(piece.name()) else { return false };
        if let FieldKind::Shard(shards) = &field.kind {
            self.shard(piece.name(), &shards.clone(), key);
            return true;
        }
        let Some(values) = field.values() else { return false };
        let values: Option<Vec<Operand>> = values
            .iter()
            .map(|text| literal(field, text, InputRole::Value).ok().map(Operand::Value))
            .collect();
        values.is_some_and(|values| {
            self.put(piece.name(), Source::Fanned);
            self.fans.push(Fan::Values { field: piece.name().to_owned(), values });
            true
        })
    }

    /// Binds the sort key from the left as far as the conditions reach.
    fn sort(&mut self, key: &IndexKey, index: &Index) -> SortPart {
        if key.range.is_empty() {
            return SortPart::Exact;
        }
        for (attribute, part) in key.range.iter().enumerate() {
            let template = part.shape.template();
            for (at, piece) in template.pieces().iter().enumerate() {
                let Piece::Field(field) = piece else { continue };
                if self.sort_value(field) {
                    continue;
                }
                let kind = index.range.get(attribute).map_or(KeyType::S, |own| own.kind);
                let ranged = self.sort_range(field, part, kind);
                if let Some(question) = &ranged {
                    self.used.push(question.field.clone());
                }
                if ranged.is_none() && attribute == 0 && at == 0 {
                    return SortPart::Whole;
                }
                return SortPart::Open { attribute, pieces: at, range: ranged };
            }
        }
        SortPart::Exact
    }

    fn sort_value(&mut self, piece: &FieldPiece) -> bool {
        if self.is_bound(piece.name()) {
            // Bound in the partition key as a period: the sort key still has the finer value to ask for.
            let fanned = self
                .fans
                .iter()
                .any(|fan| fan.field() == piece.name() && matches!(fan, Fan::Buckets { .. }));
            // A day that pins the partition key is a range of the moments in the sort key.
            let pinned = match self.sources.iter().find(|(name, _)| *name == piece.name()) {
                Some((_, Source::Pinned(operand))) => pins(piece, operand),
                _ => true,
            };
            if !fanned && pinned {
                self.use_up(piece);
                return true;
            }
            return false;
        }
        match self.question(piece.name()).map(|question| question.test.clone()) {
            Some(Test::Equal(operand)) if pins(piece, &operand) => {
                self.put(piece.name(), Source::Pinned(operand));
                self.use_up(piece);
                true
            }
            Some(Test::In(values)) => self.fan_values(piece, values),
            _ => false,
        }
    }

    /// The range on the first open field, if its keys lie next to each other.
    fn sort_range(&self, piece: &FieldPiece, part: &EntityKey, kind: KeyType) -> Option<Question> {
        let question = self.question(piece.name())?;
        let loose = self.entity.field(piece.name()).is_some_and(Field::is_loose_time);
        // What a text begins with is not what its compact form begins with.
        let field = self.entity.field(piece.name());
        let elsewhere =
            matches!(question.test, Test::BeginsWith(_)) && begins_otherwise(field, piece);
        if loose || elsewhere && !is_on(Mutation::FormsBeginAlike) || !self.tells(piece) {
            return None;
        }
        let ranged =
            matches!(question.test, Test::Range { .. } | Test::BeginsWith(_) | Test::Equal(_));
        let ordered = if is_kept_plain(part, kind) {
            is_native_range(&question.test)
        } else {
            super::range::is_contiguous(part, piece, &question.test)
        };
        (ranged && (ordered || is_on(Mutation::RangesLieTogether))).then(|| question.clone())
    }

    /// What the key does not express, as long as a filter could.
    fn residual(&self, index: &Index) -> Result<Vec<Question>, Reason> {
        let left: Vec<Question> = self
            .access
            .terms
            .iter()
            .filter(|term| !self.used.contains(&term.field))
            .cloned()
            .collect();
        for term in &left {
            if index.has_attribute(&term.field) {
                return Err(Reason::FilterOnKey { attribute: term.field.clone() });
            }
            if !self.entity.table.projects(index, &term.field) {
                return Err(Reason::NotProjected { field: term.field.clone() });
            }
            let Some(field) = self.entity.field(&term.field) else { continue };
            if !field.is_stored() {
                return Err(Reason::NotStored { field: term.field.clone() });
            }
            if periods::lists_periods(field, &term.test) {
                return Err(Reason::PeriodFilter { field: term.field.clone() });
            }
        }
        Ok(left)
    }
}
