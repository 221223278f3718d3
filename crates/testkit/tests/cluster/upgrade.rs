//! Servers of two builds on one store, of which the newer knows a newer version of records.

use std::sync::Arc;
use std::time::Duration;

use keyloom_engine::{ClusterStatus, Database, ManualClock, Options};
use keyloom_testkit::cluster::new_store;
use keyloom_testkit::lockstep::{START_MS, call, succeed};
use serde_json::json;

use crate::table;

/// Longer than a server is believed to be alive without a word.
const DEAD: Duration = Duration::from_secs(16);

struct Upgrade {
    url: String,
    clock: Arc<ManualClock>,
}

impl Upgrade {
    fn new() -> Option<Self> {
        Some(Self { url: new_store()?, clock: Arc::new(ManualClock::at_ms(START_MS)) })
    }

    /// A server of a build that knows records up to this version.
    fn try_server(&self, known_records: u32) -> Result<Database, keyloom_engine::Error> {
        let clock = Arc::<ManualClock>::clone(&self.clock);
        let options = Options { background: false, known_records, clock, ..Options::default() };
        Database::connect_with(&self.url, options)
    }

    fn server(&self, known_records: u32) -> Database {
        self.try_server(known_records).unwrap()
    }

    /// The version in which records are written.
    fn written(&self) -> u32 {
        ClusterStatus::of(&self.url).unwrap().records
    }
}

#[test]
fn new_servers_write_old_records_until_all_know_the_new_ones() {
    let Some(upgrade) = Upgrade::new() else { return };
    let old = [upgrade.server(1), upgrade.server(1)];
    let first_new = upgrade.server(2);
    succeed(&first_new, "CreateTable", &table("by-new"));
    first_new.run_maintenance().unwrap();
    assert_eq!(upgrade.written(), 1, "an old server is alive");
    // Old servers read what the new one writes, and change it.
    let describe = json!({"TableName": "by-new"});
    succeed(&old[0], "DescribeTable", &describe);
    succeed(
        &old[1],
        "UpdateTable",
        &json!({"TableName": "by-new", "DeletionProtectionEnabled": true}),
    );
    let protected = succeed(&first_new, "DescribeTable", &describe);
    assert_eq!(protected["Table"]["DeletionProtectionEnabled"], true);
    // One by one.
    let [one, other] = old;
    drop(one);
    let second_new = upgrade.server(2);
    second_new.run_maintenance().unwrap();
    assert_eq!(upgrade.written(), 1, "an old server is alive");
    drop(other);
    second_new.run_maintenance().unwrap();
    assert_eq!(upgrade.written(), 2, "all servers know version 2");
    // The other new server has met it with the next epoch.
    succeed(&first_new, "CreateTable", &table("by-both"));
    succeed(&second_new, "DescribeTable", &json!({"TableName": "by-both"}));
    // There is no way back.
    let refused = upgrade.try_server(1).unwrap_err().message();
    assert!(refused.contains("version 2") && refused.contains("upgrade it"), "{refused}");
}

/// A server that was paused, and taken for dead when the version was raised, comes back.
#[test]
fn an_old_server_that_comes_back_refuses_by_name_and_writes_nothing() {
    let Some(upgrade) = Upgrade::new() else { return };
    let old = upgrade.server(1);
    succeed(&old, "CreateTable", &table("music"));
    let put = |key: &str| json!({"TableName": "music", "Item": {"pk": {"S": key}}});
    succeed(&old, "PutItem", &put("before"));
    upgrade.clock.advance(DEAD);
    let new = upgrade.server(2);
    new.run_maintenance().unwrap();
    assert_eq!(upgrade.written(), 2, "nobody else is alive");
    let read = json!({"TableName": "music", "Key": {"pk": {"S": "before"}}});
    let update = json!({"TableName": "music", "DeletionProtectionEnabled": true});
    let table = table("other");
    for (operation, body) in [
        ("PutItem", &put("after")),
        ("GetItem", &read),
        ("UpdateTable", &update),
        ("CreateTable", &table),
    ] {
        let answer = call(&old, operation, body.to_string().as_bytes());
        let said = format!("{answer:?}");
        assert!(said.contains("version 2") && said.contains("upgrade it"), "{operation}: {said}");
    }
    let stored = succeed(&new, "Scan", &json!({"TableName": "music"}));
    assert_eq!(stored["Count"], 1, "{stored}");
    assert_eq!(succeed(&new, "ListTables", &json!({}))["TableNames"], json!(["music"]));
    // Nor does it count as alive by trying to.
    assert!(old.run_maintenance().is_err() || !old.background_failures().is_empty());
    let status = ClusterStatus::of(&upgrade.url).unwrap();
    let versions: Vec<u32> = status.servers.iter().map(|server| server.records).collect();
    assert!(versions.contains(&2), "{versions:?}");
}

/// One process: there is nobody to wait for, and an older program is refused.
#[test]
fn a_directory_is_raised_at_once() {
    let folder = tempfile::TempDir::new().unwrap();
    let open = |known_records| {
        let options = Options { background: false, known_records, ..Options::default() };
        Database::open_with(folder.path(), keyloom_engine::DiskOptions::default(), options)
    };
    succeed(&open(1).unwrap(), "CreateTable", &table("music"));
    succeed(&open(2).unwrap(), "CreateTable", &table("more"));
    let refused = open(1).unwrap_err().message();
    assert!(refused.contains("version 2") && refused.contains("upgrade it"), "{refused}");
    let tables = succeed(&open(2).unwrap(), "ListTables", &json!({}));
    assert_eq!(tables["TableNames"], json!(["more", "music"]));
}
