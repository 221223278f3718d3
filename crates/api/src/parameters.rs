//! Parameters that many operations share.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::request;
use keyloom_core::{Result, Str};

use crate::{Constraints, Fields};

/// How much of the consumed capacity a reply states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReturnConsumedCapacity {
    /// Nothing is returned.
    #[default]
    None,
    /// The total of each table.
    Total,
    /// The total, and the share of the table and of each index.
    Indexes,
}

impl ReturnConsumedCapacity {
    /// Decodes the member `ReturnConsumedCapacity` of a request.
    pub fn decode(fields: &Fields<'_>, constraints: &mut Constraints) -> Self {
        Self::named(fields.string("ReturnConsumedCapacity"), constraints)
    }

    /// The choice of this name.
    pub fn named(name: Option<&str>, constraints: &mut Constraints) -> Self {
        let choices = [("INDEXES", Self::Indexes), ("TOTAL", Self::Total), ("NONE", Self::None)];
        constraints.one_of(name, "returnConsumedCapacity", &choices).unwrap_or_default()
    }
}

/// Whether a request asks for item collection metrics.
pub fn wants_collection_metrics(fields: &Fields<'_>, constraints: &mut Constraints) -> bool {
    let value = fields.string("ReturnItemCollectionMetrics");
    let choices = [("SIZE", true), ("NONE", false)];
    constraints.one_of(value, "returnItemCollectionMetrics", &choices).unwrap_or(false)
}

/// Which attributes the reply to a write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReturnValues {
    /// Nothing is returned.
    #[default]
    None,
    /// The whole item before the write.
    AllOld,
    /// The changed attributes before the write.
    UpdatedOld,
    /// The whole item after the write.
    AllNew,
    /// The changed attributes after the write.
    UpdatedNew,
}

impl ReturnValues {
    /// The name on the wire; none if nothing is returned.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::AllOld => Some("ALL_OLD"),
            Self::UpdatedOld => Some("UPDATED_OLD"),
            Self::AllNew => Some("ALL_NEW"),
            Self::UpdatedNew => Some("UPDATED_NEW"),
        }
    }

    /// Whether only the changed attributes are returned.
    pub fn shows_changes(self) -> bool {
        matches!(self, Self::UpdatedOld | Self::UpdatedNew)
    }

    /// Decodes the member `ReturnValues` of a request.
    pub fn decode(fields: &Fields<'_>, constraints: &mut Constraints) -> Self {
        let choices = [
            ("ALL_NEW", Self::AllNew),
            ("UPDATED_OLD", Self::UpdatedOld),
            ("ALL_OLD", Self::AllOld),
            ("NONE", Self::None),
            ("UPDATED_NEW", Self::UpdatedNew),
        ];
        let value = fields.string("ReturnValues");
        constraints.one_of(value, "returnValues", &choices).unwrap_or_default()
    }
}

/// Whether a failed condition returns the item.
pub fn wants_item_on_failure(fields: &Fields<'_>, constraints: &mut Constraints) -> bool {
    let value = fields.string("ReturnValuesOnConditionCheckFailure");
    let choices = [("ALL_OLD", true), ("NONE", false)];
    let path = "returnValuesOnConditionCheckFailure";
    constraints.one_of(value, path, &choices).unwrap_or(false)
}

/// The name that consumed capacity shows: as the request gave it, which may be an ARN.
pub fn consumed(requested_name: &str, mut cost: ConsumedCapacity) -> ConsumedCapacity {
    cost.table_name = Str::from(requested_name);
    cost
}

/// The table of a data operation, checked before anything else of the request, as on AWS.
pub fn item_table<'a>(fields: &Fields<'a>) -> Result<&'a str> {
    let name = fields.string("TableName");
    let mut constraints = Constraints::new();
    constraints.table_name(name);
    constraints.finish()?;
    Ok(name.unwrap_or_default())
}

/// The name or ARN of the table of a control operation, which the model demands.
pub fn control_table<'a>(fields: &Fields<'a>) -> &'a str {
    fields.string("TableName").unwrap_or_default()
}

/// The same, checked again.
pub fn described_table<'a>(fields: &Fields<'a>) -> Result<&'a str> {
    let name = fields.string("TableName");
    let name = name.ok_or_else(|| request::parameter_missing("TableName"))?;
    let mut constraints = Constraints::new();
    constraints.table_name(Some(name));
    constraints.finish()?;
    Ok(name)
}
