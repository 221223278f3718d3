//! Requests to DynamoDB, with placeholders or values for inputs.

use keyloom_core::json::write_value;
use keyloom_core::limits::MAX_BATCH_GET_KEYS;
use keyloom_core::{AttributeValue, Operation};
use serde_json::{Map, Value as Json, json};

use super::bind::Source;
use super::concrete::{FilterTest, ReadForm, ReadKind, SortCondition};
use super::range::SortPart;
use super::{Plan, Read, Verdict};
use crate::condition::Comparison;
use crate::evaluate::Inputs;
use crate::key::{FieldPiece, KeyTemplate, Piece};
use crate::model::{
    Access, Entity, EntityKey, Field, Index, IndexKey, KeyType, Operand, Projection, Question, Test,
};

/// One request to DynamoDB.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// `GetItem`, `Query` or `BatchGetItem`.
    pub operation: Operation,
    /// The body of the request.
    pub body: Json,
}

impl Request {
    /// The request as reports show it.
    pub fn to_json(&self) -> Json {
        json!({ "operation": self.operation.name(), "body": self.body })
    }
}

/// The exact requests of a plan for these inputs, in the order they are sent.
pub fn requests(access: &Access, plan: &Plan, inputs: &Inputs) -> Result<Vec<Request>, String> {
    let reads = plan.first_reads(access, inputs)?;
    if plan.verdict == Verdict::Batch {
        return Ok(batches(&reads));
    }
    Ok(reads.iter().map(to_request).collect())
}

/// BatchGetItem requests for whole keys, 100 in each; DynamoDB rejects duplicate keys in one request.
fn batches<V: RequestValue>(reads: &[ReadForm<V>]) -> Vec<Request> {
    let mut keys: Vec<Json> = Vec::new();
    for read in reads {
        let key: Map<String, Json> =
            read.equal.iter().map(|(name, value)| (name.clone(), value.to_json())).collect();
        let key = Json::Object(key);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let Some(first) = reads.first() else { return Vec::new() };
    keys.chunks(MAX_BATCH_GET_KEYS)
        .map(|chunk| {
            let mut request = json!({ "Keys": chunk });
            if let (true, Json::Object(map)) = (first.consistent, &mut request) {
                map.insert("ConsistentRead".to_owned(), json!(true));
            }
            let mut items = Map::new();
            items.insert(first.table.clone(), request);
            let body = json!({ "RequestItems": items });
            Request { operation: Operation::BatchGetItem, body }
        })
        .collect()
}

/// The requests of a plan, with inputs as `{name}`.
pub fn shapes(access: &Access, plan: &Plan) -> Vec<Request> {
    if let Some(raw) = &plan.raw {
        return vec![to_request(&raw.form())];
    }
    let forms = read_forms(access, plan);
    if plan.verdict == Verdict::Batch {
        return batches(&forms);
    }
    forms.iter().map(to_request).collect()
}

/// The reads of a plan, with inputs as `{name}`.
pub(super) fn read_forms(access: &Access, plan: &Plan) -> Vec<ReadForm<Placeholder>> {
    let form = |read| {
        let kind = if plan.is_get(read) { ReadKind::Get } else { ReadKind::Query };
        Shaper { access, read }.shape(kind)
    };
    plan.reads.iter().map(form).collect()
}

/// A placeholder for a value of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// The attribute's type.
    pub kind: &'static str,
    /// Text with `{name}` for inputs.
    pub text: String,
}

/// Values or placeholders of a request.
pub trait RequestValue {
    /// The value as DynamoDB JSON.
    fn to_json(&self) -> Json;
}

impl RequestValue for Placeholder {
    fn to_json(&self) -> Json {
        let mut map = Map::new();
        let value = match (self.kind, self.text.parse::<bool>()) {
            ("BOOL", Ok(flag)) => Json::Bool(flag),
            _ => Json::String(self.text.clone()),
        };
        map.insert(self.kind.to_owned(), value);
        Json::Object(map)
    }
}

impl RequestValue for AttributeValue {
    fn to_json(&self) -> Json {
        let mut bytes = Vec::new();
        write_value(self, &mut bytes);
        serde_json::from_slice(&bytes).unwrap_or(Json::Null)
    }
}

/// The request of a read.
pub fn to_request<V: RequestValue>(read: &ReadForm<V>) -> Request {
    let mut body = Map::new();
    body.insert("TableName".into(), json!(read.table));
    if let Some(index) = &read.index {
        body.insert("IndexName".into(), json!(index));
    }
    if read.kind == ReadKind::Get {
        let key: Map<String, Json> =
            read.equal.iter().map(|(name, value)| (name.clone(), value.to_json())).collect();
        body.insert("Key".into(), Json::Object(key));
        if read.consistent {
            body.insert("ConsistentRead".into(), json!(true));
        }
        return Request { operation: Operation::GetItem, body: Json::Object(body) };
    }
    let mut writer = ExpressionWriter::default();
    let condition = writer.key_condition(read);
    body.insert("KeyConditionExpression".into(), json!(condition));
    if !read.filter.is_empty() {
        let filter = writer.filter(&read.filter);
        body.insert("FilterExpression".into(), json!(filter));
    }
    body.insert("ExpressionAttributeNames".into(), Json::Object(writer.names));
    if !writer.values.is_empty() {
        body.insert("ExpressionAttributeValues".into(), Json::Object(writer.values));
    }
    if !read.forward {
        body.insert("ScanIndexForward".into(), json!(false));
    }
    if let Some(limit) = read.limit {
        body.insert("Limit".into(), json!(limit));
    }
    if read.consistent {
        body.insert("ConsistentRead".into(), json!(true));
    }
    if read.all_attributes {
        body.insert("Select".into(), json!("ALL_ATTRIBUTES"));
    }
    Request { operation: Operation::Query, body: Json::Object(body) }
}

/// Prints expressions; every name has a placeholder, so that reserved words do not matter.
#[derive(Default)]
struct ExpressionWriter {
    names: Map<String, Json>,
    values: Map<String, Json>,
}

impl ExpressionWriter {
    fn name(&mut self, alias: &str, name: &str) -> String {
        let alias = format!("#{alias}");
        self.names.insert(alias.clone(), json!(name));
        alias
    }

    fn value(&mut self, alias: &str, value: &impl RequestValue) -> String {
        let alias = format!(":{alias}");
        self.values.insert(alias.clone(), value.to_json());
        alias
    }

    fn key_condition<V: RequestValue>(&mut self, read: &ReadForm<V>) -> String {
        let mut parts = Vec::new();
        let short = read.equal.len() <= 1 || read.equal.len() == 2 && read.sort.is_none();
        for (at, (name, value)) in read.equal.iter().enumerate() {
            let alias = match (short, at) {
                (true, 0) => "pk".to_owned(),
                (true, _) => "sk".to_owned(),
                _ => format!("k{at}"),
            };
            let (name, value) = (self.name(&alias, name), self.value(&alias, value));
            parts.push(format!("{name} = {value}"));
        }
        if let Some((name, condition)) = &read.sort {
            let name = self.name("sk", name);
            let value = |value: &&V, part: &str| self.value(&format!("sk{part}"), *value);
            parts.push(condition.as_test().expression(&name, value).to_string());
        }
        parts.join(" AND ")
    }

    fn filter<V: RequestValue>(&mut self, tests: &[(String, FilterTest<V>)]) -> String {
        let mut parts = Vec::new();
        for (at, (attribute, test)) in tests.iter().enumerate() {
            let alias = format!("f{at}");
            let name = self.name(&alias, attribute);
            let value = |value: &V, part: &str| self.value(&format!("{alias}{part}"), value);
            parts.push(test.expression(&name, value).to_string());
        }
        parts.join(" AND ")
    }
}

/// Builds a read with placeholders for its inputs.
struct Shaper<'a> {
    access: &'a Access,
    read: &'a Read,
}

impl Shaper<'_> {
    fn shape(&self, kind: ReadKind) -> ReadForm<Placeholder> {
        let index = self.read.index();
        let mut equal = Vec::new();
        let mut sort = None;
        if let Some(key) = self.read.range.entity.index_key(index) {
            for (attribute, part) in index.hash.iter().zip(&key.hash) {
                equal.push((attribute.name.clone(), self.whole(part, attribute.kind)));
            }
            sort = self.sort(index, &key, &mut equal);
        }
        ReadForm {
            kind,
            table: self.read.table.name.clone(),
            index: index.name.clone(),
            equal,
            sort,
            filter: self.filter(),
            forward: self.read.forward,
            limit: self.read.limit,
            consistent: self.access.consistent,
            all_attributes: self.read.fetches,
        }
    }

    fn whole(&self, part: &EntityKey, kind: KeyType) -> Placeholder {
        let template = part.shape.template();
        Placeholder { kind: kind.as_str(), text: self.text(template, template.pieces().len()) }
    }

    fn text(&self, template: &KeyTemplate, pieces: usize) -> String {
        template.pieces().iter().take(pieces).map(|piece| self.piece(piece)).collect()
    }

    fn piece(&self, piece: &Piece) -> String {
        match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Field(field) => self.field(field),
        }
    }

    fn field(&self, field: &FieldPiece) -> String {
        match self.read.range.source(field.name()) {
            Some(Source::Pinned(operand)) => self.operand(operand, field),
            _ => placeholder(&self.read.range.entity, field, field.name()),
        }
    }

    fn operand(&self, operand: &Operand, field: &FieldPiece) -> String {
        match operand {
            Operand::Input(name) => placeholder(&self.read.range.entity, field, name),
            Operand::Value(value) => {
                field.format().encode(value).unwrap_or_else(|_| value.to_string())
            }
        }
    }

    fn sort(
        &self,
        index: &Index,
        key: &IndexKey,
        equal: &mut Vec<(String, Placeholder)>,
    ) -> Option<(String, SortCondition<Placeholder>)> {
        let bound = match &self.read.range.sort {
            SortPart::Whole | SortPart::Common(_) => 0,
            SortPart::Exact => index.range.len(),
            SortPart::Open { attribute, .. } => *attribute,
        };
        for (attribute, part) in index.range.iter().zip(&key.range).take(bound) {
            equal.push((attribute.name.clone(), self.whole(part, attribute.kind)));
        }
        let attribute = index.range.get(bound)?;
        let template = key.range.get(bound)?.shape.template();
        let value = |text: String| Placeholder { kind: attribute.kind.as_str(), text };
        let condition = match &self.read.range.sort {
            SortPart::Common(pieces) => {
                let text = pieces.iter().map(|piece| self.piece(piece)).collect();
                SortCondition::BeginsWith(value(text))
            }
            SortPart::Open { pieces, range, .. } => {
                let prefix = self.text(template, *pieces);
                let next = template.pieces().get(*pieces).and_then(Piece::as_field);
                match (range, next) {
                    (Some(question), Some(field)) => self.ranged(&prefix, field, question, &value),
                    _ if prefix.is_empty() => return None,
                    _ => SortCondition::BeginsWith(value(prefix)),
                }
            }
            SortPart::Whole | SortPart::Exact => return None,
        };
        Some((attribute.name.clone(), condition))
    }

    /// A range on the field after a prefix; `…` stands for the greatest key below the prefix.
    fn ranged(
        &self,
        prefix: &str,
        field: &FieldPiece,
        question: &Question,
        value: &dyn Fn(String) -> Placeholder,
    ) -> SortCondition<Placeholder> {
        let text = |operand: &Operand| format!("{prefix}{}", self.operand(operand, field));
        match &question.test {
            Test::BeginsWith(operand) | Test::Equal(operand) => {
                SortCondition::BeginsWith(value(text(operand)))
            }
            Test::Range { low, high } => {
                let (mut from, mut to) = (
                    low.as_ref().map_or_else(|| prefix.to_owned(), |low| text(&low.operand)),
                    high.as_ref().map_or_else(|| format!("{prefix}…"), |high| text(&high.operand)),
                );
                // The range of a descending field is reversed in keys.
                if field.format().is_desc() {
                    std::mem::swap(&mut from, &mut to);
                }
                SortCondition::Between(value(from), value(to))
            }
            _ => SortCondition::BeginsWith(value(prefix.to_owned())),
        }
    }

    fn filter(&self) -> Vec<(String, FilterTest<Placeholder>)> {
        let mut tests = Vec::new();
        if let Some(name) =
            self.read.table.type_attribute.as_ref().filter(|_| self.read.type_filter)
        {
            let names = self
                .read
                .entities
                .iter()
                .map(|entity| Placeholder { kind: "S", text: entity.name.clone() });
            tests.push((name.clone(), FilterTest::In(names.collect())));
        }
        for question in &self.read.filter {
            for test in self.filter_tests(question) {
                tests.push((question.field.clone(), test));
            }
        }
        tests
    }

    fn filter_tests(&self, question: &Question) -> Vec<FilterTest<Placeholder>> {
        let field = self.read.entities.iter().find_map(|entity| entity.field(&question.field));
        let kind = field.map_or("S", |field| {
            let sample = crate::generate::sample(field, 1);
            crate::key::attribute_of(field, &sample).attribute_type().as_str()
        });
        let value = |operand: &Operand| Placeholder {
            kind,
            text: match operand {
                Operand::Input(name) => format!("{{{name}}}"),
                Operand::Value(value) => value.to_string(),
            },
        };
        let compare = |comparison, operand| FilterTest::Compare(comparison, value(operand));
        vec![match &question.test {
            Test::Equal(operand) => compare(Comparison::Equal, operand),
            Test::NotEqual(operand) => compare(Comparison::NotEqual, operand),
            Test::Range { low: Some(low), high: Some(high) } if low.inclusive && high.inclusive => {
                FilterTest::Between(value(&low.operand), value(&high.operand))
            }
            Test::Range { low, high } => {
                let above = low.as_ref().map(|low| {
                    let sign = if low.inclusive {
                        Comparison::GreaterOrEqual
                    } else {
                        Comparison::Greater
                    };
                    compare(sign, &low.operand)
                });
                let below = high.as_ref().map(|high| {
                    let sign =
                        if high.inclusive { Comparison::LessOrEqual } else { Comparison::Less };
                    compare(sign, &high.operand)
                });
                return above.into_iter().chain(below).collect();
            }
            Test::BeginsWith(operand) => FilterTest::BeginsWith(value(operand)),
            Test::In(operands) => FilterTest::In(operands.iter().map(value).collect()),
            Test::Contains(operand) => FilterTest::Contains(value(operand)),
            Test::Lacks(operand) => FilterTest::Lacks(value(operand)),
            Test::Missing => FilterTest::Missing,
            Test::Exists => FilterTest::Exists,
        }]
    }
}

/// An input in a key: `{at}`, or `{at:month}` where the key does not hold it as the field is stored.
pub(crate) fn placeholder(entity: &Entity, piece: &FieldPiece, input: &str) -> String {
    let stored = entity.field(piece.name()).and_then(Field::format);
    match stored {
        Some(stored) if stored != *piece.format() => format!("{{{input}:{}}}", piece.format()),
        _ => format!("{{{input}}}"),
    }
}

/// Pieces as a template text.
pub(crate) fn pieces_text(pieces: &[Piece]) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Field(field) => format!("{{{}}}", field.name()),
        })
        .collect()
}

/// The attributes that a projection copies, for DynamoDB.
pub(crate) fn projection_json(projection: &Projection) -> Json {
    match projection {
        Projection::All => json!({ "ProjectionType": "ALL" }),
        Projection::Keys => json!({ "ProjectionType": "KEYS_ONLY" }),
        Projection::Include(names) => {
            json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": names })
        }
    }
}
