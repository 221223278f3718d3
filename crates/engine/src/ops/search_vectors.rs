//! SearchVectors.
//!
//! On AWS another service answers it, with a reader of requests of its own: a member that is `null`,
//! or of the wrong JSON type, is refused in that reader's words. So this operation takes the body as
//! it is.

use std::collections::BTreeMap;
use std::ops::Bound;

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::capacity::{Units, vector_search_bytes};
use keyloom_core::error::constraint::Constraint;
use keyloom_core::error::message::vector as message;
use keyloom_core::error::request;
use keyloom_core::expr::{
    Bindings, ExpressionKind, Parameters, Projection, ResolvedKeyCondition, ResolvedSearch,
    SearchCondition,
};
use keyloom_core::observation::{Operation, Outcome, Question, Touch, Work};
use keyloom_core::schema::VectorIndexSchema;
use keyloom_core::size::item_size;
use keyloom_core::{AttributeValue, Error, Item, Number, Result, Str, json, limits};
use keyloom_store::KeyRange;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::catalog::record::Phase;
use crate::catalog::{Table, VectorIndex};
use crate::database::{Database, Inner};
use crate::vector::{EntryRef, Hit, Query, Search};
use crate::watch::{self, Ended};
use crate::{layout, store_error};
use keyloom_core::image::{Row, Stored};

use super::conditional::expression_values;
use super::parameters::ReturnConsumedCapacity;

/// What SearchVectors is asked.
#[derive(Clone, Debug, Default)]
pub struct SearchVectorsInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The vector index.
    pub index_name: String,
    /// The vector to compare with; as many numbers as the index has dimensions.
    pub search_vector: Vec<f32>,
    /// How many results to return at most: 1 to 100.
    pub top_k: usize,
    /// `SearchConditionExpression`: equalities on attributes of the search schema.
    pub condition: Option<String>,
    /// `ProjectionExpression`. Without one, everything the index holds but the vector is returned.
    pub projection: Option<String>,
    /// `ExpressionAttributeNames`.
    pub names: Option<Vec<(Str, Str)>>,
    /// `ExpressionAttributeValues`.
    pub values: Option<Vec<(Str, AttributeValue)>>,
    /// What to say of the capacity.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

/// One result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// What the index holds of the item, or what the projection keeps of that.
    pub item: Item,
    /// How near it is: for cosine and Euclidean distance the lowest is the best, for the dot product
    /// the highest.
    pub score: f64,
}

/// What SearchVectors answers.
#[derive(Debug, Default)]
pub struct SearchVectorsOutput {
    results: Vec<(Row, f64)>,
    /// The attribute whose numbers are floats.
    vector_attribute: Str,
    /// What it cost, in bytes. AWS's own figure differs from search to search.
    pub search_bytes: u64,
}

impl SearchVectorsOutput {
    /// The results, best first; those that are equally near come in key order.
    pub fn into_results(self) -> Result<Vec<SearchResult>> {
        let result = |(row, score): (Row, f64)| Ok(SearchResult { item: row.into_item()?, score });
        self.results.into_iter().map(result).collect()
    }
}

impl Database {
    /// Finds the items whose vectors are nearest to a vector, in a vector index.
    ///
    /// Every vector of the index, or of the partition that the condition names, is compared, so the
    /// answer is exact and takes time in proportion to their number.
    pub fn search_vectors(&self, input: &SearchVectorsInput) -> Result<SearchVectorsOutput> {
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, body: &[u8]) -> Result<Vec<u8>> {
    let input = SearchVectorsInput::decode(body)?;
    let output = run(database, &input)?;
    let mut json = JsonWriter::object();
    let mut outcome = Ok(());
    json.list("SearchResults", &output.results, |json, (row, score)| {
        json.nested(|json| {
            if outcome.is_ok() {
                outcome = write_row(json, row, &output.vector_attribute);
            }
            json.decimal("Score", *score);
        });
    });
    outcome?;
    if input.return_consumed_capacity != ReturnConsumedCapacity::None {
        let bytes = output.search_bytes as f64;
        json.structure("ConsumedCapacity", |json| json.decimal("VectorSearchRequestBytes", bytes));
    }
    Ok(json.finish())
}

fn write_row(json: &mut JsonWriter, row: &Row, vector_attribute: &str) -> Result<()> {
    let Row::Item(item) = row else {
        json.key("Item");
        return row.write_json(json.buffer());
    };
    json.structure("Item", |json| {
        for (name, value) in item.iter() {
            match value {
                AttributeValue::L(elements) if name == vector_attribute => {
                    json.key(name);
                    write_floats(elements, json.buffer());
                }
                _ => json.attribute(name, value),
            }
        }
    });
    Ok(())
}

/// The vector of an index comes back as floats: `1.0`, not `1`.
fn write_floats(elements: &[AttributeValue], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"L\":[");
    for (position, element) in elements.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        match element {
            AttributeValue::N(number) => {
                out.extend_from_slice(format!("{{\"N\":\"{:?}\"}}", number.to_f32()).as_bytes());
            }
            other => json::write_value(other, out),
        }
    }
    out.extend_from_slice(b"]}");
}

/// The shape of a request as its own reader wants it: members may be absent, but not `null`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Shape {
    table_name: String,
    index_name: String,
    search_vector: Vec<IgnoredAny>,
    top_k: i32,
    #[serde(default, deserialize_with = "present")]
    search_condition_expression: Option<String>,
    #[serde(default, deserialize_with = "present")]
    projection_expression: Option<String>,
    #[serde(default, deserialize_with = "present", rename = "ExpressionAttributeNames")]
    _names: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "present", rename = "ExpressionAttributeValues")]
    _values: Option<serde_json::Map<String, serde_json::Value>>,
    #[serde(default, deserialize_with = "present")]
    return_consumed_capacity: Option<String>,
}

/// A member that may be absent, but not `null`.
fn present<'de, D, T>(deserializer: D) -> std::result::Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

impl Shape {
    fn of(body: &[u8]) -> Result<Self> {
        serde_json::from_slice(body).map_err(|error| {
            let message = error.to_string();
            if !error.is_data() {
                // Not JSON at all, which every operation answers in the same way.
                json::parse(body).err().unwrap_or(Error::Serialization(message))
            } else if message.starts_with("missing field") {
                Error::Validation(message)
            } else {
                Error::Serialization(message)
            }
        })
    }

    /// What the API model asks. The values are not quoted here, and members keep their capital.
    fn check(&self) -> Result<ReturnConsumedCapacity> {
        let mut constraints = Constraints::new();
        let lengths = [
            ("TableName", self.table_name.chars().count(), 1, limits::MAX_TABLE_ARN_CHARS),
            (
                "IndexName",
                self.index_name.chars().count(),
                limits::MIN_TABLE_NAME_CHARS,
                limits::MAX_TABLE_NAME_CHARS,
            ),
            ("SearchVector", self.search_vector.len(), 1, limits::MAX_VECTOR_DIMENSIONS),
        ];
        let violations = constraints.violations();
        for (member, length, least, most) in lengths {
            if length < least {
                violations.violated_unquoted(member, Constraint::MinLength(least));
            } else if length > most {
                violations.violated_unquoted(member, Constraint::MaxLength(most));
            }
        }
        if self.top_k < 1 {
            violations.violated_unquoted("TopK", Constraint::MinValue(1));
        }
        let name = self.return_consumed_capacity.as_deref();
        let shown = ReturnConsumedCapacity::named(name, &mut constraints);
        constraints.finish()?;
        Ok(shown)
    }
}

impl SearchVectorsInput {
    pub(super) fn decode(body: &[u8]) -> Result<Self> {
        let shape = Shape::of(body)?;
        let return_consumed_capacity = shape.check()?;
        let tree = json::parse(body)?;
        let fields = Fields::of(&tree);
        let float = |value: AttributeValue| match value {
            AttributeValue::N(number) => Ok(number.to_f32()),
            _ => Err(message::search_vector_invalid()),
        };
        let vector = fields.attributes("SearchVector")?.unwrap_or_default();
        Ok(Self {
            table_name: shape.table_name,
            index_name: shape.index_name,
            search_vector: vector.into_iter().map(float).collect::<Result<_>>()?,
            // Checked to be positive.
            top_k: shape.top_k.unsigned_abs() as usize,
            condition: shape.search_condition_expression,
            projection: shape.projection_expression,
            names: fields.string_map("ExpressionAttributeNames"),
            values: expression_values(&fields)?,
            return_consumed_capacity,
        })
    }

    /// The parsed expressions.
    pub fn expressions(&self) -> Result<(Option<SearchCondition>, Option<Projection>)> {
        Parameters {
            expressions: &[
                (ExpressionKind::Projection, self.projection.is_some()),
                (ExpressionKind::SearchCondition, self.condition.is_some()),
            ],
            legacy: &[],
            names: self.names.is_some(),
            values: self.values.is_some(),
        }
        .check()?;
        let mut bindings = Bindings::new(self.names.clone(), self.values.clone())?;
        let condition = self.condition.as_ref().map(|text| bindings.search_condition(text));
        let condition = condition.transpose()?;
        let projection = self.projection.as_ref().map(|text| bindings.projection(text));
        let projection = projection.transpose()?;
        bindings.finish()?;
        Ok((condition, projection))
    }
}

fn run(database: &Inner, input: &SearchVectorsInput) -> Result<SearchVectorsOutput> {
    if !(1..=limits::MAX_VECTOR_RESULTS).contains(&input.top_k) {
        return Err(message::top_k_out_of_range(input.top_k, limits::MAX_VECTOR_RESULTS));
    }
    if !input.search_vector.iter().all(|float| float.is_finite()) {
        return Err(message::search_vector_invalid());
    }
    let (condition, projection) = input.expressions()?;
    let table = database.catalog.table(&input.table_name)?;
    let index = searchable(database, &table, &input.index_name)?;
    let dimensions = index.schema.dimensions;
    if input.search_vector.len() != dimensions {
        return Err(message::search_vector_size(input.search_vector.len(), dimensions));
    }
    let ResolvedSearch { hash, filters } = SearchCondition::resolve(condition, &index.schema)?;
    let search = Search {
        range: KeyRange::prefix(&layout::partition(index.keyspace, hash.as_deref())?),
        dimensions,
        query: Query::new(index.schema.distance, &input.search_vector),
        filters,
        top_k: input.top_k,
    };
    let Some(watching) = database.watch(Operation::SearchVectors) else {
        return Ok(found(database, &search, index, projection.as_ref())?.0);
    };
    let condition = hash.as_deref().map(|value| ResolvedKeyCondition {
        hash: vec![value.clone()],
        range_prefix: Vec::new(),
        range: None,
    });
    let asked = Asked { table: &table, index, condition, limit: input.top_k };
    watching.admit_or_error(&[asked.touch(&search.range, 0)])?;
    let (output, scanned) = found(database, &search, index, projection.as_ref())?;
    let ended = Ended {
        question: Some(asked.question(scanned)),
        returned: output.results.len(),
        is_projected: projection.is_some(),
        is_consistent: false,
        ..Ended::with(Outcome::Done)
    };
    let bytes = usize::try_from(output.search_bytes).unwrap_or(usize::MAX);
    watching.done(&[asked.touch(&search.range, bytes)], ended);
    Ok(output)
}

/// The answer, and how many entries were compared.
fn found(
    database: &Inner,
    search: &Search,
    index: &VectorIndex,
    projection: Option<&Projection>,
) -> Result<(SearchVectorsOutput, usize)> {
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let (hits, scanned) = search.run(snapshot.as_ref())?;
    Ok((answer(&index.schema, projection, hits)?, scanned))
}

/// A search as an observer sees it.
struct Asked<'a> {
    table: &'a Table,
    index: &'a VectorIndex,
    condition: Option<ResolvedKeyCondition>,
    limit: usize,
}

impl Asked<'_> {
    /// The partition that is searched, or all of the index. Searches are paid by the byte.
    fn touch<'t>(&'t self, range: &'t KeyRange, bytes: usize) -> Touch<'t> {
        let key = match &range.lower {
            Bound::Included(key) | Bound::Excluded(key) => key.as_ref(),
            Bound::Unbounded => &[],
        };
        let place = watch::vector_place(self.table, self.index);
        watch::touch(place, key, Work::Read(Units::ZERO), bytes)
    }

    fn question(&self, scanned: usize) -> Question<'_> {
        Question {
            place: watch::vector_place(self.table, self.index),
            condition: self.condition.as_ref(),
            filter: None,
            limit: Some(self.limit),
            is_forward: true,
            is_continued: false,
            has_more: false,
            scanned,
        }
    }
}

/// The index of this name, if it can be searched.
fn searchable<'a>(database: &Inner, table: &'a Table, name: &str) -> Result<&'a VectorIndex> {
    let index = table.vector_index(name).ok_or_else(|| request::index_not_found(name))?;
    match index.life.phase(database.clock.now_ms()) {
        Phase::Active => Ok(index),
        Phase::Allocating | Phase::Backfilling => Err(message::index_backfilling(name)),
        Phase::Deleting => Err(request::index_not_found(name)),
    }
}

/// The answer to a search; results that would make it too large are left out, the worst first.
fn answer(
    index: &VectorIndexSchema,
    projection: Option<&Projection>,
    hits: Vec<Hit>,
) -> Result<SearchVectorsOutput> {
    let returns_vector = projection
        .is_some_and(|projection| projection.attributes().any(|name| name == index.attribute));
    let mut results = Vec::with_capacity(hits.len());
    let (mut read_bytes, mut answer_bytes) = (0, 0);
    for Hit { score, entry } in hits {
        let held = EntryRef::new(&entry, index.dimensions)?.image()?.size_bytes();
        let row = match projection {
            Some(projection) => Row::Item(projected(index, projection, &entry)?),
            None => {
                Row::Stored(Stored::new(entry.slice(EntryRef::image_start(index.dimensions)..)))
            }
        };
        answer_bytes += match &row {
            Row::Item(item) => item_size(item),
            Row::Stored(_) => held,
        };
        if answer_bytes > limits::MAX_VECTOR_RESPONSE_BYTES {
            break;
        }
        read_bytes += held;
        results.push((row, score));
    }
    let vectors = if returns_vector { results.len() } else { 0 };
    Ok(SearchVectorsOutput {
        search_bytes: vector_search_bytes(index.dimensions, results.len(), read_bytes, vectors),
        results,
        vector_attribute: index.attribute.clone(),
    })
}

/// What a projection keeps of an entry. The vector is that of the index: floats.
fn projected(index: &VectorIndexSchema, projection: &Projection, entry: &[u8]) -> Result<Item> {
    let entry = EntryRef::new(entry, index.dimensions)?;
    let mut item = entry.image()?.decode()?;
    if projection.attributes().any(|name| name == index.attribute) {
        let number = |float: f32| Ok(AttributeValue::N(Number::parse(&format!("{float:?}"))?));
        let vector = entry.vector().map(number).collect::<Result<_>>()?;
        item.insert(index.attribute.clone(), AttributeValue::L(vector));
    }
    Ok(projection.apply(&item))
}
