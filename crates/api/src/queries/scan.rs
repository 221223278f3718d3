//! Scan.

use keyloom_core::error::request;
use keyloom_core::expr::{ExpressionKind, Parameters};
use keyloom_core::{Result, limits};

use crate::items::ProjectionInput;
use crate::parameters::item_table;
use crate::{Constraints, Fields, JsonWriter, Malformed, Operation, Request};

use super::{PageOutput, ReadInput};

/// The input of Scan.
#[derive(Clone, Debug, Default)]
pub struct ScanInput {
    /// What it shares with Query.
    pub read: ReadInput,
    /// The part of a parallel scan: segment and total.
    pub segment: Option<(u32, u32)>,
}

impl ScanInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        let mut constraints = Constraints::new();
        let mut read = ReadInput::decode(fields, table_name, &mut constraints);
        read.projection = ProjectionInput::decode(fields, &mut constraints);
        constraints.range(fields.integer("Limit"), "limit", 1, i64::MAX);
        read.decode_select(fields, &mut constraints);
        read.decode_filter(fields, &mut constraints, ("ScanFilter", "scanFilter"))?;
        let (segment, total) = (fields.integer("Segment"), fields.integer("TotalSegments"));
        constraints.range(total, "totalSegments", 1, limits::MAX_SCAN_SEGMENTS);
        constraints.range(segment, "segment", 0, limits::MAX_SCAN_SEGMENTS - 1);
        constraints.finish()?;
        let mut input = Self { read, segment: check_segment(segment, total)? };
        input.check_parameters(fields)?;
        input.read.decode_values(fields)?;
        Ok(input)
    }

    fn check_parameters(&self, fields: &Fields<'_>) -> Result<()> {
        let projection = &self.read.projection;
        Parameters {
            expressions: &[
                (ExpressionKind::Projection, projection.expression.is_some()),
                (ExpressionKind::Filter, self.read.filter.is_some()),
            ],
            legacy: &[
                ("AttributesToGet", projection.attributes_to_get.is_some()),
                ("ScanFilter", self.read.legacy_filter.is_some()),
                ("ConditionalOperator", self.read.conditional_operator.is_some()),
            ],
            names: projection.names.is_some(),
            values: fields.has("ExpressionAttributeValues"),
        }
        .check()
    }
}

fn check_segment(segment: Option<i64>, total: Option<i64>) -> Result<Option<(u32, u32)>> {
    match (segment, total) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(request::segment_missing()),
        (Some(_), None) => Err(request::total_segments_missing()),
        (Some(segment), Some(total)) if segment >= total => {
            Err(request::segment_out_of_range(segment, total))
        }
        (Some(segment), Some(total)) => Ok(Some((segment as u32, total as u32))),
    }
}

impl Request for ScanInput {
    type Output = PageOutput;

    const OPERATION: Operation = Operation::Scan;

    fn decode_reply(body: &[u8]) -> Result<Self::Output, Malformed> {
        PageOutput::decode(body)
    }

    fn write_members(&self, json: &mut JsonWriter) {
        self.read.write_members(json, None);
        if let Some((segment, total)) = self.segment {
            json.integer("Segment", segment);
            json.integer("TotalSegments", total);
        }
    }
}
