//! Global tables: databases of several regions that send each other their writes, over a network that fails on demand.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod busy;
mod converge;
mod members;
mod older;
mod refused;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom_engine::{Clock, Database, ManualClock, Options, PeerError, Peers, Reply};
use keyloom_store::{MemoryStore, Store};
use serde_json::{Value, json};

/// All databases, by region, and what is wrong between them.
#[derive(Clone, Default)]
struct Network(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    databases: BTreeMap<String, Database>,
    /// From which region to which nothing gets through.
    cut: BTreeSet<(String, String)>,
    /// How many further messages arrive whose answers are lost.
    lost_answers: usize,
    /// How many further messages arrive before nothing does.
    until_cut: Option<usize>,
    messages: usize,
}

/// The network as one region sees it.
struct End {
    network: Network,
    own: String,
    others: Vec<String>,
}

impl std::fmt::Debug for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.own)
    }
}

impl Peers for End {
    fn regions(&self) -> Vec<String> {
        self.others.clone()
    }

    fn send(&self, region: &str, target: &str, body: &[u8]) -> Result<Vec<u8>, PeerError> {
        let (database, is_lost) = {
            let mut state = self.network.0.lock().unwrap();
            let unreachable = || PeerError::Unreachable(format!("{region} does not answer"));
            if state.cut.contains(&(self.own.clone(), region.to_owned())) {
                return Err(unreachable());
            }
            if state.until_cut == Some(0) {
                return Err(unreachable());
            }
            state.until_cut = state.until_cut.map(|left| left - 1);
            // Questions are asked however little there is to tell.
            state.messages += usize::from(!target.ends_with(".Probe"));
            let is_lost = state.lost_answers > 0;
            state.lost_answers -= usize::from(is_lost);
            (state.databases.get(region).cloned().ok_or_else(unreachable)?, is_lost)
        };
        let reply = database.call(target, body);
        if is_lost {
            return Err(PeerError::Unreachable("the answer is lost".into()));
        }
        if reply.status == 200 {
            return Ok(reply.body);
        }
        Err(PeerError::Refused(keyloom_api::error::error_from(reply.status, &reply.body)))
    }
}

/// Some regions, one clock, no threads: tests say when something is sent.
struct World {
    network: Network,
    clock: Arc<ManualClock>,
    stores: BTreeMap<String, Arc<MemoryStore>>,
    regions: Vec<String>,
}

const ALL: [&str; 3] = ["us-east-1", "eu-west-1", "ap-south-1"];

impl World {
    fn new(regions: &[&str]) -> Self {
        let mut world = Self {
            network: Network::default(),
            clock: Arc::new(ManualClock::at_ms(1_800_000_000_000)),
            stores: BTreeMap::new(),
            regions: regions.iter().map(|&region| region.to_owned()).collect(),
        };
        for region in regions {
            world.stores.insert((*region).to_owned(), Arc::new(MemoryStore::new()));
            world.start(region);
        }
        world
    }

    /// Opens a region's database, as after a restart.
    fn start(&self, region: &str) {
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        self.start_at(region, clock);
    }

    fn start_at(&self, region: &str, clock: Arc<dyn Clock>) {
        self.stop(region);
        let others = self.regions.iter().filter(|it| *it != region).cloned().collect();
        let end = End { network: self.network.clone(), own: region.to_owned(), others };
        let options = Options {
            region: region.to_owned(),
            background: false,
            clock,
            peers: Some(Arc::new(end)),
            ..Options::default()
        };
        let store = Arc::clone(&self.stores[region]) as Arc<dyn Store>;
        let database = Database::on(store, options).unwrap();
        self.network.0.lock().unwrap().databases.insert(region.to_owned(), database);
    }

    /// Starts a region's server on other data: nothing, or a backup of an earlier time.
    fn start_on(&mut self, region: &str, data: MemoryStore) {
        self.stop(region);
        self.stores.insert(region.to_owned(), Arc::new(data));
        self.start(region);
    }

    fn stop(&self, region: &str) {
        let stopped = self.network.0.lock().unwrap().databases.remove(region);
        drop(stopped);
    }

    fn db(&self, region: &str) -> Database {
        self.network.0.lock().unwrap().databases[region].clone()
    }

    fn call(&self, region: &str, operation: &str, body: &Value) -> Reply {
        self.clock.advance(Duration::from_millis(1));
        let prefix = if operation.contains("Stream")
            || operation.contains("Records")
            || operation.contains("Shard")
        {
            "DynamoDBStreams_20120810"
        } else {
            "DynamoDB_20120810"
        };
        self.db(region).call(&format!("{prefix}.{operation}"), body.to_string().as_bytes())
    }

    fn ok(&self, region: &str, operation: &str, body: Value) -> Value {
        let reply = self.call(region, operation, &body);
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert_eq!(reply.status, 200, "{region} {operation} {body}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    fn err(&self, region: &str, operation: &str, body: Value) -> String {
        let reply = self.call(region, operation, &body);
        assert_ne!(reply.status, 200, "{region} {operation} {body}");
        String::from_utf8(reply.body).unwrap()
    }

    fn cut(&self, from: &str, to: &str, is_cut: bool) {
        let mut state = self.network.0.lock().unwrap();
        let way = (from.to_owned(), to.to_owned());
        if is_cut {
            state.cut.insert(way)
        } else {
            state.cut.remove(&way)
        };
    }

    /// Everything that gets through is sent, until nothing changes any more.
    fn settle(&self) {
        for _ in 0..6 {
            for region in &self.regions {
                let database = self.network.0.lock().unwrap().databases.get(region).cloned();
                if let Some(database) = database {
                    database.run_maintenance().unwrap();
                }
            }
        }
    }

    fn create(&self, region: &str) {
        let body = json!({
            "TableName": "music",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
                {"AttributeName": "g", "AttributeType": "S"},
            ],
            "GlobalSecondaryIndexes": [{
                "IndexName": "by-g", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            }],
            "BillingMode": "PAY_PER_REQUEST",
        });
        self.ok(region, "CreateTable", body);
    }

    fn replicate(&self, region: &str, action: &str, other: &str) {
        let updates = json!([{action: {"RegionName": other}}]);
        self.ok(region, "UpdateTable", json!({"TableName": "music", "ReplicaUpdates": updates}));
    }

    fn put(&self, region: &str, sk: u64, value: &str) {
        let item = json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "v": {"S": value}, "g": {"S": "x"}});
        self.ok(region, "PutItem", json!({"TableName": "music", "Item": item}));
    }

    fn delete(&self, region: &str, sk: u64) {
        let key = json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}});
        self.ok(region, "DeleteItem", json!({"TableName": "music", "Key": key}));
    }

    /// All items by sort key, and as the index has them.
    fn items(&self, region: &str) -> (BTreeMap<String, Value>, BTreeMap<String, Value>) {
        let all = |body: Value| -> BTreeMap<String, Value> {
            let page = self.ok(region, "Scan", body);
            let items = page["Items"].as_array().unwrap().iter();
            items.map(|item| (item["sk"]["N"].as_str().unwrap().to_owned(), item.clone())).collect()
        };
        (
            all(json!({"TableName": "music"})),
            all(json!({"TableName": "music", "IndexName": "by-g"})),
        )
    }

    fn values(&self, region: &str) -> Vec<(String, String)> {
        let (items, index) = self.items(region);
        assert_eq!(items, index, "the index of {region}");
        let value = |item: &Value| item["v"]["S"].as_str().unwrap_or_default().to_owned();
        items.iter().map(|(sk, item)| (sk.clone(), value(item))).collect()
    }

    fn describe(&self, region: &str) -> Value {
        self.ok(region, "DescribeTable", json!({"TableName": "music"}))["Table"].clone()
    }

    fn status(&self, region: &str, other: &str) -> String {
        let table = self.describe(region);
        let replicas = table["Replicas"].as_array().cloned().unwrap_or_default();
        let replica = replicas.iter().find(|it| it["RegionName"] == other);
        replica.map_or("none".into(), |it| it["ReplicaStatus"].as_str().unwrap().to_owned())
    }

    /// Every database is sound.
    fn verify(&self) {
        for region in &self.regions {
            let report = self.db(region).verify().unwrap();
            assert!(report.is_clean(), "{region}: {}", report.to_json());
        }
    }
}
