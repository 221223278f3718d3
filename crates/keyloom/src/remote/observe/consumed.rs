//! `ConsumedCapacity` of an answer.

use keyloom_core::capacity::Units;
use keyloom_core::json::JsonObject;
use keyloom_core::observation::Work;

use super::member::{as_object, entries, object, objects, text, units};

/// `ConsumedCapacity` of one table.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Consumed {
    /// The table, by its name or its ARN.
    pub(crate) table: String,
    pub(crate) own: Arm,
    pub(crate) indexes: Vec<(String, Arm)>,
}

/// What a table or index consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Arm {
    pub(crate) units: Units,
    /// Whether it says that these are reads: a transaction that was carried out before, under the same token, only reads.
    is_read: bool,
}

impl Arm {
    fn read(stated: &JsonObject<'_>) -> Self {
        let stated_units = |member| units(stated, member);
        let is_read = stated_units("ReadCapacityUnits").is_some()
            && stated_units("WriteCapacityUnits").is_none();
        Self { units: stated_units("CapacityUnits").unwrap_or_default(), is_read }
    }

    pub(crate) fn work(self, is_write: bool) -> Work {
        Work::of(is_write && !self.is_read, self.units)
    }
}

impl Consumed {
    /// What an answer says of each table; empty if it does not say.
    pub(crate) fn all(answer: &JsonObject<'_>) -> Vec<Self> {
        match object(answer, "ConsumedCapacity") {
            Some(one) => vec![Self::read(one)],
            None => objects(answer, "ConsumedCapacity").map(Self::read).collect(),
        }
    }

    fn read(stated: &JsonObject<'_>) -> Self {
        let kinds = ["LocalSecondaryIndexes", "GlobalSecondaryIndexes", "VectorIndexes"];
        let indexes = kinds.iter().flat_map(|kind| entries(stated, kind));
        let indexes: Vec<(String, Arm)> = indexes
            .filter_map(|(name, stated)| Some((name.to_owned(), Arm::read(as_object(stated)?))))
            .collect();
        let own = object(stated, "Table").map_or_else(
            || {
                // Only the sum is stated: what no index took is the table's.
                let (sum, others) =
                    (Arm::read(stated), indexes.iter().map(|(_, arm)| arm.units).sum::<Units>());
                let halves = sum.units.as_halves().saturating_sub(others.as_halves());
                Arm { units: Units::halves(halves), ..sum }
            },
            Arm::read,
        );
        Self { table: text(stated, "TableName").unwrap_or_default().to_owned(), own, indexes }
    }

    pub(crate) fn index(&self, name: &str) -> Option<Arm> {
        self.indexes.iter().find(|(index, _)| index == name).map(|(_, arm)| *arm)
    }
}

#[cfg(test)]
mod tests {
    use keyloom_core::json::{self, Json};

    use super::*;

    #[test]
    fn consumed_capacity_is_read_in_every_form() {
        let read = |body: &str| {
            let Ok(Json::Object(answer)) = json::parse(body.as_bytes()) else { panic!("{body}") };
            Consumed::all(&answer)
        };
        let one = r#"{"ConsumedCapacity":{"TableName":"t","CapacityUnits":4.5,"Table":{"CapacityUnits":1.5},"GlobalSecondaryIndexes":{"g":{"CapacityUnits":3}}}}"#;
        let found = read(one);
        assert_eq!((found[0].table.as_str(), found[0].own.units), ("t", Units::halves(3)));
        assert_eq!(found[0].index("g").unwrap().units, Units::whole(3));
        let many = r#"{"ConsumedCapacity":[{"TableName":"a","CapacityUnits":2},{"TableName":"b","CapacityUnits":0.5,"LocalSecondaryIndexes":{"l":{"CapacityUnits":9}}}]}"#;
        let totals: Vec<Units> = read(many).iter().map(|one| one.own.units).collect();
        assert_eq!(totals, [Units::whole(2), Units::ZERO]);
        assert!(read("{}").is_empty() && read(r#"{"ConsumedCapacity":7}"#).is_empty());
    }
}
