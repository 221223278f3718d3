//! The replication threads: one per region.

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
    let mut probed_ms = 0;
    loop {
        let now_ms = database.clock.now_ms();
        let probes = now_ms.abs_diff(probed_ms) >= PROBED_EVERY_MS;
        if probes {
            probed_ms = now_ms;
        }
        let wait = match round(database, peers, region, probes) {
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
        let mut probes = true;
        while round(database, peers.as_ref(), &region, probes) == Ok(true) {
            probes = false;
        }
    }
}

/// Runs one step of each link to a region. Returns whether any has more to do at once, or the error of one that failed.
fn round(database: &Inner, peers: &dyn Peers, region: &str, probes: bool) -> Result<bool, ()> {
    if probes && let Err(error) = probe::ask(database, peers, region) {
        probe::note(database, region, &error);
        return Err(());
    }
    let mut outcome = Ok(false);
    let mut note = |table: &str, step: Result<bool, LinkError>| {
        let is_unreachable = matches!(&step, Err(LinkError::Peer(PeerError::Unreachable(_))));
        match step {
            Ok(more) => {
                database.replication_notes.ok(table, region);
                outcome = outcome.map(|any| any || more);
            }
            Err(error) => {
                let now_ms = database.clock.now_ms();
                database.replication_notes.failed(table, region, &error, now_ms);
                outcome = Err(());
            }
        }
        is_unreachable
    };
    for table in database.catalog.all().values() {
        let replication = table.record.replication.as_ref();
        if !replication.is_some_and(|it| it.members.contains_key(region)) {
            continue;
        }
        let link = Link { database, peers, table: Arc::clone(table), region };
        // A region that does not answer for one table will not answer for the others.
        if note(table.name(), link.step()) || database.background.is_ending() {
            return outcome;
        }
    }
    note("", departure::deliver(database, peers, region));
    outcome
}
