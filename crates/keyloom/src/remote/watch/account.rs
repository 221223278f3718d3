//! `ConsumedCapacity` of an answer.

use keyloom_core::Str;
use keyloom_core::capacity::{Arm, ConsumedCapacity, Units, VectorArm};
use keyloom_core::json::{self, Json, JsonObject};

use super::figure;

/// What an answer says that it cost, table by table; nothing if it does not say.
pub(super) fn accounts(body: &[u8]) -> Vec<ConsumedCapacity> {
    let Ok(Json::Object(answer)) = json::parse(body) else { return Vec::new() };
    match answer.get("ConsumedCapacity") {
        Some(Json::Object(one)) => vec![account(one)],
        Some(Json::Array(many)) => {
            let objects = many.iter().filter_map(|one| match one {
                Json::Object(one) => Some(account(one)),
                _ => None,
            });
            objects.collect()
        }
        _ => Vec::new(),
    }
}

fn account(stated: &JsonObject<'_>) -> ConsumedCapacity {
    let mut account = ConsumedCapacity::default();
    if let Some(Json::Str(name)) = stated.get("TableName") {
        account.table_name = Str::from(name.to_string());
    }
    for (name, stated) in indexes(stated, "LocalSecondaryIndexes") {
        account.add_local(name, arm(stated));
    }
    for (name, stated) in indexes(stated, "GlobalSecondaryIndexes") {
        account.add_global(name, arm(stated));
    }
    for (name, stated) in indexes(stated, "VectorIndexes") {
        account.add_vector(name, vector_arm(stated));
    }
    let (sum, indexes) = (arm(stated), account.total().total);
    let beside_indexes = halves_beyond(sum.total, indexes);
    if let Some(Json::Object(table)) = stated.get("Table") {
        account.add_table(arm(table));
        // Statements of a batch that failed are in the sum only.
        account.unattributed = halves_beyond(sum.total, account.total().total);
    } else {
        // Only the sum is stated: what is not an index's is the table's.
        account.add_table(Arm { total: beside_indexes, ..sum });
    }
    account
}

fn halves_beyond(sum: Units, known: Units) -> Units {
    Units::halves(sum.as_halves().saturating_sub(known.as_halves()))
}

fn indexes<'j, 'a>(
    stated: &'j JsonObject<'a>,
    member: &str,
) -> impl Iterator<Item = (Str, &'j JsonObject<'a>)> {
    let indexes = match stated.get(member) {
        Some(Json::Object(indexes)) => Some(indexes),
        _ => None,
    };
    indexes.into_iter().flat_map(JsonObject::iter).filter_map(|(name, stated)| match stated {
        Json::Object(stated) => Some((Str::from(name.to_owned()), stated)),
        _ => None,
    })
}

fn arm(stated: &JsonObject<'_>) -> Arm {
    let units = |member: &str| stated.get(member).and_then(figure::units);
    Arm {
        total: units("CapacityUnits").unwrap_or_default(),
        read: units("ReadCapacityUnits"),
        write: units("WriteCapacityUnits"),
    }
}

/// What is stated of a vector index, or of a search.
pub(super) fn vector_arm(stated: &JsonObject<'_>) -> VectorArm {
    let bytes = |member: &str| stated.get(member).and_then(figure::billed_bytes);
    VectorArm {
        search_bytes: bytes("VectorSearchRequestBytes"),
        write_bytes: bytes("VectorWriteRequestBytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_in_every_form_and_what_is_none_is_none() {
        let one = br#"{"ConsumedCapacity":{"TableName":"t","CapacityUnits":4.5,"Table":{"CapacityUnits":1.5},"GlobalSecondaryIndexes":{"g":{"CapacityUnits":3}}}}"#;
        let found = accounts(one);
        assert_eq!(found[0].table_name, "t");
        assert_eq!(found[0].table.total, Units::halves(3));
        assert_eq!(found[0].global["g"].total, Units::whole(3));
        let many = br#"{"ConsumedCapacity":[{"TableName":"a","CapacityUnits":2},{"TableName":"b","CapacityUnits":0.5}]}"#;
        let totals: Vec<Units> = accounts(many).iter().map(|one| one.table.total).collect();
        assert_eq!(totals, [Units::whole(2), Units::HALF]);
        let failed = br#"{"ConsumedCapacity":[{"TableName":"t","CapacityUnits":4,"Table":{"CapacityUnits":1},"VectorIndexes":{"v":{"VectorWriteRequestBytes":1024.0}}}]}"#;
        let [batch] = accounts(failed).try_into().unwrap();
        assert_eq!((batch.table.total, batch.unattributed), (Units::whole(1), Units::whole(3)));
        assert_eq!(batch.vector["v"].write_bytes, Some(1024));
        for none in [&b"{}"[..], b"[", br#"{"ConsumedCapacity":7}"#] {
            assert!(accounts(none).is_empty());
        }
    }
}
