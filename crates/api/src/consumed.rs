//! `ConsumedCapacity` as replies state it.

use std::collections::BTreeMap;

use keyloom_core::Str;
use keyloom_core::capacity::{Arm, ConsumedCapacity, VectorArm};

use crate::JsonWriter;
use crate::parameters::ReturnConsumedCapacity;

impl ReturnConsumedCapacity {
    /// Writes `ConsumedCapacity`, if it was asked for.
    pub fn write(self, json: &mut JsonWriter, consumed: &ConsumedCapacity) {
        if self != Self::None {
            json.structure("ConsumedCapacity", |json| self.write_members(json, consumed));
        }
    }

    /// Writes the `ConsumedCapacity` list of a batch or transaction, if it was asked for.
    pub fn write_list(self, json: &mut JsonWriter, consumed: &[ConsumedCapacity]) {
        if self != Self::None {
            json.list("ConsumedCapacity", consumed, |json, consumed| {
                json.nested(|json| self.write_members(json, consumed));
            });
        }
    }

    fn write_members(self, json: &mut JsonWriter, consumed: &ConsumedCapacity) {
        json.string("TableName", &consumed.table_name);
        write_arm(json, &consumed.total());
        if self == Self::Indexes {
            json.structure("Table", |json| write_arm(json, &consumed.table));
            write_arms(json, "LocalSecondaryIndexes", &consumed.local, write_arm);
            write_arms(json, "GlobalSecondaryIndexes", &consumed.global, write_arm);
            write_arms(json, "VectorIndexes", &consumed.vector, write_vector);
        }
    }
}

fn write_arm(json: &mut JsonWriter, arm: &Arm) {
    json.display("CapacityUnits", arm.total);
    for (name, units) in [("ReadCapacityUnits", arm.read), ("WriteCapacityUnits", arm.write)] {
        if let Some(units) = units {
            json.display(name, units);
        }
    }
}

fn write_arms<T>(
    json: &mut JsonWriter,
    name: &str,
    arms: &BTreeMap<Str, T>,
    write: fn(&mut JsonWriter, &T),
) {
    if !arms.is_empty() {
        json.structure(name, |json| {
            for (index, arm) in arms {
                json.structure(index, |json| write(json, arm));
            }
        });
    }
}

fn write_vector(json: &mut JsonWriter, arm: &VectorArm) {
    let members = [
        ("VectorSearchRequestBytes", arm.search_bytes),
        ("VectorWriteRequestBytes", arm.write_bytes),
    ];
    for (name, bytes) in members {
        if let Some(bytes) = bytes {
            json.decimal(name, bytes as f64);
        }
    }
}
