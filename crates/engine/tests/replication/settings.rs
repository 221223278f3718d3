//! Settings that all regions of a global table share, and those that belong to each.

use serde_json::{Value, json};

use super::{ALL, World};

fn two() -> World {
    let world = World::new(&ALL[..2]);
    world.create(ALL[0]);
    for sk in 0..20 {
        world.put(ALL[0], sk, "one");
    }
    world.replicate(ALL[0], "Create", ALL[1]);
    world.settle();
    world
}

fn update(world: &World, region: &str, mut change: Value) {
    change["TableName"] = json!("music");
    world.ok(region, "UpdateTable", change);
    world.settle();
}

fn index_names(world: &World, region: &str) -> Vec<String> {
    let table = world.describe(region);
    let indexes = table["GlobalSecondaryIndexes"].as_array().cloned().unwrap_or_default();
    let mut names: Vec<String> =
        indexes.iter().map(|it| it["IndexName"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn time_to_live_and_capacity_follow_wherever_they_are_changed() {
    let world = two();
    let [us, eu, _] = ALL;
    let ttl = json!({"Enabled": true, "AttributeName": "expires"});
    world.ok(eu, "UpdateTimeToLive", json!({"TableName": "music", "TimeToLiveSpecification": ttl}));
    world.settle();
    let shown = world.ok(us, "DescribeTimeToLive", json!({"TableName": "music"}));
    assert_eq!(shown["TimeToLiveDescription"]["AttributeName"], "expires");

    let throughput = json!({"ReadCapacityUnits": 7, "WriteCapacityUnits": 9});
    let index = json!([{"Update": {"IndexName": "by-g", "ProvisionedThroughput": throughput}}]);
    update(
        &world,
        us,
        json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": throughput, "GlobalSecondaryIndexUpdates": index}),
    );
    let table = world.describe(eu);
    assert_eq!(table["ProvisionedThroughput"]["WriteCapacityUnits"], 9);
    assert_eq!(table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"], 7);
    update(&world, eu, json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"}));
    let class = &world.describe(us)["TableClassSummary"]["TableClass"];
    assert_eq!(class, "STANDARD_INFREQUENT_ACCESS");
    world.verify();
}

#[test]
fn indexes_are_created_filled_and_deleted_everywhere() {
    let world = two();
    let [us, eu, _] = ALL;
    let created = json!({
        "IndexName": "by-v", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
    });
    let definitions = json!([{"AttributeName": "v", "AttributeType": "S"}]);
    update(
        &world,
        us,
        json!({"AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [{"Create": created}]}),
    );
    assert_eq!(index_names(&world, eu), ["by-g", "by-v"]);
    let page = world.ok(eu, "Scan", json!({"TableName": "music", "IndexName": "by-v"}));
    assert_eq!(page["Count"], 20, "items from before the index are in it");
    world.put(us, 100, "two");
    world.settle();
    let page = world.ok(eu, "Scan", json!({"TableName": "music", "IndexName": "by-v"}));
    assert_eq!(page["Count"], 21);

    update(&world, eu, json!({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}]}));
    assert_eq!(
        (index_names(&world, us), index_names(&world, eu)),
        (vec!["by-v".into()], vec!["by-v".into()])
    );
    let definitions =
        |region| world.describe(region)["AttributeDefinitions"].as_array().unwrap().len();
    assert_eq!((definitions(us), definitions(eu)), (3, 3));
    world.verify();
}

#[test]
fn of_two_changes_at_once_the_later_one_wins_everywhere() {
    let world = two();
    let [us, eu, _] = ALL;
    for (region, limit) in [(us, 11), (eu, 22)] {
        let limits = json!({"MaxReadRequestUnits": limit});
        world.ok(
            region,
            "UpdateTable",
            json!({"TableName": "music", "OnDemandThroughput": limits}),
        );
    }
    world.settle();
    for region in [us, eu] {
        let limit = world.describe(region)["OnDemandThroughput"]["MaxReadRequestUnits"].clone();
        assert_eq!(limit, 22, "{region}");
    }
}

#[test]
fn tags_and_deletion_protection_belong_to_each_replica() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    let arn = |region| world.describe(region)["TableArn"].as_str().unwrap().to_owned();
    let tags = json!([{"Key": "team", "Value": "a"}]);
    let tagged = world.call(us, "TagResource", &json!({"ResourceArn": arn(us), "Tags": tags}));
    assert_eq!(tagged.status, 200);
    world.replicate(us, "Create", eu);
    world.settle();
    update(&world, us, json!({"DeletionProtectionEnabled": true}));
    assert_eq!(world.describe(eu)["DeletionProtectionEnabled"], false);
    let tags = world.ok(eu, "ListTagsOfResource", json!({"ResourceArn": arn(eu)}));
    assert_eq!(tags["Tags"], json!([]));
}
