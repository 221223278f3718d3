//! SearchVectors.
//!
//! On AWS another service answers it, with a reader of requests of its own: a member that is `null`, or of the
//! wrong JSON type, is refused in that reader's words.

use std::collections::BTreeMap;

use keyloom_core::error::constraint::Constraint;
use keyloom_core::error::message::vector as message;
use keyloom_core::expr::{Bindings, ExpressionKind, Parameters, Projection, SearchCondition};
use keyloom_core::image::Row;
use keyloom_core::{AttributeValue, Error, Item, Result, Str, json, limits};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::items::expression_values;
use crate::parameters::ReturnConsumedCapacity;
use crate::{Constraints, Fields, JsonWriter};

/// The input of SearchVectors.
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
    /// How much of the consumed capacity the reply states.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

impl SearchVectorsInput {
    /// Decodes the request.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let shape = Shape::of(body)?;
        let return_consumed_capacity = shape.check()?;
        let tree = json::parse(body)?;
        let fields = Fields::of(&tree);
        let float = |value: AttributeValue| match value {
            AttributeValue::N(number) => Ok(number.to_f32()),
            _ => Err(message::search_vector_invalid()),
        };
        let names = fields.string_map("ExpressionAttributeNames");
        let vector = fields.attributes("SearchVector")?.unwrap_or_default();
        Ok(Self {
            table_name: shape.table_name,
            index_name: shape.index_name,
            search_vector: vector.into_iter().map(float).collect::<Result<_>>()?,
            // Checked to be positive.
            top_k: shape.top_k.unsigned_abs() as usize,
            condition: shape.search_condition_expression,
            projection: shape.projection_expression,
            values: expression_values(&fields, names.as_deref())?,
            names,
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

/// One result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// What the index holds of the item, or what the projection keeps of that.
    pub item: Item,
    /// How near it is: for cosine and Euclidean distance the lowest is the best, for the dot product
    /// the highest.
    pub score: f64,
}

/// The output of SearchVectors.
#[derive(Debug, Default)]
pub struct SearchVectorsOutput {
    /// The results with their scores, best first.
    pub results: Vec<(Row, f64)>,
    /// The attribute whose numbers are floats.
    pub vector_attribute: Str,
    /// What it cost, in bytes. AWS's own figure differs from search to search.
    pub search_bytes: u64,
}

impl SearchVectorsOutput {
    /// The reply's body.
    pub fn encode(&self, shown: ReturnConsumedCapacity) -> Result<Vec<u8>> {
        let mut json = JsonWriter::object();
        json.try_list("SearchResults", &self.results, |json, (row, score)| {
            json.try_nested(|json| {
                write_row(json, row, &self.vector_attribute)?;
                json.decimal("Score", *score);
                Ok(())
            })
        })?;
        if shown != ReturnConsumedCapacity::None {
            let bytes = self.search_bytes as f64;
            json.structure("ConsumedCapacity", |json| {
                json.decimal("VectorSearchRequestBytes", bytes);
            });
        }
        Ok(json.finish())
    }

    /// The results, best first; those that are equally near come in key order.
    pub fn into_results(self) -> Result<Vec<SearchResult>> {
        let result = |(row, score): (Row, f64)| Ok(SearchResult { item: row.into_item()?, score });
        self.results.into_iter().map(result).collect()
    }
}

fn write_row(json: &mut JsonWriter, row: &Row, vector_attribute: &str) -> Result<()> {
    let Row::Item(item) = row else {
        return json.row("Item", row);
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
