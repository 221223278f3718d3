//! Servers that share a store share its limits out.

use keyloom_testkit::cluster::new_store;

use super::*;

/// A server on this store, under this clock, that does nothing by itself.
fn server(url: &str, clock: &Arc<ManualClock>) -> Throttled {
    let monitor = Monitor::new("enforce:burst=0".parse::<Throttle>().unwrap());
    let monitor = Arc::new(monitor.sampling(Sampling::All));
    let options = Options {
        clock: Arc::clone(clock) as _,
        observer: Some(Arc::clone(&monitor) as Arc<dyn Observer>),
        background: false,
        ..Options::default()
    };
    let database = Database::connect_with(url, options).unwrap();
    Throttled { database, clock: Arc::clone(clock), monitor }
}

/// How many puts so many servers take together in some seconds, each asked for 40 per second.
fn taken(servers: &[Throttled], clock: &ManualClock, seconds: u64) -> u64 {
    // Each looks how many there are.
    for server in servers {
        server.database.run_maintenance().unwrap();
    }
    let (mut taken, mut number) = (0, 0);
    for _ in 0..seconds * 10 {
        for server in servers {
            for _ in 0..4 {
                number += 1;
                taken += u64::from(server.put(order(format!("k{number}"))).0 == 200);
            }
        }
        clock.advance(Duration::from_millis(100));
    }
    taken
}

#[test]
fn servers_of_one_store_take_together_what_is_provisioned() {
    let Some(url) = new_store() else { return };
    let clock = Arc::new(ManualClock::at_ms(1_794_700_800_000));
    let first = server(&url, &clock);
    first.create(json!({
        "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 30}}));
    let mut servers = vec![first, server(&url, &clock), server(&url, &clock)];
    // What was saved for bursts goes first.
    taken(&servers, &clock, 1);
    let all = taken(&servers, &clock, 6);
    // Thirty a second for all of them, and not for each.
    assert!((150..=240).contains(&all), "{all} of three servers in 6 seconds");
    for server in &servers {
        let heat = server.monitor.partitions();
        let now_ms = keyloom_engine::Clock::now_ms(clock.as_ref());
        let refused = heat.heat("Orders", None, now_ms).unwrap().throttled;
        assert!(!refused.is_empty(), "one of them has refused nothing");
    }
    // Two leave: who stays gets all of it, and no more.
    servers.truncate(1);
    taken(&servers, &clock, 1);
    let alone = taken(&servers, &clock, 6);
    assert!((150..=220).contains(&alone), "{alone} of one server in 6 seconds");
}
