//! The replication threads: one per region.
//!
//! A region that cannot be reached is left alone for a while, and so is a table that it refuses; its other tables are
//! not held up by that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::background::Background;
use crate::database::Inner;

use super::link::Link;
use super::notes::LinkError;
use super::{PeerError, Peers, departure, probe};

/// How long a thread waits when there is nothing to send.
const IDLE: Duration = Duration::from_millis(100);
/// How often a region is asked which tables it has.
const PROBED_EVERY_MS: u64 = 1000;
/// How long it waits after a failure; longer each time.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// What stands for the tables that have left, in the place of a table's name.
const DEPARTURES: &str = "";

/// Starts a thread for each region that can be reached.
pub(crate) fn start(inner: &Arc<Inner>) {
    let Some(peers) = inner.options.peers.clone().filter(|_| inner.options.background) else {
        return;
    };
    for region in peers.regions() {
        let (own, peers) = (Arc::clone(inner), Arc::clone(&peers));
        let run = move || run(&own, peers.as_ref(), &region);
        // Without a thread nothing is sent; it is when the database is opened again.
        drop(inner.background.spawn("keyloom-replica", run));
    }
}

fn run(database: &Inner, peers: &dyn Peers, region: &str) {
    let background: &Background = &database.background;
    let mut pause = FIRST_PAUSE;
    let mut resting = Resting::default();
    let mut probed_ms = 0;
    loop {
        let now_ms = database.clock.now_ms();
        let probes = now_ms.abs_diff(probed_ms) >= PROBED_EVERY_MS;
        if probes {
            probed_ms = now_ms;
        }
        let wait = match round(database, peers, region, probes, &mut resting) {
            Ok(true) => Duration::ZERO,
            Ok(false) => {
                pause = FIRST_PAUSE;
                IDLE
            }
            Err(()) => {
                // What is wrong is shown until an answer comes, however little there is to send.
                probed_ms = 0;
                pause = LONGEST_PAUSE.min(pause * 2);
                pause
            }
        };
        if background.is_ending() || (!wait.is_zero() && !background.pause(wait)) {
            return;
        }
    }
}

/// Sends everything that there is to send, for a database without threads.
pub(crate) fn run_once(database: &Inner) {
    let Some(peers) = &database.options.peers else { return };
    for region in peers.regions() {
        let (mut probes, mut resting) = (true, Resting::default());
        while round(database, peers.as_ref(), &region, probes, &mut resting) == Ok(true) {
            probes = false;
        }
    }
}

/// Tables that have failed: when, and how long each is left alone.
#[derive(Default)]
struct Resting(BTreeMap<String, (u64, Duration)>);

impl Resting {
    fn has(&self, table: &str, now_ms: u64) -> bool {
        let rests = |(since_ms, pause): &(u64, Duration)| {
            u128::from(now_ms.abs_diff(*since_ms)) < pause.as_millis()
        };
        self.0.get(table).is_some_and(rests)
    }

    fn failed(&mut self, table: &str, now_ms: u64) {
        let (since_ms, pause) = self.0.entry(table.to_owned()).or_insert((0, FIRST_PAUSE));
        (*since_ms, *pause) = (now_ms, LONGEST_PAUSE.min(*pause * 2));
    }
}

/// Runs one step of each link to a region. Returns whether any has more to do at once; an error if the region cannot
/// be reached.
fn round(
    database: &Inner,
    peers: &dyn Peers,
    region: &str,
    probes: bool,
    resting: &mut Resting,
) -> Result<bool, ()> {
    if probes && let Err(error) = probe::ask(database, peers, region) {
        probe::note(database, region, &error);
        return Err(());
    }
    let mut has_more = false;
    let mut note = |table: &str, step: Result<bool, LinkError>, resting: &mut Resting| {
        match step {
            Ok(more) => {
                database.replication_notes.ok(table, region);
                resting.0.remove(table);
                has_more |= more;
            }
            Err(error) => {
                let now_ms = database.clock.now_ms();
                database.replication_notes.failed(table, region, &error, now_ms);
                // A region that does not answer for one table will not answer for the others.
                if let LinkError::Peer(PeerError::Unreachable(_)) = error {
                    return Err(());
                }
                resting.failed(table, now_ms);
            }
        }
        Ok(())
    };
    let tables = database.catalog.all();
    resting.0.retain(|table, _| tables.contains_key(table) || table == DEPARTURES);
    for table in tables.values() {
        let replication = table.record.replication.as_ref();
        let is_there = replication.is_some_and(|it| it.members.contains_key(region));
        if !is_there || resting.has(table.name(), database.clock.now_ms()) {
            continue;
        }
        let link = Link { database, peers, table: Arc::clone(table), region };
        note(table.name(), link.step(), resting)?;
        if database.background.is_ending() {
            return Ok(false);
        }
    }
    if !resting.has(DEPARTURES, database.clock.now_ms()) {
        note(DEPARTURES, departure::deliver(database, peers, region), resting)?;
    }
    Ok(has_more)
}
