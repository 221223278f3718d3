//! Jobs go on when the server that does them is gone.

use std::sync::Arc;
use std::time::Duration;

use keyloom_engine::buckets::Folder;
use keyloom_engine::{ManualClock, Options};
use keyloom_testkit::cluster::Cluster;
use keyloom_testkit::lockstep::{START_MS, succeed};
use serde_json::json;
use tempfile::TempDir;

use crate::{everything, item, ok, rounds, table};

/// Longer than a server is believed to be alive without a word.
const DEAD: Duration = Duration::from_secs(16);

struct Moved {
    cluster: Cluster,
    clock: Arc<ManualClock>,
    buckets: TempDir,
}

/// Servers that do nothing by themselves and whose clock the test moves.
fn moved() -> Option<Moved> {
    let clock = Arc::new(ManualClock::at_ms(START_MS));
    let buckets = TempDir::new().unwrap();
    std::fs::create_dir(buckets.path().join("out")).unwrap();
    let options = Options {
        background: false,
        clock: Arc::<ManualClock>::clone(&clock),
        buckets: Some(Arc::new(Folder::new(buckets.path()))),
        ..Options::default()
    };
    let cluster = Cluster::start(3, &options)?;
    Some(Moved { cluster, clock, buckets })
}

/// An index, a backup and an export that their server has begun and never does.
#[test]
fn what_a_dead_server_leaves_is_taken_over() {
    for round in 0..rounds() {
        let Some(Moved { cluster, clock, buckets: _buckets }) = moved() else { return };
        let (dead, heir) = (round % 3, (round + 1) % 3);
        ok(&cluster, 0, "CreateTable", &table("music"));
        let recovery = json!({"TableName": "music",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
        ok(&cluster, 0, "UpdateContinuousBackups", &recovery);
        for number in 0..200 {
            ok(&cluster, number, "PutItem", &json!({"TableName": "music", "Item": item(number)}));
        }
        let update = json!({"TableName": "music",
            "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "by-g",
                "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}}]});
        ok(&cluster, dead, "UpdateTable", &update);
        let backup = ok(
            &cluster,
            dead,
            "CreateBackup",
            &json!({"TableName": "music", "BackupName": "copy"}),
        );
        let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/music";
        // Servers number writes by their clocks: what all of them wrote is before the next millisecond.
        clock.advance(Duration::from_millis(1));
        let export = ok(
            &cluster,
            dead,
            "ExportTableToPointInTime",
            &json!({"TableArn": arn, "S3Bucket": "out"}),
        );
        // While the server may be alive nobody touches its jobs.
        cluster.server(heir).run_maintenance().unwrap();
        let status = |server| {
            ok(&cluster, server, "DescribeTable", &json!({"TableName": "music"}))
            ["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"].clone()
        };
        assert_eq!(status(heir), "CREATING");
        clock.advance(DEAD);
        for _ in 0..2 {
            cluster.server(heir).run_maintenance().unwrap();
        }
        assert_eq!(status(heir), "ACTIVE", "round {round}");
        let items = everything(&cluster, heir, "music", None);
        assert_eq!(everything(&cluster, heir, "music", Some("by-g")), items);
        let described = ok(
            &cluster,
            heir,
            "DescribeBackup",
            &json!({"BackupArn": backup["BackupDetails"]["BackupArn"]}),
        );
        assert_eq!(described["BackupDescription"]["BackupDetails"]["BackupStatus"], "AVAILABLE");
        let exported = ok(
            &cluster,
            heir,
            "DescribeExport",
            &json!({"ExportArn": export["ExportDescription"]["ExportArn"]}),
        );
        assert_eq!(exported["ExportDescription"]["ExportStatus"], "COMPLETED", "{exported}");
        assert_eq!(exported["ExportDescription"]["ItemCount"], 200, "{exported}");
        // The one that only seemed dead does nothing twice.
        cluster.server(dead).run_maintenance().unwrap();
        let described = ok(&cluster, dead, "DescribeTable", &json!({"TableName": "music"}));
        assert_eq!(described["Table"]["GlobalSecondaryIndexes"][0]["ItemCount"], 200);
    }
}

/// One server removes what another has written and what has expired, also when its turn comes by a death.
#[test]
fn expired_items_are_removed_by_one_server() {
    for round in 0..rounds() {
        let Some(Moved { cluster, clock, buckets: _buckets }) = moved() else { return };
        ok(&cluster, 0, "CreateTable", &table("sessions"));
        let ttl = json!({"TableName": "sessions",
            "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "dies"}});
        ok(&cluster, 0, "UpdateTimeToLive", &ttl);
        cluster.server(0).run_maintenance().unwrap();
        let writer = 1 + round % 2;
        for (number, seconds) in [(1, 20), (2, 5000)] {
            let mut item = item(number);
            item["dies"] = json!({"N": (START_MS / 1000 + seconds).to_string()});
            succeed(
                cluster.server(writer),
                "PutItem",
                &json!({"TableName": "sessions", "Item": item}),
            );
        }
        // The writer tells what it knows of expiries.
        cluster.server(writer).run_maintenance().unwrap();
        clock.advance(Duration::from_secs(10));
        cluster.server(0).run_maintenance().unwrap();
        assert_eq!(everything(&cluster, 2, "sessions", None).len(), 2);
        clock.advance(Duration::from_secs(12));
        cluster.server(0).run_maintenance().unwrap();
        assert_eq!(everything(&cluster, 2, "sessions", None).len(), 1, "round {round}");
        // Nobody has heard of the first server for long: another one goes on.
        clock.advance(Duration::from_secs(5000));
        cluster.server(writer).run_maintenance().unwrap();
        assert_eq!(everything(&cluster, 2, "sessions", None).len(), 0, "round {round}");
    }
}

/// An import is not taken over: it ends as FAILED and its table goes, as after a restart.
#[test]
fn an_import_whose_server_is_gone_fails_and_its_table_goes() {
    for round in 0..rounds() {
        let Some(Moved { cluster, clock, buckets }) = moved() else { return };
        let (dead, heir) = (round % 3, (round + 1) % 3);
        let rows = "{\"Item\":{\"pk\":{\"S\":\"a\"}}}\n";
        std::fs::write(buckets.path().join("out/rows.json"), rows).unwrap();
        let mut request =
            json!({"InputFormat": "DYNAMODB_JSON", "S3BucketSource": {"S3Bucket": "out"}});
        request["TableCreationParameters"] = table("music");
        let import = ok(&cluster, dead, "ImportTable", &request);
        let import = json!({"ImportArn": import["ImportTableDescription"]["ImportArn"]});
        let status = |server| {
            let described = ok(&cluster, server, "DescribeImport", &import);
            described["ImportTableDescription"].clone()
        };
        cluster.server(heir).run_maintenance().unwrap();
        assert_eq!(status(heir)["ImportStatus"], "IN_PROGRESS", "its server may be alive");
        clock.advance(DEAD);
        for _ in 0..2 {
            cluster.server(heir).run_maintenance().unwrap();
        }
        let failed = status(heir);
        assert_eq!(failed["ImportStatus"], "FAILED", "{failed}");
        assert!(failed["FailureMessage"].is_string(), "{failed}");
        // The one that only seemed dead goes on, and changes nothing.
        cluster.server(dead).run_maintenance().unwrap();
        assert_eq!(status(dead)["ImportStatus"], "FAILED");
        assert_eq!(ok(&cluster, dead, "ListTables", &json!({}))["TableNames"], json!([]));
        // The name is free.
        ok(&cluster, dead, "CreateTable", &table("music"));
        assert!(everything(&cluster, heir, "music", None).is_empty());
    }
}
