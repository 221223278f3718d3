//! `ConsumedCapacity` as replies state it: written by the engine, read by the client.

use std::collections::BTreeMap;

use keyloom_core::Str;
use keyloom_core::capacity::{Arm, ConsumedCapacity, Units, VectorArm};
use keyloom_core::json::JsonObject;

use crate::JsonWriter;
use crate::json::member;
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

/// The consumption that a reply states of each table; empty if it states none. The bytes of vector indexes are not read.
pub fn stated_capacity(reply: &JsonObject<'_>) -> Vec<ConsumedCapacity> {
    match member::object(reply, "ConsumedCapacity") {
        Some(one) => vec![read_members(one)],
        None => member::objects(reply, "ConsumedCapacity").map(read_members).collect(),
    }
}

fn read_members(stated: &JsonObject<'_>) -> ConsumedCapacity {
    let mut consumed = ConsumedCapacity::new(member::text(stated, "TableName").unwrap_or_default());
    consumed.local = read_arms(stated, "LocalSecondaryIndexes", read_arm);
    consumed.global = read_arms(stated, "GlobalSecondaryIndexes", read_arm);
    consumed.vector = read_arms(stated, "VectorIndexes", |_| VectorArm::default());
    consumed.table = member::object(stated, "Table").map_or_else(
        || {
            // Only the sum is stated: what no index consumed is the table's.
            let (sum, of_indexes) = (read_arm(stated), consumed.total().total);
            let halves = sum.total.as_halves().saturating_sub(of_indexes.as_halves());
            Arm { total: Units::halves(halves), ..sum }
        },
        read_arm,
    );
    consumed
}

fn read_arm(stated: &JsonObject<'_>) -> Arm {
    let units = |name| member::units(stated, name);
    Arm {
        total: units("CapacityUnits").unwrap_or_default(),
        read: units("ReadCapacityUnits"),
        write: units("WriteCapacityUnits"),
    }
}

fn read_arms<T>(
    stated: &JsonObject<'_>,
    name: &str,
    read: fn(&JsonObject<'_>) -> T,
) -> BTreeMap<Str, T> {
    let arms = member::entries(stated, name);
    arms.filter_map(|(index, arm)| Some((Str::from(index), read(member::as_object(arm)?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use keyloom_core::json::{self, Json};

    use super::*;

    fn stated(body: &str) -> Vec<ConsumedCapacity> {
        let Ok(Json::Object(reply)) = json::parse(body.as_bytes()) else { panic!("{body}") };
        stated_capacity(&reply)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut consumed = ConsumedCapacity::new("t");
        consumed.add_table(Arm::transactional_write(Units::halves(3)));
        consumed.add_local("l", Arm::new(Units::whole(1)));
        consumed.add_global("g", Arm::transactional_read(Units::whole(3)));
        let mut json = JsonWriter::object();
        ReturnConsumedCapacity::Indexes.write(&mut json, &consumed);
        let body = String::from_utf8(json.finish()).unwrap();
        assert_eq!(stated(&body), [consumed.clone()]);
        let mut json = JsonWriter::object();
        ReturnConsumedCapacity::Indexes
            .write_list(&mut json, &[consumed.clone(), consumed.clone()]);
        let body = String::from_utf8(json.finish()).unwrap();
        assert_eq!(stated(&body), [consumed.clone(), consumed]);
    }

    #[test]
    fn of_a_sum_the_table_has_what_no_index_consumed() {
        let body = r#"{"ConsumedCapacity":[{"TableName":"a","CapacityUnits":2},{"TableName":"b","CapacityUnits":0.5,"LocalSecondaryIndexes":{"l":{"CapacityUnits":9}}}]}"#;
        let tables: Vec<Units> = stated(body).iter().map(|one| one.table.total).collect();
        assert_eq!(tables, [Units::whole(2), Units::ZERO]);
        assert!(stated("{}").is_empty() && stated(r#"{"ConsumedCapacity":7}"#).is_empty());
    }

    fn shown(consumed: &ConsumedCapacity, wanted: ReturnConsumedCapacity) -> String {
        let mut json = JsonWriter::object();
        wanted.write_members(&mut json, consumed);
        String::from_utf8(json.finish()).unwrap()
    }

    #[test]
    fn consumed_capacity_adds_up_and_shows_its_parts() {
        let mut consumed = ConsumedCapacity::new("t");
        consumed.add_table(Arm::new(Units::whole(1)));
        consumed.add_global("g", Arm::new(Units::whole(2)));
        let mut other = ConsumedCapacity::new("t");
        other.add_table(Arm::new(Units::HALF));
        other.add_local("l", Arm::new(Units::whole(1)));
        other.add_global("g", Arm::new(Units::whole(1)));
        consumed.merge(other);
        assert_eq!(
            shown(&consumed, ReturnConsumedCapacity::Total),
            r#"{"TableName":"t","CapacityUnits":5.5}"#
        );
        assert_eq!(
            shown(&consumed, ReturnConsumedCapacity::Indexes),
            concat!(
                r#"{"TableName":"t","CapacityUnits":5.5,"Table":{"CapacityUnits":1.5},"#,
                r#""LocalSecondaryIndexes":{"l":{"CapacityUnits":1.0}},"#,
                r#""GlobalSecondaryIndexes":{"g":{"CapacityUnits":3.0}}}"#
            )
        );
    }

    #[test]
    fn transactions_show_reads_and_writes_apart() {
        let mut consumed = ConsumedCapacity::new("t");
        consumed.add_table(Arm::transactional_write(Units::whole(2)));
        consumed.add_global("g", Arm::transactional_write(Units::whole(1)));
        assert_eq!(
            shown(&consumed, ReturnConsumedCapacity::Indexes),
            concat!(
                r#"{"TableName":"t","CapacityUnits":3.0,"WriteCapacityUnits":3.0,"#,
                r#""Table":{"CapacityUnits":2.0,"WriteCapacityUnits":2.0},"#,
                r#""GlobalSecondaryIndexes":{"g":{"CapacityUnits":1.0,"WriteCapacityUnits":1.0}}}"#
            )
        );
    }

    #[test]
    fn vector_indexes_are_counted_in_bytes() {
        let mut consumed = ConsumedCapacity::new("t");
        consumed.add_vector("v", VectorArm { search_bytes: None, write_bytes: Some(1024) });
        consumed.add_vector("v", VectorArm { search_bytes: Some(7), write_bytes: Some(1) });
        let text = shown(&consumed, ReturnConsumedCapacity::Indexes);
        assert!(
            text.ends_with(
                r#""VectorIndexes":{"v":{"VectorSearchRequestBytes":7.0,"VectorWriteRequestBytes":1025.0}}}"#
            ),
            "{text}"
        );
    }
}
