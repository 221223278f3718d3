//! Candidates: the reads that would answer a pattern on one index, with what is wrong about them.

use std::sync::Arc;

use super::bind::{Binding, Fan, Source, bind, tells};
use super::coverage::{fetches, lost, uncovered};
use super::order::{OrderProblem, direction};
use super::purity::{Bleed, bleed};
use super::range::{ReadRange, SortPart};
use super::space::Space;
use super::{Read, Reason, Rejected};
use crate::key::{FieldPiece, KeyTemplate, Piece};
use crate::model::{
    Access, Entity, Field, FieldKind, Index, IndexKind, KeyType, Operand, Question, Test,
};
use crate::mutation::{Mutation, is_on};
use crate::words::counted;

/// Reads that answer a pattern, and how well.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) reads: Vec<Read>,
    pub(crate) order: Option<OrderProblem>,
    pub(crate) bleeds: Vec<Bleed>,
    /// Fields that a second step fetches.
    pub(crate) uncovered: Vec<String>,
    /// Fields that can be read nowhere.
    pub(crate) lost: Vec<String>,
    pub(crate) inconsistent: Option<String>,
    /// Fields whose conditions compare times that are written in many ways.
    pub(crate) loose: Vec<String>,
    pub(crate) exact: bool,
}

/// Less is better, from left to right.
type Score = (bool, bool, bool, bool, bool, bool, u64, usize);

impl Candidate {
    pub(crate) fn is_pure(&self) -> bool {
        self.bleeds.iter().all(Bleed::is_empty)
    }

    /// The reads of both, whose rows are merged.
    pub(super) fn and(mut self, access: &Access, other: Self) -> Self {
        self.reads.extend(other.reads);
        self.order = self.order.or(other.order);
        self.bleeds.extend(other.bleeds);
        self.inconsistent = self.inconsistent.or(other.inconsistent);
        add_new(&mut self.uncovered, other.uncovered);
        add_new(&mut self.lost, other.lost);
        add_new(&mut self.loose, other.loose);
        let apart = self.reads.iter().find_map(|read| unmergeable(access, read));
        self.order = self.order.or(apart).or_else(|| unlike(access, &self.reads));
        self.exact = false;
        self
    }

    pub(crate) fn is_filtered(&self) -> bool {
        self.reads.iter().any(|read| !read.filter.is_empty() || read.type_filter)
    }

    pub(crate) fn is_get(&self) -> bool {
        let [read] = self.reads.as_slice() else { return false };
        self.exact && read.index == 0 && read.filter.is_empty() && !read.type_filter
    }

    /// Whether there is at most one item to filter.
    pub(crate) fn is_single_item(&self) -> bool {
        matches!(self.reads.as_slice(), [read] if self.exact && read.index == 0)
    }

    /// Whether no read can meet more rows than the limit: then it counts none that a filter drops.
    pub(crate) fn is_within(&self, limit: u64) -> bool {
        self.reads.iter().all(|read| {
            let key = read.range.entity.index_key(read.index());
            let alone = read.entities.len() == 1 && !read.type_filter;
            let most = key.filter(|_| alone).and_then(|key| read.range.most_rows(&key));
            (read.filter.is_empty() && !read.type_filter) || most.is_some_and(|most| most <= limit)
        })
    }

    /// Whether every read is for whole primary keys, so that one BatchGetItem makes all of them.
    pub(crate) fn is_batch(&self) -> bool {
        let whole = |read: &Read| {
            let exact = match &read.range.sort {
                SortPart::Exact => true,
                SortPart::Whole => read.index().range.is_empty(),
                _ => false,
            };
            let unfiltered = read.filter.is_empty() && !read.type_filter;
            let primary = read.index == 0 || is_on(Mutation::IndexesTakeBatches);
            exact && primary && unfiltered && read.calls().is_some()
        };
        let keys: Option<f64> = self.reads.iter().map(Read::calls).sum();
        self.reads.iter().all(whole) && keys.is_some_and(|keys| keys > 1.0)
    }

    /// Whether nothing has to be merged.
    pub(crate) fn is_one_request(&self) -> bool {
        self.reads.iter().map(Read::calls).sum::<Option<f64>>() == Some(1.0)
    }

    /// Requests as far as their number is known; periods between inputs count as a dozen.
    fn weight(&self) -> f64 {
        let width = |fan: &Fan| fan.width().unwrap_or(12.0);
        self.reads.iter().map(|read| read.fans.iter().map(width).product::<f64>()).sum()
    }

    fn score(&self) -> Score {
        let kind = self.reads.iter().map(|read| match read.index().kind {
            IndexKind::Primary => 0,
            IndexKind::Local => 1,
            IndexKind::Global => 2,
        });
        (
            self.inconsistent.is_some(),
            !self.is_pure(),
            self.order.is_some(),
            self.is_filtered(),
            !self.is_get(),
            !self.uncovered.is_empty(),
            self.weight() as u64,
            kind.sum(),
        )
    }

    /// What makes this one worse than the chosen one, in words.
    fn drawback(&self, chosen: &Self) -> String {
        let (mine, best) = (self.score(), chosen.score());
        if mine.0 != best.0 {
            return "a global index is never strongly consistent".to_owned();
        }
        if mine.1 != best.1 {
            let why: Vec<String> = self.bleeds.iter().map(Bleed::describe).collect();
            return why.join("; ");
        }
        if mine.2 != best.2 {
            return self.order.as_ref().map(|problem| problem.why.clone()).unwrap_or_default();
        }
        if mine.3 != best.3 {
            let left: Vec<String> = self
                .reads
                .iter()
                .flat_map(|read| &read.filter)
                .map(|question| format!("`{}`", question.field))
                .collect();
            return format!("{} would be left to a filter", left.join(", "));
        }
        if mine.5 != best.5 {
            return format!("it does not hold `{}`", self.uncovered.join("`, `"));
        }
        if mine.6 != best.6 {
            return format!("it would take {} instead of {}", counted(mine.6, "request"), best.6);
        }
        "another one answers as well and is cheaper or stronger".to_owned()
    }
}

fn add_new(names: &mut Vec<String>, more: Vec<String>) {
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

/// Every candidate for a set of entities, best first, and why indexes fail.
pub(crate) fn candidates(
    space: &Space,
    access: &Access,
    entities: &[Arc<Entity>],
) -> (Option<Candidate>, Vec<Rejected>) {
    let mut rejected = Vec::new();
    let mut found: Vec<(String, Candidate)> = Vec::new();
    let Some(table) = entities.first().map(|entity| &entity.table) else { return (None, rejected) };
    for (at, index) in table.indexes.iter().enumerate() {
        let chosen = access.index.as_ref().map(|chosen| chosen.value.as_str());
        if chosen.is_some_and(|chosen| chosen != index.label()) {
            rejected.push(reject(index, "", Reason::NotChosen));
            continue;
        }
        match bind_all(access, entities, index) {
            Ok(bindings) => {
                if let Some(read) = read_of(access, at, &bindings).filter(is_legal) {
                    let exact = bindings.len() == 1 && bindings.iter().all(Binding::is_exact);
                    let candidate = assess(space, access, read, exact);
                    found.push((index.label().to_owned(), candidate));
                }
            }
            Err(mut reasons) => rejected.append(&mut reasons),
        }
    }
    let best = (0..found.len()).min_by_key(|&at| found.get(at).map(|(_, one)| one.score()));
    let chosen = best.map(|at| found.remove(at).1);
    if let Some(chosen) = &chosen {
        for (label, other) in &found {
            let why = other.drawback(chosen);
            rejected.push(Rejected {
                index: label.clone(),
                entity: String::new(),
                reason: Reason::Worse { why },
            });
        }
    }
    (chosen, rejected)
}

/// A pattern for several entities, answered by one read of its own for each.
pub(crate) fn separately(space: &Space, access: &Access) -> Option<Candidate> {
    let mut whole: Option<Candidate> = None;
    for entity in &access.find {
        let (own, _) = candidates(space, access, std::slice::from_ref(entity));
        let own = own?;
        whole = Some(match whole {
            None => own,
            Some(so_far) => so_far.and(access, own),
        });
    }
    whole
}

/// Whether reading entity by entity is better than one read for all.
pub(crate) fn is_better(separate: &Candidate, joint: &Candidate) -> bool {
    let key = |c: &Candidate| {
        (c.inconsistent.is_some(), !c.is_pure(), c.order.is_some(), c.is_filtered())
    };
    key(separate) < key(joint)
}

fn reject(index: &Index, entity: &str, reason: Reason) -> Rejected {
    Rejected { index: index.label().to_owned(), entity: entity.to_owned(), reason }
}

fn bind_all<'a>(
    access: &Access,
    entities: &'a [Arc<Entity>],
    index: &'a Index,
) -> Result<Vec<Binding<'a>>, Vec<Rejected>> {
    let mut bindings = Vec::new();
    let mut reasons = Vec::new();
    for entity in entities {
        let name = if entities.len() > 1 { entity.name.as_str() } else { "" };
        match bind(access, entity, index) {
            Ok(binding) => bindings.push(binding),
            Err(reason) => reasons.push(reject(index, name, reason)),
        }
    }
    if !reasons.is_empty() {
        return Err(reasons);
    }
    // One request has one partition key: it must be made the same way for all of them.
    let mut texts = bindings.iter().map(|binding| hash_text(binding));
    let first = texts.next().unwrap_or_default();
    if let Some(other) = texts.find(|text| *text != first && !is_on(Mutation::PartitionsAreShared))
    {
        let why =
            format!("its entities lie under different partition keys: `{first}` and `{other}`");
        return Err(vec![reject(index, "", Reason::Worse { why })]);
    }
    Ok(bindings)
}

fn hash_text(binding: &Binding) -> String {
    let parts = binding.key.hash.iter().map(|part| {
        let template = part.shape.template();
        let pieces: Vec<String> = template
            .pieces()
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => text.clone(),
                Piece::Field(field) => {
                    let kind = binding.entity.field(field.name()).map(|field| &field.kind);
                    let shards = match kind {
                        Some(FieldKind::Shard(shards)) if shards.by.is_empty() => {
                            format!(" of {}", shards.count)
                        }
                        Some(FieldKind::Shard(shards)) => {
                            format!(" of {} by {}", shards.count, shards.by.join(", "))
                        }
                        _ => String::new(),
                    };
                    format!("{{{}:{}{shards}}}", field.name(), field.format())
                }
            })
            .collect();
        pieces.concat()
    });
    parts.collect::<Vec<_>>().join(" + ")
}

fn assess(space: &Space, access: &Access, mut read: Read, exact: bool) -> Candidate {
    let mut bled = bleed(space, &read);
    let table = &read.table;
    let tells = |name: &String| table.projects(read.index(), name);
    if bled.is_only_strangers() && table.type_attribute.as_ref().is_some_and(tells) {
        read.type_filter = true;
        read.limit = None;
        bled = Bleed::default();
    }
    let order = match direction(access, &read) {
        Ok(forward) => {
            read.forward = forward;
            None
        }
        Err(problem) => {
            read.forward = !access.order.first().is_some_and(|term| term.descending);
            Some(problem)
        }
    };
    let index = read.index();
    let inconsistent =
        (access.consistent && index.kind == IndexKind::Global).then(|| index.label().to_owned());
    let inconsistent = inconsistent.filter(|_| !is_on(Mutation::GlobalIndexesAreStrong));
    let mut missing = uncovered(access, &read.entities, index);
    read.fetches = fetches(read.index()) && !missing.is_empty();
    if read.fetches {
        // What is nowhere in the item cannot be fetched from it.
        missing = uncovered(access, &read.entities, read.table.primary());
    }
    let order = order.or_else(|| {
        let merged = read.calls() != Some(1.0) && !is_one_after_another(access, &read);
        merged.then(|| unmergeable(access, &read)).flatten()
    });
    // What the targets of links lack is found where they are fetched.
    let lost = if access.via.is_some() { Vec::new() } else { lost(access, &read.entities) };
    Candidate {
        uncovered: missing,
        lost,
        order,
        bleeds: vec![bled],
        inconsistent,
        loose: loose_fields(access, &read.entities),
        exact: exact && read.fans.is_empty(),
        reads: vec![read],
    }
}

/// Why rows of several entities cannot be put into one order: they write what they are merged by in different ways, such
/// as with and without milliseconds.
fn unlike(access: &Access, reads: &[Read]) -> Option<OrderProblem> {
    let sorts = access.order.iter().filter(|term| access.equality(&term.field).is_none());
    sorts.map(|term| term.field.as_str()).find_map(|name| {
        let entities = reads.iter().flat_map(|read| &read.entities);
        let mut fields = entities.filter_map(|entity| Some((entity, entity.field(name)?)));
        let (first, one) = fields.next()?;
        let class = one.comparison_class();
        let alike = is_on(Mutation::EntitiesWriteAlike);
        let (second, other) =
            fields.find(|(_, other)| !alike && other.comparison_class() != class)?;
        Some(OrderProblem {
            why: format!(
                "rows are merged by `{name}`, which is a {} in `{}` and a {} in `{}`",
                one.type_name(),
                first.name,
                other.type_name(),
                second.name
            ),
            fix: format!("give `{name}` one type in both"),
            moved: None,
        })
    })
}

/// Whether the requests of one read follow one another: periods do, in the order of time. Beside the requests of another
/// read, they are merged with those.
fn is_one_after_another(access: &Access, read: &Read) -> bool {
    let first = access.order.first().map(|term| term.field.as_str());
    let is_period = |fan: &Fan| matches!(fan, Fan::Buckets { .. }) && Some(fan.field()) == first;
    !read.fans.is_empty() && read.fans.iter().all(is_period) && read.entities.len() == 1
}

/// Why rows of several requests cannot be put into one order: what they are merged by is not in them.
fn unmergeable(access: &Access, read: &Read) -> Option<OrderProblem> {
    if is_on(Mutation::RowsAlwaysMerge) {
        return None;
    }
    let index = read.index();
    let sorts = |field: &Field| field.is_stored() && !field.is_loose_time();
    let is_there = |name: &str| {
        let stored = read.entities.iter().all(|e| e.field(name).is_some_and(sorts));
        stored && (read.table.projects(index, name) || read.fetches)
    };
    let lost = access
        .order
        .iter()
        .find(|term| access.equality(&term.field).is_none() && !is_there(&term.field))?;
    let is_loose = |e: &Arc<Entity>| e.field(&lost.field).is_some_and(Field::is_loose_time);
    if read.entities.iter().any(is_loose) {
        return Some(super::order::loose_order(&lost.field));
    }
    Some(OrderProblem {
        why: format!(
            "the rows of several requests are merged by `{}`, which {} does not return",
            lost.field,
            index.label()
        ),
        fix: format!("project `{}` into {}, or keep it as an attribute", lost.field, index.label()),
        moved: None,
    })
}

/// The fields whose texts are compared although they mean moments.
pub(crate) fn loose_fields(access: &Access, entities: &[Arc<Entity>]) -> Vec<String> {
    let is_loose = |term: &&Question| {
        let compared = !matches!(
            term.test,
            Test::Exists | Test::Missing | Test::BeginsWith(_) | Test::Contains(_) | Test::Lacks(_)
        );
        let mut fields = entities.iter().filter_map(|entity| entity.field(&term.field));
        let loose = !is_on(Mutation::LooseTimesSort);
        compared && loose && fields.any(|field| field.kind == FieldKind::LooseTime)
    };
    access.terms.iter().filter(is_loose).map(|term| term.field.clone()).collect()
}

fn read_of(access: &Access, at: usize, bindings: &[Binding]) -> Option<Read> {
    let first = bindings.first()?;
    let entities: Vec<Arc<Entity>> = bindings.iter().map(|b| b.entity.clone()).collect();
    let mut filter: Vec<Question> = Vec::new();
    for binding in bindings {
        for question in &binding.residual {
            let holds = always_holds(binding.entity, question);
            if !filter.contains(question) && !holds && !is_on(Mutation::ConditionsAreForgotten) {
                filter.push(question.clone());
            }
        }
    }
    let range = common_range(access, first, bindings, &mut filter);
    // What no key of the requests states makes no difference between them.
    let fans = first.fans.iter().filter(|fan| {
        let calculated = range.sources.iter().any(|(name, source)| {
            let by = |by: &String| by == fan.field();
            matches!(source, Source::Calculated { by: fields, .. } if fields.iter().any(by))
                && range.is_stated(&first.key, name)
        });
        calculated || range.is_stated(&first.key, fan.field())
    });
    let fans = fans.cloned().collect();
    // With a filter the limit would count rows that are thrown away, so pages are read until enough remain.
    let counts = filter.is_empty() || is_on(Mutation::FilteredRowsCount);
    let limit = if counts { access.limit } else { None };
    Some(Read {
        table: first.entity.table.clone(),
        index: at,
        entities,
        range,
        fans,
        filter,
        type_filter: false,
        forward: true,
        limit,
        fetches: false,
    })
}

/// Whether every item satisfies a condition: the field is always there, or may have no other value.
fn always_holds(entity: &Entity, question: &Question) -> bool {
    let Some(field) = entity.field(&question.field).filter(|field| !field.optional) else {
        return false;
    };
    match &question.test {
        Test::Exists => true,
        Test::In(operands) => field.values().is_some_and(|values| {
            let is_listed = |value: &String| {
                let same = |operand: &Operand| {
                    matches!(operand, Operand::Value(listed) if listed.to_string() == *value)
                };
                operands.iter().any(same)
            };
            values.iter().all(is_listed)
        }),
        _ => false,
    }
}

/// Whether DynamoDB takes it: no filter on a key attribute, and no prefix of a number.
fn is_legal(read: &Read) -> bool {
    let index = read.index();
    // A condition that one entity's key expresses may be a filter for the others, so all must have the attribute.
    let lacks = |question: &Question| {
        index.has_attribute(&question.field)
            || !read.table.projects(index, &question.field)
            || read
                .entities
                .iter()
                .any(|entity| entity.field(&question.field).is_none_or(|field| !field.is_stored()))
    };
    let filtered = read.filter.iter().any(lacks);
    let text = index.range.first().is_none_or(|attribute| attribute.kind == KeyType::S);
    !filtered && (text || !matches!(read.range.sort, SortPart::Common(_)))
}

/// The smallest range that holds every entity's rows.
fn common_range(
    access: &Access,
    first: &Binding,
    bindings: &[Binding],
    filter: &mut Vec<Question>,
) -> ReadRange {
    if bindings.len() == 1 || bindings.iter().all(|other| same_sort(first, other)) {
        return first.range.clone();
    }
    let mut common = bound_pieces(first);
    for binding in bindings.iter().skip(1) {
        common = common_start(&common, &bound_pieces(binding));
    }
    // Conditions that the common range no longer expresses are left to a filter.
    for binding in bindings {
        let hash = binding.key.hash.iter().flat_map(|part| part.shape.template().field_pieces());
        let stated: Vec<&FieldPiece> =
            hash.chain(common.iter().filter_map(Piece::as_field)).collect();
        for piece in binding.key.range_pieces().filter_map(Piece::as_field) {
            let question = access.terms.iter().find(|term| term.field == piece.name());
            let expressed = |question: &&Question| {
                let mut own = stated.iter().filter(|stated| stated.name() == piece.name());
                own.any(|stated| tells(binding.entity, stated, Some(question)))
            };
            let left = |q: &&Question| !expressed(q) && !filter.contains(q);
            if let Some(question) = question.filter(left)
                && !is_on(Mutation::CommonRangesTell)
            {
                filter.push(question.clone());
            }
        }
    }
    let sort = if common.is_empty() { SortPart::Whole } else { SortPart::Common(common) };
    ReadRange { sort, ..first.range.clone() }
}

/// Whether two bindings take the very same sort keys.
fn same_sort(a: &Binding, b: &Binding) -> bool {
    let upto = |binding: &Binding| match &binding.range.sort {
        SortPart::Open { attribute, pieces, range } => {
            Some((*attribute, *pieces, range.as_ref().map(|q| q.test.clone())))
        }
        _ => None,
    };
    // The bounds of a range end with what follows the field, so that must be the same as well.
    let next = |binding: &Binding| -> Vec<Piece> {
        let SortPart::Open { attribute, pieces, range: Some(_) } = &binding.range.sort else {
            return Vec::new();
        };
        let part = binding.key.range.get(*attribute);
        let pieces = part.iter().flat_map(|part| part.shape.template().pieces()).skip(*pieces);
        pieces.take(2).cloned().collect()
    };
    match (&a.range.sort, &b.range.sort) {
        (SortPart::Whole, SortPart::Whole) => true,
        (SortPart::Exact, SortPart::Exact) => a.key.range_pieces().eq(b.key.range_pieces()),
        _ if is_on(Mutation::SortKeysAreAlike) => true,
        (SortPart::Open { .. }, SortPart::Open { .. }) => {
            upto(a) == upto(b) && bound_pieces(a) == bound_pieces(b) && next(a) == next(b)
        }
        _ => false,
    }
}

/// The pieces of the first sort key attribute that are bound.
fn bound_pieces(binding: &Binding) -> Vec<Piece> {
    let Some(part) = binding.key.range.first() else { return Vec::new() };
    let template: &KeyTemplate = part.shape.template();
    let count = match &binding.range.sort {
        SortPart::Whole | SortPart::Common(_) => 0,
        SortPart::Open { attribute: 0, pieces, .. } => *pieces,
        SortPart::Exact | SortPart::Open { .. } => template.pieces().len(),
    };
    template.pieces().iter().take(count).cloned().collect()
}

/// What two lists of pieces begin with; literals are cut where they differ.
fn common_start(a: &[Piece], b: &[Piece]) -> Vec<Piece> {
    let mut common = Vec::new();
    for (x, y) in a.iter().zip(b) {
        match (x, y) {
            (Piece::Literal(x), Piece::Literal(y)) if x != y => {
                let shared: String =
                    x.chars().zip(y.chars()).take_while(|(p, q)| p == q).map(|(p, _)| p).collect();
                if !shared.is_empty() {
                    common.push(Piece::Literal(shared));
                }
                return common;
            }
            _ if x == y => common.push(x.clone()),
            _ => return common,
        }
    }
    common
}
