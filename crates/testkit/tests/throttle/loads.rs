//! Loads on real tables.

use super::*;

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/Orders";

#[test]
fn three_thousand_writes_per_second_on_one_key_become_a_thousand_and_on_ten_shards_stay() {
    let hot = Throttled::with_orders("enforce:burst=5");
    let (taken, refusal) = hot.load(5, 3000, |_| order("hot"));
    // Five seconds' worth is there at the beginning.
    assert!((9_900..=10_000).contains(&taken), "{taken}");
    assert_eq!(reason(&refusal.unwrap()), ("TableWriteKeyRangeThroughputExceeded", ARN));

    let sharded = Throttled::with_orders("enforce:burst=5");
    let (taken, refusal) = sharded.load(5, 3000, |number| order(format!("hot#{}", number % 10)));
    assert_eq!((taken, refusal), (15_000, None));
}

#[test]
fn a_hot_key_of_an_index_throttles_the_writes_of_its_table() {
    let load = Throttled::with_orders("enforce:burst=0");
    let pending = |number| json!({"id": {"S": format!("o{number}")}, "status": {"S": "PENDING"}});
    let (taken, refusal) = load.load(4, 3000, pending);
    assert!((4000..=5000).contains(&taken), "{taken}");
    let index = format!("{ARN}/index/byStatus");
    assert_eq!(reason(&refusal.unwrap()), ("IndexWriteKeyRangeThroughputExceeded", index.as_str()));
    assert_eq!(load.count(), taken);
    // The table has capacity for items that are not in the index.
    assert_eq!(load.load(1, 1000, |number| order(format!("plain{number}"))).0, 1000);
}

#[test]
fn what_is_provisioned_is_what_can_be_used() {
    let load = Throttled::new("enforce");
    load.create(json!({
        "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 20}}));
    // What is saved is spent first.
    assert_eq!(load.load(1, 6000, order).0, 6000);
    let (taken, refusal) = load.load(10, 100, order);
    assert!((200..=220).contains(&taken), "{taken}");
    let refusal = refusal.unwrap();
    assert_eq!(reason(&refusal).0, "TableWriteProvisionedThroughputExceeded");
    assert!(
        refusal["__type"].as_str().unwrap().ends_with("ProvisionedThroughputExceededException")
    );
    // Five quiet minutes are saved up.
    load.clock.advance(Duration::from_secs(1000));
    let (taken, _) = load.load(1, 10_000, order);
    assert!((6000..=6020).contains(&taken), "{taken}");
    // More is provisioned, and there.
    let more = json!({"TableName": "Orders",
        "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 500}});
    assert_eq!(load.call("UpdateTable", &more).0, 200);
    let (taken, _) = load.load(4, 1000, order);
    assert!((1900..=2500).contains(&taken), "{taken}");
}

#[test]
fn reads_are_refused_when_their_partition_has_nothing_left() {
    let load = Throttled::with_orders("enforce:burst=0");
    let large = json!({"id": {"S": "large"}, "text": {"S": "x".repeat(19_000)}});
    assert_eq!(load.put(large).0, 200);
    let get = json!({"TableName": "Orders", "Key": order("large"), "ConsistentRead": true});
    let mut taken = 0;
    for _ in 0..10 {
        taken += (0..100).filter(|_| load.call("GetItem", &get).0 == 200).count();
        load.clock.advance(Duration::from_millis(100));
    }
    // 20 KB are 5 units: 600 per second, and one second's worth at the beginning.
    assert!((1_000..=1_200).contains(&taken), "{taken}");
    for _ in 0..700 {
        load.call("GetItem", &get);
    }
    let (status, reply) = load.call("GetItem", &get);
    assert_eq!((status, reason(&reply).0), (400, "TableReadKeyRangeThroughputExceeded"));
}

#[test]
fn watching_refuses_nothing_and_counts_what_aws_would_have_refused() {
    let load = Throttled::new("observe");
    load.create(json!({
        "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 10}}));
    // 3,000 are saved at the beginning, and 10 come each second.
    let (taken, refusal) = load.load(10, 500, order);
    assert_eq!((taken, refusal), (5000, None));
    let now_ms = keyloom_engine::Clock::now_ms(load.clock.as_ref());
    let heat = load.monitor.partitions().heat("Orders", None, now_ms).unwrap();
    let refused = heat.throttled["TableWriteProvisionedThroughputExceeded"];
    assert!((1_890..=1_910).contains(&refused), "{refused}");
    let rate = heat.hottest().unwrap().write_rate;
    assert!((400.0..600.0).contains(&rate), "{rate}");
}

#[test]
fn a_recreated_table_starts_without_history() {
    let load = Throttled::with_orders("enforce:burst=0");
    load.exhaust("hot");
    assert_eq!(load.put(order("hot")).0, 400);
    assert_eq!(load.call("DeleteTable", &json!({"TableName": "Orders"})).0, 200);
    load.create(json!({"BillingMode": "PAY_PER_REQUEST"}));
    assert_eq!(load.put(order("hot")).0, 200);
}

#[test]
fn a_flood_of_false_conditions_is_throttled_like_other_writes() {
    let load = Throttled::with_orders("enforce:burst=0");
    assert_eq!(load.put(order("hot")).0, 200);
    let put = json!({"TableName": "Orders", "Item": order("hot"),
        "ConditionExpression": "attribute_not_exists(id)"});
    let is_throttled =
        |reply: &Value| reply["__type"].as_str().unwrap().ends_with("ThrottlingException");
    let throttled = (0..3000).filter(|_| is_throttled(&load.call("PutItem", &put).1)).count();
    assert_eq!(throttled, 2001, "of 1,000 units, the item took one");
    // There is no debt to pay off.
    load.clock.advance(Duration::from_secs(1));
    assert_eq!(load.put(order("hot")).0, 200);
}
