//! `ConsumedCapacity` of an answer.

use keyloom_core::Str;
use keyloom_core::capacity::{Arm, ConsumedCapacity, Units};
use keyloom_core::json::{self, Json, JsonObject};

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
    for (name, arm) in indexes(stated, "LocalSecondaryIndexes") {
        account.add_local(name, arm);
    }
    for (name, arm) in indexes(stated, "GlobalSecondaryIndexes") {
        account.add_global(name, arm);
    }
    let own = if let Some(Json::Object(table)) = stated.get("Table") {
        arm(table)
    } else {
        // Only the sum is stated: what is not an index's is the table's.
        let (sum, indexes) = (arm(stated), account.total().total);
        let own = sum.total.as_halves().saturating_sub(indexes.as_halves());
        Arm { total: Units::halves(own), ..sum }
    };
    account.add_table(own);
    account
}

fn indexes(stated: &JsonObject<'_>, member: &str) -> Vec<(Str, Arm)> {
    let Some(Json::Object(indexes)) = stated.get(member) else { return Vec::new() };
    let named = indexes.iter().filter_map(|(name, stated)| match stated {
        Json::Object(stated) => Some((Str::from(name.to_owned()), arm(stated))),
        _ => None,
    });
    named.collect()
}

fn arm(stated: &JsonObject<'_>) -> Arm {
    // Units come in halves.
    let units = |member: &str| match stated.get(member) {
        Some(Json::Number(number)) => {
            let halves = (number.as_f64()? * 2.0).round().max(0.0);
            Some(Units::halves(halves as u64))
        }
        _ => None,
    };
    Arm {
        total: units("CapacityUnits").unwrap_or_default(),
        read: units("ReadCapacityUnits"),
        write: units("WriteCapacityUnits"),
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
        for none in [&b"{}"[..], b"[", br#"{"ConsumedCapacity":7}"#] {
            assert!(accounts(none).is_empty());
        }
    }
}
