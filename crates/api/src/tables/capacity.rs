//! Billing as requests and descriptions state it: throughput, limits, and what a table can take at once.
//!
//! The engine stores these types, so their JSON is part of the format on disk.

use serde::{Deserialize, Serialize};

use crate::{Fields, JsonWriter};

/// Read and write units per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    /// Read capacity units per second.
    pub read: i64,
    /// Write capacity units per second.
    pub write: i64,
}

impl Throughput {
    /// Decodes `ProvisionedThroughput`, or the member that overrides it.
    pub fn decode(fields: &Fields<'_>, member: &str) -> Option<Self> {
        Self::of(fields, member, "ReadCapacityUnits", "WriteCapacityUnits")
    }

    /// Decodes `WarmThroughput`; a member that is not stated is zero.
    pub(super) fn decode_warm(fields: &Fields<'_>) -> Option<Self> {
        Self::of(fields, "WarmThroughput", "ReadUnitsPerSecond", "WriteUnitsPerSecond")
    }

    fn of(fields: &Fields<'_>, member: &str, read: &str, write: &str) -> Option<Self> {
        let units = fields.structure(member)?;
        let unit = |name: &str| units.integer(name).unwrap_or_default();
        Some(Self { read: unit(read), write: unit(write) })
    }

    pub(crate) fn write(self, json: &mut JsonWriter) {
        json.structure("ProvisionedThroughput", |json| {
            json.integer("ReadCapacityUnits", self.read);
            json.integer("WriteCapacityUnits", self.write);
        });
    }

    pub(super) fn write_warm(self, json: &mut JsonWriter) {
        json.structure("WarmThroughput", |json| {
            json.integer("ReadUnitsPerSecond", self.read);
            json.integer("WriteUnitsPerSecond", self.write);
            json.string("Status", "ACTIVE");
        });
    }
}

/// An upper limit for on-demand tables; −1 stands for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnDemandLimit {
    /// Read request units.
    pub read: Option<i64>,
    /// Write request units.
    pub write: Option<i64>,
}

impl OnDemandLimit {
    /// Decodes `OnDemandThroughput`, or the member that overrides it.
    pub fn decode(fields: &Fields<'_>, member: &str) -> Option<Self> {
        let limit = fields.structure(member)?;
        let units = |name: &str| limit.integer(name);
        Some(Self { read: units("MaxReadRequestUnits"), write: units("MaxWriteRequestUnits") })
    }

    pub(crate) fn write(self, json: &mut JsonWriter) {
        json.structure("OnDemandThroughput", |json| {
            json.integer("MaxReadRequestUnits", self.read.unwrap_or(-1));
            json.integer("MaxWriteRequestUnits", self.write.unwrap_or(-1));
        });
    }
}

/// What a global index may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexCapacity {
    /// `ProvisionedThroughput`.
    pub throughput: Option<Throughput>,
    /// `OnDemandThroughput`.
    pub on_demand: Option<OnDemandLimit>,
    /// `WarmThroughput`.
    pub warm: Option<Throughput>,
}

impl IndexCapacity {
    pub(super) fn decode(fields: &Fields<'_>) -> Self {
        Self {
            throughput: Throughput::decode(fields, "ProvisionedThroughput"),
            on_demand: OnDemandLimit::decode(fields, "OnDemandThroughput"),
            warm: Throughput::decode_warm(fields),
        }
    }
}

/// Whether a billing mode is on-demand; none if the request does not state it.
pub fn decode_on_demand(fields: &Fields<'_>, member: &str) -> Option<bool> {
    fields.string(member).map(|mode| mode == "PAY_PER_REQUEST")
}
