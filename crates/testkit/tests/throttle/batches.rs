//! Batches and transactions that meet a limit.

use std::collections::BTreeSet;

use super::*;

#[test]
fn a_batch_that_is_tried_again_and_again_writes_and_reads_everything() {
    let load = Throttled::new("enforce:burst=0");
    load.create(json!({
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7}}));
    let (mut batches, mut partial) = (0, 0);
    for start in (0..250).step_by(25) {
        let puts = (start..start + 25).map(|n| json!({"PutRequest": {"Item": order(n)}}));
        let mut left = json!({"Orders": puts.collect::<Vec<_>>()});
        while left.as_object().is_some_and(|left| !left.is_empty()) {
            batches += 1;
            let (status, reply) = load.call("BatchWriteItem", &json!({"RequestItems": left}));
            if status == 200 {
                let rest = reply["UnprocessedItems"].clone();
                partial += u32::from(rest.as_object().is_some_and(|rest| !rest.is_empty()));
                left = rest;
            } else {
                assert_eq!(reason(&reply).0, "TableWriteProvisionedThroughputExceeded");
            }
            load.clock.advance(Duration::from_millis(500));
        }
    }
    assert_eq!(load.count(), 250);
    assert!(batches > 30 && partial > 20, "{batches} {partial}");

    let mut found = BTreeSet::new();
    let mut left = json!({"Orders": {"Keys": (0..100).map(order).collect::<Vec<_>>()}});
    let mut rounds = 0;
    while left.as_object().is_some_and(|left| !left.is_empty()) {
        rounds += 1;
        let (status, reply) = load.call("BatchGetItem", &json!({"RequestItems": left}));
        if status == 200 {
            for item in reply["Responses"]["Orders"].as_array().into_iter().flatten() {
                found.insert(item["id"]["S"].as_str().unwrap().to_owned());
            }
            left = reply["UnprocessedKeys"].clone();
        } else {
            assert_eq!(reason(&reply).0, "TableReadProvisionedThroughputExceeded");
        }
        load.clock.advance(Duration::from_secs(1));
    }
    // 50 units at 5 per second.
    assert_eq!(found.len(), 100);
    assert!((9..=11).contains(&rounds), "{rounds}");
}

#[test]
fn a_transaction_is_cancelled_with_one_reason_per_action_and_writes_nothing() {
    let load = Throttled::with_orders("enforce:burst=0");
    load.exhaust("hot");
    // Some key lies in another partition.
    let cold = (0..100).find(|number| load.put(order(number)).0 == 200).unwrap();
    let before = load.count();
    let actions = json!([{"Put": {"TableName": "Orders", "Item": order(cold)}},
        {"Put": {"TableName": "Orders", "Item": order("hot")}}]);
    let (status, reply) = load.call("TransactWriteItems", &json!({"TransactItems": actions}));
    let codes: Vec<&str> = reply["CancellationReasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason["Code"].as_str().unwrap())
        .collect();
    assert_eq!((status, codes), (400, vec!["None", "ThrottlingError"]));
    assert_eq!(load.count(), before);
}
