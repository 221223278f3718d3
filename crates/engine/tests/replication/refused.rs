//! What cannot be honoured is refused, with the reason.

use keyloom_engine::Database;
use serde_json::{Value, json};

use super::{ALL, World};

#[test]
fn options_of_replicas_are_refused_with_their_reasons() {
    let world = World::new(&ALL[..2]);
    let [us, eu, ap] = ALL;
    world.create(us);
    let create = |more: Value| {
        let mut replica = json!({"RegionName": eu});
        replica.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"ReplicaUpdates": [{"Create": replica}]})
    };
    let cases = [
        (create(json!({"KMSMasterKeyId": "k"})), "KMSMasterKeyId is not supported: no server"),
        (create(json!({"TableClassOverride": "STANDARD"})), "TableClassOverride is not supported"),
        (
            create(json!({"ProvisionedThroughputOverride": {"ReadCapacityUnits": 1}})),
            "ProvisionedThroughputOverride is not supported",
        ),
        (
            create(json!({"OnDemandThroughputOverride": {"MaxReadRequestUnits": 1}})),
            "OnDemandThroughputOverride is not supported",
        ),
        (
            create(json!({"GlobalSecondaryIndexes": [{"IndexName": "by-g"}]})),
            "GlobalSecondaryIndexes is not supported",
        ),
        (
            json!({"ReplicaUpdates": [{"Disassociate": {"RegionName": us, "DisassociationMode": "WAIT_FOR_REPLICATION"}}]}),
            "Disassociate is not supported",
        ),
        (
            json!({"MultiRegionConsistency": "STRONG"}),
            "STRONG is not supported: replication is asynchronous",
        ),
        (json!({"MultiRegionConsistency": "WEAK"}), "failed to satisfy constraint"),
        (
            json!({"GlobalTableWitnessUpdates": [{"Create": {"RegionName": ap}}]}),
            "GlobalTableWitnessUpdates is not supported",
        ),
        (json!({"GlobalTableSettingsReplicationMode": "ENABLED"}), "one account"),
        (json!({"DisassociationProtectionEnabled": true}), "nothing to protect"),
    ];
    refuses_all(&world, &cases);
    // What is served may be stated.
    let body = json!({
        "TableName": "music", "MultiRegionConsistency": "EVENTUAL",
        "ReplicaUpdates": [{"Create": {"RegionName": eu}}],
    });
    world.ok(us, "UpdateTable", body);
    assert_eq!(world.describe(us)["MultiRegionConsistency"], "EVENTUAL");
    let again = json!({"TableName": "music", "ReplicaUpdates": [{"Create": {"RegionName": eu}}]});
    assert!(world.err(us, "UpdateTable", again).contains("‘music’ because one or more replicas"));
    let off = json!({"TableName": "music", "StreamSpecification": {"StreamEnabled": false}});
    assert!(
        world
            .err(us, "UpdateTable", off)
            .contains("Disabling Stream is not allowed for a Global Table replica.")
    );
}

/// Each update is refused with its reason, and changes nothing.
fn refuses_all(world: &World, cases: &[(Value, &str)]) {
    let us = ALL[0];
    for (body, reason) in cases {
        let mut request = json!({"TableName": "music"});
        request.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        let refused = world.err(us, "UpdateTable", request);
        assert!(refused.contains("ValidationException"), "{body}: {refused}");
        assert!(refused.contains(reason), "{body}: {refused}");
        assert!(world.describe(us).get("Replicas").is_none(), "{body}");
    }
}

#[test]
fn updates_of_replicas_are_refused_in_aws_words() {
    let world = World::new(&ALL[..2]);
    let [us, eu, ap] = ALL;
    world.create(us);
    let cases = [
        (json!({"ReplicaUpdates": [{"Create": {"RegionName": ap}}]}), "--replica ap-south-1=URL"),
        (
            json!({"ReplicaUpdates": [{"Create": {"RegionName": us}}]}),
            "Cannot add or delete the local region",
        ),
        (
            json!({"ReplicaUpdates": [{"Delete": {"RegionName": eu}}]}),
            "without these replicas: [eu-west-1].",
        ),
        (
            json!({"ReplicaUpdates": [{"Update": {"RegionName": eu}}]}),
            "There are no actions specified",
        ),
        (json!({"ReplicaUpdates": [{}]}), "There are no actions specified"),
        (
            json!({"ReplicaUpdates": [{"Create": {"RegionName": eu}, "Delete": {"RegionName": eu}}]}),
            "more than one type of replica actions",
        ),
        (
            json!({"ReplicaUpdates": [{"Create": {"RegionName": eu}}, {"Create": {"RegionName": ap}}]}),
            "more than one create or delete replica actions",
        ),
    ];
    refuses_all(&world, &cases);
}

#[test]
fn a_table_that_is_there_already_is_not_overwritten() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.create(eu);
    world.put(us, 1, "us");
    world.put(eu, 2, "eu");
    world.replicate(us, "Create", eu);
    world.settle();
    assert_eq!(world.status(us, eu), "CREATION_FAILED");
    let text = world.describe(us)["Replicas"][0]["ReplicaStatusDescription"].to_string();
    assert!(text.contains("Table already exists: music"), "{text}");
    assert_eq!(world.values(eu), [("2".into(), "eu".into())]);
    // With the other table out of the way it gets on by itself.
    world.ok(eu, "DeleteTable", json!({"TableName": "music"}));
    world.settle();
    assert_eq!(world.values(eu), [("1".into(), "us".into())]);
}

#[test]
fn a_stream_that_shows_too_little_is_refused() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    let stream = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    world.ok(us, "UpdateTable", json!({"TableName": "music", "StreamSpecification": stream}));
    let updates = json!([{"Create": {"RegionName": eu}}]);
    let refused =
        world.err(us, "UpdateTable", json!({"TableName": "music", "ReplicaUpdates": updates}));
    assert!(refused.contains("NEW_AND_OLD_IMAGES"), "{refused}");
}

#[test]
fn messages_are_answered_only_where_there_are_peers_and_only_if_they_make_sense() {
    let alone = Database::memory();
    for name in ["Members", "Apply", "Ready", "Probe", "Settings", "Other"] {
        let reply = alone.call(&format!("KeyloomReplication_20261118.{name}"), b"{}");
        assert!(String::from_utf8_lossy(&reply.body).contains("UnknownOperation"), "{name}");
    }
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.replicate(us, "Create", eu);
    world.settle();
    let send = |name: &str, body: &str| {
        let reply =
            world.db(us).call(&format!("KeyloomReplication_20261118.{name}"), body.as_bytes());
        assert_ne!(reply.status, 200, "{name} {body}");
        String::from_utf8(reply.body).unwrap()
    };
    for (name, body, reason) in [
        ("Apply", "", "SerializationException"),
        ("Apply", "{}", "has no valid"),
        ("Members", "{}", "replication message is wrong"),
        ("Ready", r#"{"from":"x","table":"music","group":"other"}"#, "has no replica"),
        (
            "Apply",
            r#"{"from":"x","table":"music","group":"other","opening":"o","reached":[],"writes":[]}"#,
            "has no replica",
        ),
        ("Probe", "{}", "replication message is wrong"),
        ("Settings", "{}", "replication message is wrong"),
        ("Else", "{}", "UnknownOperation"),
    ] {
        assert!(send(name, body).contains(reason), "{name} {body}: {}", send(name, body));
    }
}

#[test]
fn the_first_version_of_global_tables_is_refused() {
    let world = World::new(&ALL[..1]);
    let us = ALL[0];
    world.create(us);
    let named = json!({"GlobalTableName": "music", "ReplicationGroup": [{"RegionName": us}]});
    assert!(world.err(us, "CreateGlobalTable", named).contains("2017.11.29 is not supported"));
    for operation in
        ["DescribeGlobalTable", "DescribeGlobalTableSettings", "UpdateGlobalTableSettings"]
    {
        let refused = world.err(us, operation, json!({"GlobalTableName": "music"}));
        assert!(refused.contains("GlobalTableNotFoundException"), "{refused}");
    }
    assert_eq!(world.ok(us, "ListGlobalTables", json!({})), json!({"GlobalTables": []}));
    let scaling = json!({"TableName": "music", "ReplicaUpdates": [{"RegionName": us}]});
    assert!(world.err(us, "UpdateTableReplicaAutoScaling", scaling).contains("not scaled"));
    let shown = world.ok(us, "DescribeTableReplicaAutoScaling", json!({"TableName": "music"}));
    assert_eq!(shown["TableAutoScalingDescription"]["Replicas"][0]["RegionName"], us);
}

/// A table that a region refuses does not hold up the others.
#[test]
fn the_other_tables_of_a_region_go_on_at_once() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    let refused = |region| {
        let body = json!({
            "TableName": "art", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        });
        world.ok(region, "CreateTable", body);
    };
    refused(eu);
    refused(us);
    world.ok(
        us,
        "UpdateTable",
        json!({"TableName": "art", "ReplicaUpdates": [{"Create": {"RegionName": eu}}]}),
    );
    world.create(us);
    for sk in 0..600 {
        world.put(us, sk, "copied");
    }
    world.replicate(us, "Create", eu);
    world.db(us).run_maintenance().unwrap();
    assert_eq!(world.values(eu).len(), 600);
    let art = world.ok(us, "DescribeTable", json!({"TableName": "art"})).to_string();
    assert!(art.contains("CREATION_FAILED"), "{art}");
    world.ok(eu, "DeleteTable", json!({"TableName": "art"}));
    world.settle();
    let art = world.ok(us, "DescribeTable", json!({"TableName": "art"})).to_string();
    assert!(!art.contains("CREATION_FAILED"), "{art}");
}
