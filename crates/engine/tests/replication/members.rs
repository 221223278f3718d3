//! Replicas come and go.

use keyloom_store::MemoryStore;
use serde_json::json;

use super::{ALL, World};

#[test]
fn a_new_replica_gets_the_items_and_then_the_writes_of_all_regions() {
    let world = World::new(&ALL);
    let [us, eu, ap] = ALL;
    world.create(us);
    for sk in 0..600 {
        world.put(us, sk, "old");
    }
    world.replicate(us, "Create", eu);
    assert_eq!(world.status(us, eu), "CREATING");
    assert!(world.err(eu, "DescribeTable", json!({"TableName": "music"})).contains("not found"));
    world.put(us, 1, "while it is created");
    world.settle();
    assert_eq!((world.status(us, eu), world.status(eu, us)), ("ACTIVE".into(), "ACTIVE".into()));
    assert_eq!(world.describe(eu)["TableStatus"], "ACTIVE");
    assert_eq!(world.describe(eu)["StreamSpecification"]["StreamViewType"], "NEW_AND_OLD_IMAGES");
    assert_eq!(world.values(eu), world.values(us));

    // The third one is added at the second.
    world.replicate(eu, "Create", ap);
    world.put(eu, 2, "from eu");
    world.settle();
    world.put(ap, 3, "from ap");
    world.delete(ap, 4);
    world.settle();
    for region in ALL {
        assert_eq!(world.values(region), world.values(us), "{region}");
        for other in ALL.into_iter().filter(|other| *other != region) {
            assert_eq!(world.status(region, other), "ACTIVE", "{region} to {other}");
        }
    }
    assert_eq!(world.values(us).len(), 599);
    world.verify();
}

#[test]
fn a_table_is_not_used_before_all_its_items_are_there() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.put(us, 1, "one");
    world.replicate(us, "Create", eu);
    // The table is created there, and then the network breaks.
    world.network.0.lock().unwrap().lost_answers = 1;
    world.settle();
    world.cut(us, eu, true);
    let table = world.ok(eu, "DescribeTable", json!({"TableName": "music"}));
    if table["Table"]["TableStatus"] == "CREATING" {
        let refused = world.err(eu, "Scan", json!({"TableName": "music"}));
        assert!(refused.contains("ResourceNotFound"), "{refused}");
    }
    world.cut(us, eu, false);
    world.settle();
    assert_eq!(world.values(eu), world.values(us));
}

#[test]
fn a_deleted_replica_is_gone_everywhere() {
    let world = World::new(&ALL);
    let [us, eu, ap] = ALL;
    world.create(us);
    world.put(us, 1, "one");
    world.replicate(us, "Create", eu);
    world.replicate(us, "Create", ap);
    world.settle();
    // From another region.
    world.replicate(us, "Delete", eu);
    assert_eq!(world.status(us, eu), "DELETING");
    world.settle();
    assert!(world.err(eu, "DescribeTable", json!({"TableName": "music"})).contains("not found"));
    assert_eq!((world.status(us, eu), world.status(ap, eu)), ("none".into(), "none".into()));
    // By itself, while one of the others does not answer.
    world.cut(ap, us, true);
    world.cut(us, ap, true);
    world.ok(ap, "DeleteTable", json!({"TableName": "music"}));
    world.settle();
    assert_eq!(world.status(us, ap), "ACTIVE", "it cannot know");
    world.cut(us, ap, false);
    world.settle();
    assert_eq!(world.status(us, ap), "none", "it hears of it when it asks");
    world.cut(ap, us, false);
    world.settle();
    assert_eq!(world.status(us, ap), "none");
    assert!(world.err(ap, "DescribeTable", json!({"TableName": "music"})).contains("not found"));
    // And anew.
    world.replicate(us, "Create", eu);
    world.settle();
    assert_eq!(world.values(eu), world.values(us));
    world.verify();
}

#[test]
fn what_a_region_cannot_hear_is_shown_and_sent_later() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.replicate(us, "Create", eu);
    world.settle();
    world.cut(us, eu, true);
    world.put(us, 1, "one");
    world.settle();
    let replica = world.describe(us)["Replicas"][0].clone();
    assert_eq!(replica["ReplicaStatus"], "ACTIVE");
    let text = replica["ReplicaStatusDescription"].as_str().unwrap();
    assert!(text.starts_with("Not replicating since 2027-"), "{text}");
    assert!(text.ends_with("eu-west-1 does not answer"), "{text}");
    world.cut(us, eu, false);
    world.settle();
    assert!(world.describe(us)["Replicas"][0].get("ReplicaStatusDescription").is_none());
    assert_eq!(world.values(eu), world.values(us));
}

#[test]
fn a_replica_that_lost_its_data_is_filled_again_while_nobody_writes() {
    filled_again_after(|_| {});
}

#[test]
fn a_replica_that_lost_its_data_is_filled_again_before_the_next_write() {
    filled_again_after(|world| world.put(ALL[0], 2000, "the next"));
}

fn filled_again_after(loss: impl FnOnce(&World)) {
    let mut world = World::new(&ALL);
    let [us, eu, ap] = ALL;
    world.create(us);
    for sk in 0..300 {
        world.put(us, sk, "one");
    }
    world.replicate(us, "Create", eu);
    world.replicate(us, "Create", ap);
    world.settle();
    // A write that one of the others never hears of before the loss.
    world.cut(ap, us, true);
    world.put(ap, 1000, "from ap");
    world.settle();
    assert_eq!((world.values(eu).len(), world.values(us).len()), (301, 300));

    world.start_on(eu, MemoryStore::default());
    loss(&world);
    world.settle();
    assert_eq!(world.status(us, eu), "ACTIVE");
    assert!(world.describe(us)["Replicas"][1].get("ReplicaStatusDescription").is_none());
    let told = world.values(us).len() + 1;
    assert_eq!(world.values(eu).len(), told, "what only ap had told it is told again");
    world.cut(ap, us, false);
    world.settle();
    assert_eq!(world.values(eu), world.values(us));
    world.verify();
}

#[test]
fn a_loss_is_shown_until_the_items_are_there_again() {
    let mut world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.put(us, 1, "one");
    world.replicate(us, "Create", eu);
    world.settle();
    world.start_on(eu, MemoryStore::default());
    // Only the question and its answer get through.
    world.network.0.lock().unwrap().until_cut = Some(1);
    world.db(us).run_maintenance().unwrap();
    assert_eq!(world.status(us, eu), "CREATING");
    let text = world.describe(us)["Replicas"][0]["ReplicaStatusDescription"].clone();
    assert!(text.as_str().unwrap().starts_with("Not replicating since 2027-"), "{text}");
    // A server that is started again knows it, too, and why.
    world.start(us);
    let text = world.describe(us)["Replicas"][0]["ReplicaStatusDescription"].clone();
    assert!(text.as_str().unwrap().contains("has lost the table"), "{text}");
    world.network.0.lock().unwrap().until_cut = None;
    world.settle();
    assert_eq!(world.status(us, eu), "ACTIVE");
    assert_eq!(world.values(eu), world.values(us));
}

#[test]
fn a_region_that_does_not_answer_is_shown_although_there_is_nothing_to_send() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.replicate(us, "Create", eu);
    world.settle();
    world.cut(us, eu, true);
    world.settle();
    let text = world.describe(us)["Replicas"][0]["ReplicaStatusDescription"].clone();
    assert!(text.as_str().unwrap().ends_with("eu-west-1 does not answer"), "{text}");
    world.cut(us, eu, false);
    world.settle();
    assert!(world.describe(us)["Replicas"][0].get("ReplicaStatusDescription").is_none());
}
