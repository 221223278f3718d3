//! Access patterns as a generated module states them: the planned reads, with inputs where values go.

use std::sync::Arc;

use super::node::{Node, Record};
use super::outline::{format_node, operand_node, precision_name, question_node, template_text};
use crate::condition::Test as Written;
use crate::key::{FieldPiece, KeyTemplate, Piece};
use crate::model::{Access, Entity, EntityKey, Escape, Field, KeyType, Question};
use crate::plan::{
    Fan, Placeholder, Plan, Proof, Read, ReadForm, ReadKind, SortCondition, SortPart, Source,
    Verdict, is_kept_plain, shapes,
};
use crate::report::proofs;

/// An access pattern.
pub(super) struct PatternOutline<'d> {
    pub(super) access: &'d Access,
    pub(super) inputs: Vec<PatternInput<'d>>,
    /// What is said about it: its purpose, its request, its proofs.
    pub(super) notes: Vec<String>,
    /// The pattern without its inputs, member by member.
    pub(super) spec: Vec<(String, Node)>,
    /// Whether it is one GetItem.
    pub(super) is_get: bool,
}

/// An input of a pattern.
pub(super) struct PatternInput<'d> {
    pub(super) name: String,
    /// The field whose values it takes; a beginning of one is a text.
    pub(super) field: Option<&'d Field>,
}

/// The outline of a pattern that has a plan.
pub(super) fn pattern<'d>(access: &'d Access, plan: &'d Plan) -> PatternOutline<'d> {
    // A request that was written by hand and is what the planner would write is stated as planned.
    let raw = plan.raw.as_ref().filter(|raw| !raw.is_as_planned());
    let reads = match raw {
        Some(raw) => vec![raw_node(access, &raw.form())],
        None => plan.reads.iter().map(|read| read_node(plan, read)).collect(),
    };
    let entity = |entity: &Arc<Entity>| Node::Entity(entity.name.clone());
    let order = access.order.iter().map(|by| {
        let record = Record::default().with("field", Node::text(&by.field));
        record.with_flag("desc", by.descending).node()
    });
    let limit = access.limit.map(|limit| Node::Number(i64::try_from(limit).unwrap_or(i64::MAX)));
    let then = plan.hydrate.as_ref().map(|step| {
        let record = Record::default().with("batch", Node::Flag(step.batch));
        record.with_some("index", step.index.as_deref().map(Node::text)).node()
    });
    let is_one_page = plan.raw.is_some() && access.limit.is_some();
    let spec = Record::default()
        .with("name", Node::text(&access.name))
        .with("find", Node::List(access.find.iter().map(entity).collect()))
        .with_some("via", access.via.as_ref().map(entity))
        .with("reads", Node::List(reads))
        .with_list("order", order.collect())
        .with_some("limit", limit)
        .with_flag("consistent", access.consistent)
        .with_some("then", then)
        .with_flag("alternatives", !access.alternatives.is_empty())
        .with_flag("one_page", is_one_page)
        .with_list("returns", access.returns.iter().map(Node::text).collect())
        .members();
    let is_get = plan.verdict == Verdict::Get && plan.reads.len() == 1 && access.find.len() == 1;
    PatternOutline {
        access,
        inputs: inputs(access, plan),
        notes: notes(access, plan),
        spec,
        is_get,
    }
}

fn inputs<'d>(access: &'d Access, plan: &Plan) -> Vec<PatternInput<'d>> {
    let field = |name: &str| {
        let asked = access.asked().into_iter().chain(&access.find);
        asked.into_iter().find_map(|entity| entity.field(name))
    };
    let declared = access.inputs.iter().map(|input| PatternInput {
        name: input.name.clone(),
        field: field(&input.field).filter(|_| input.role != crate::model::InputRole::Prefix),
    });
    let mut inputs: Vec<PatternInput> = declared.collect();
    // A request that was written by hand may name more of them.
    for name in plan.raw.iter().flat_map(crate::plan::RawForm::inputs) {
        if inputs.iter().all(|input| input.name != name) {
            inputs.push(PatternInput { field: field(&name), name });
        }
    }
    inputs
}

/// What a reader of the generated code wants to know.
fn notes(access: &Access, plan: &Plan) -> Vec<String> {
    let mut notes = vec![if access.description.is_empty() {
        format!("{}.", access.name)
    } else {
        format!("{}: {}", access.name, access.description)
    }];
    for request in shapes(access, plan) {
        let body = &request.body;
        let text = |name: &str| body.get(name).and_then(|value| value.as_str());
        let place = text("IndexName").map_or_else(String::new, |index| format!(" of {index}"));
        let condition = text("KeyConditionExpression").map(|condition| filled(condition, body));
        let filter = text("FilterExpression").map(|filter| filled(filter, body));
        let condition = condition.map_or_else(String::new, |text| format!(": {text}"));
        let filter = filter.map_or_else(String::new, |text| format!(", filtered by {text}"));
        notes.push(format!("{}{place}{condition}{filter}", request.operation.name()));
    }
    let kept = |wanted: Proof| -> Vec<&str> {
        proofs(plan)
            .into_iter()
            .filter(|(_, proof)| *proof == wanted)
            .map(|(name, _)| name)
            .collect()
    };
    let (proven, refuted) = (kept(Proof::Proven), kept(Proof::Refuted));
    if !proven.is_empty() {
        notes.push(format!("Proven: {}.", proven.join(", ")));
    }
    if !refuted.is_empty() {
        notes.push(format!("NOT proven: {}.", refuted.join(", ")));
    }
    notes
}

/// An expression with what its placeholders stand for.
fn filled(expression: &str, body: &serde_json::Value) -> String {
    let mut text = expression.to_owned();
    let mut swap = |members: &str, shown: &dyn Fn(&serde_json::Value) -> String| {
        let Some(map) = body.get(members).and_then(|map| map.as_object()) else { return };
        let mut names: Vec<_> = map.iter().collect();
        // `:sk_from` before `:sk`.
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        for (name, value) in names {
            text = text.replace(name.as_str(), &shown(value));
        }
    };
    swap("ExpressionAttributeNames", &|name| name.as_str().unwrap_or_default().to_owned());
    swap("ExpressionAttributeValues", &|value| {
        let inner = value.as_object().and_then(|map| map.values().next());
        inner.map_or_else(String::new, |inner| match inner {
            serde_json::Value::String(text) => format!("'{text}'"),
            other => other.to_string(),
        })
    });
    text
}

fn read_node(plan: &Plan, read: &Read) -> Node {
    let mut pins = Vec::new();
    let mut shards = Vec::new();
    for (field, source) in &read.range.sources {
        match source {
            Source::Pinned(operand) => pins.push((field.clone(), operand_node(operand))),
            Source::Calculated { by, shards: count } => {
                let by = Node::texts(by.iter().map(String::as_str));
                let count = Node::Number(i64::from(*count));
                let record = Record::default().with("by", by).with("count", count);
                shards.push((field.clone(), record.node()));
            }
            Source::Fanned => {}
        }
    }
    let types =
        read.type_filter.then(|| Node::texts(read.entities.iter().map(|e| e.name.as_str())));
    let mut record = Record::default()
        .with("entity", Node::Entity(read.range.entity.name.clone()))
        .with_some("index", read.index().name.as_deref().map(Node::text))
        .with_flag("get", plan.is_get(read))
        .with("pins", Node::Record(pins))
        .with_some("shards", (!shards.is_empty()).then_some(Node::Record(shards)))
        .with_list("fans", read.fans.iter().map(fan_node).collect());
    for (name, node) in sort_members(read) {
        record = record.with(name, node);
    }
    record
        .with_list("filter", read.filter.iter().map(question_node).collect())
        .with_some("types", types)
        .with_flag("backward", !read.forward)
        .with_flag("fetches", read.fetches)
        .node()
}

fn fan_node(fan: &Fan) -> Node {
    let record = Record::default().with("field", Node::text(fan.field()));
    match fan {
        Fan::Shards { count, .. } => record.with("shards", Node::Number(i64::from(*count))).node(),
        Fan::Values { values, .. } => {
            record.with("values", Node::List(values.iter().map(operand_node).collect())).node()
        }
        Fan::Buckets { field, precision, test } => {
            let span = crate::source::Span::NONE;
            let question = Question { field: field.clone(), test: test.clone(), span };
            record
                .with("buckets", Node::text(precision_name(*precision)))
                .with("question", question_node(&question))
                .node()
        }
    }
}

fn count(number: usize) -> Node {
    Node::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

/// What is asked of the sort key.
fn sort_members(read: &Read) -> Vec<(&'static str, Node)> {
    let index = read.index();
    let Some(key) = read.range.entity.index_key(index) else { return Vec::new() };
    let (pinned, rest) = match &read.range.sort {
        SortPart::Whole => (0, None),
        SortPart::Exact => (index.range.len(), None),
        SortPart::Common(pieces) => (0, Some(("begins", Node::text(template_text(pieces))))),
        SortPart::Open { attribute, pieces, range } => {
            let part = key.range.get(*attribute).copied();
            let kind = index.range.get(*attribute).map(|attribute| attribute.kind);
            let open = part.zip(kind);
            (
                *attribute,
                open.and_then(|(part, kind)| open_member(part, kind, *pieces, range.as_ref())),
            )
        }
    };
    let mut members = Vec::new();
    if pinned > 0 {
        members.push(("pinned", count(pinned)));
    }
    members.extend(rest);
    members
}

/// The condition on a sort key attribute of which some pieces are bound.
fn open_member(
    part: &EntityKey,
    kind: KeyType,
    pieces: usize,
    range: Option<&Question>,
) -> Option<(&'static str, Node)> {
    let template = part.shape.template();
    if is_kept_plain(part, kind) {
        return range.map(|question| ("native", question_node(question)));
    }
    let all = template.pieces();
    // Without a policy nothing is said about where a value ends.
    let bound = if template.escape() == Escape::None { pieces } else { after_literal(all, pieces) };
    match range {
        None => Some(("begins", Node::text(template_text(all.get(..bound).unwrap_or(all))))),
        Some(question) => {
            let at = all.iter().position(|piece| {
                piece.as_field().is_some_and(|field| field.name() == question.field)
            })?;
            Some(("range", range_node(template, at, question)))
        }
    }
}

/// The number of pieces up to the next field.
fn after_literal(pieces: &[Piece], from: usize) -> usize {
    let literals = pieces.iter().skip(from).take_while(|piece| piece.as_literal().is_some());
    from + literals.count()
}

fn range_node(template: &KeyTemplate, at: usize, question: &Question) -> Node {
    let all = template.pieces();
    let end = after_literal(all, at + 1);
    let literal = |piece: &Piece| piece.as_literal().unwrap_or_default().to_owned();
    let tail: String = all.get(at + 1..end).unwrap_or_default().iter().map(literal).collect();
    let edges = |segment: usize| {
        let (least, greatest) = template.template().edges(segment);
        Node::List(vec![Node::Text(least), Node::Text(greatest)])
    };
    let format = all.get(at).and_then(Piece::as_field).map(FieldPiece::format);
    let next = template.template().continuation(at).map(String::from).unwrap_or_default();
    Record::default()
        .with("prefix", Node::text(template_text(all.get(..at).unwrap_or(all))))
        .with("question", question_node(question))
        .with_some("format", format.map(format_node))
        .with("tail", Node::Text(tail))
        .with("last", Node::Flag(end >= all.len()))
        .with("edges", edges(at))
        .with("rest", edges(at + 1))
        .with("next", Node::Text(next))
        .node()
}

/// A request that was written by hand.
fn raw_node(access: &Access, form: &ReadForm<Placeholder>) -> Node {
    let entity = access.asked().map(|entity| Node::Entity(entity.name.clone()));
    let test = |name: &str, word: &str, values: Vec<&Placeholder>| {
        let value = |value: &&Placeholder| {
            let record = Record::default().with("text", Node::text(&value.text));
            record.with("kind", Node::text(value.kind)).node()
        };
        Record::default()
            .with("name", Node::text(name))
            .with("test", Node::text(word))
            .with("values", Node::List(values.iter().map(value).collect()))
            .node()
    };
    let equal = form.equal.iter().map(|(name, value)| test(name, "=", vec![value])).collect();
    let sort = form.sort.as_ref().map(|(name, condition)| match condition {
        SortCondition::BeginsWith(value) => test(name, "begins_with", vec![value]),
        SortCondition::Between(low, high) => test(name, "between", vec![low, high]),
        SortCondition::Compare(sign, value) => test(name, sign.symbol(), vec![value]),
    });
    let filter = form.filter.iter().map(|(name, one)| test(name, test_word(one), one.operands()));
    let raw = Record::default()
        .with("equal", Node::List(equal))
        .with_some("sort", sort)
        .with_list("filter", filter.collect())
        .node();
    Record::default()
        .with_some("entity", entity)
        .with_some("index", form.index.as_deref().map(Node::text))
        .with_flag("get", form.kind == ReadKind::Get)
        .with("pins", Node::Record(Vec::new()))
        .with("raw", raw)
        .with_flag("backward", !form.forward)
        .with_flag("fetches", form.all_attributes)
        .node()
}

fn test_word(test: &Written<Placeholder>) -> &'static str {
    match test {
        Written::Compare(sign, _) => sign.symbol(),
        Written::Between(..) => "between",
        Written::BeginsWith(_) => "begins_with",
        Written::In(_) => "in",
        Written::Exists => "exists",
        Written::Missing => "missing",
        Written::Contains(_) => "contains",
        Written::Lacks(_) => "lacks",
    }
}
