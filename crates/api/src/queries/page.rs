//! A page of Query or Scan.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::image::Row;
use keyloom_core::json::Json;
use keyloom_core::{Item, Result};

use crate::json::answer::{document, elements, item, object, row};
use crate::parameters::ReturnConsumedCapacity;
use crate::{JsonWriter, Malformed};

/// A page of Query or Scan.
#[derive(Debug)]
pub struct PageOutput {
    /// The rows that passed the filter.
    pub rows: Vec<Row>,
    /// How many rows passed the filter.
    pub count: usize,
    /// How many entries were evaluated.
    pub scanned_count: usize,
    /// The key behind which the next page begins; none if this is the last.
    pub last_evaluated_key: Option<Item>,
    /// The consumed capacity.
    pub consumed_capacity: ConsumedCapacity,
    /// Whether only the numbers were asked for.
    pub count_only: bool,
}

impl PageOutput {
    /// The rows, decoded.
    pub fn into_items(self) -> Result<Vec<Item>> {
        self.rows.into_iter().map(Row::into_item).collect()
    }

    /// The reply's body.
    pub fn encode(&self, shown: ReturnConsumedCapacity) -> Result<Vec<u8>> {
        // Room at once for the whole page, which would otherwise be copied as it grows.
        let mut json = JsonWriter::object_of(self.rows.iter().map(Row::estimated_json_bytes).sum());
        if !self.count_only {
            json.rows("Items", &self.rows)?;
        }
        json.integer("Count", self.count as i64);
        json.integer("ScannedCount", self.scanned_count as i64);
        json.optional_item("LastEvaluatedKey", self.last_evaluated_key.as_ref());
        shown.write(&mut json, &self.consumed_capacity);
        Ok(json.finish())
    }

    /// Decodes the body of a successful reply.
    pub(crate) fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let document = document(body)?;
        let object = object(&document)?;
        let rows = elements(object, "Items")?.iter().map(row).collect::<Result<Vec<Row>, _>>()?;
        let stated = |name: &str| match object.get(name) {
            // No page has more entries than that.
            Some(Json::Number(number)) => u32::try_from(number.as_i64()?).ok(),
            _ => None,
        };
        let number = |name: &str| stated(name).map_or(rows.len(), |count| count as usize);
        Ok(Self {
            count: number("Count"),
            scanned_count: number("ScannedCount"),
            last_evaluated_key: object.get("LastEvaluatedKey").map(item).transpose()?,
            count_only: object.get("Items").is_none(),
            rows,
            consumed_capacity: ConsumedCapacity::default(),
        })
    }
}
