//! Cut connections, killed backends, a server that stops at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::scope;
use std::time::Duration;

use keyloom_store::{CommitError, Store};

use crate::server::Cut;
use crate::{Postgres, Proxy, assert_exact, connect, increment, logged, rounds, schema, shared};

/// COMMIT as a message of its own: the flight's BEGIN says READ COMMITTED.
pub(crate) const COMMIT: &str = "COMMIT\0";

/// So many commits in turn, and every lane of a store has its row: the next COMMIT is a flight's.
const WARM: usize = 8;

#[test]
fn a_commit_whose_answer_is_lost_is_found_out() {
    let Some(server) = shared() else { return };
    let proxy = Proxy::start(server.port());
    let store = connect(&Postgres::url_through(proxy.port(), &schema()));
    for round in 0..rounds() {
        (0..WARM).for_each(|_| increment(&store, "n").unwrap());
        let before = (proxy.cuts(), proxy.lost_commits());
        let commits = round % 2 == 0;
        proxy.cut_at(COMMIT, if commits { Cut::After } else { Cut::Before }, 0);
        increment(&store, "n").unwrap();
        let expected = (before.0 + 1, before.1 + usize::from(commits));
        assert_eq!((proxy.cuts(), proxy.lost_commits()), expected, "cuts, and commits among them");
    }
    assert_exact(&store, &["n"], rounds() * (WARM + 1));
}

#[test]
fn a_commit_that_arrives_after_it_was_given_up_never_takes_place() {
    // Blind writes: nothing but the claim of the flight's number keeps the late one out. It comes when
    // the flight was repeated, or when the claim is about to commit: were the marker only read then,
    // both would commit.
    let Some(server) = shared() else { return };
    let proxy = Proxy::start(server.port());
    let store = connect(&Postgres::url_through(proxy.port(), &schema()));
    let append = || {
        let mut transaction = store.begin(&[]).unwrap();
        transaction.append("log/".into(), 0, "record".into());
        transaction.add("count".into(), 1);
        transaction.commit().unwrap();
    };
    for round in 0..rounds() {
        (0..WARM).for_each(|_| append());
        let is_late = round % 2 == 0;
        let late = Cut::Late(Duration::from_millis(60));
        proxy.cut_at(COMMIT, if is_late { late } else { Cut::Overtaking(COMMIT) }, 0);
        append();
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(proxy.cuts(), rounds());
    let appended = rounds() * (WARM + 1);
    assert_eq!(logged(&store), appended);
    assert_eq!(store.sum(&[b"count"]).unwrap(), [appended as i64]);
}

#[test]
fn a_lost_commit_of_a_lane_that_is_gone_is_reported_as_unknown() {
    let Some(server) = shared() else { return };
    let (proxy, schema) = (Proxy::start(server.port()), schema());
    let store = connect(&Postgres::url_through(proxy.port(), &schema));
    increment(&store, "n").unwrap();
    proxy.cut_at(COMMIT, Cut::Late(Duration::from_millis(500)), 0);
    scope(|scope| {
        let lost = scope.spawn(|| increment(&store, "n"));
        // Somebody takes the lane for dead while its owner cannot reach it.
        server.query(&format!("DELETE FROM {schema}.lane"));
        let outcome = lost.join().unwrap();
        assert!(matches!(outcome, Err(CommitError::Unknown(_)) | Ok(())), "{outcome:?}");
    });
    // Its owner goes on with another lane.
    increment(&store, "m").unwrap();
}

#[test]
fn connections_cut_at_any_byte_lose_and_repeat_nothing() {
    let Some(server) = shared() else { return };
    let proxy = Proxy::start(server.port());
    let store = connect(&Postgres::url_through(proxy.port(), &schema()));
    increment(&store, "n").unwrap();
    for round in 0..rounds() {
        // A lookup and a flight send about 2,200 bytes.
        proxy.cut_after(1 + (round * 2200 / rounds().max(1)) as u64);
        increment(&store, "n").unwrap();
    }
    proxy.cut_after(0);
    assert_exact(&store, &["n"], rounds() + 1);
}

/// Sets a flag when it is dropped.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Writers that go on while `disturb` is called again and again; returns how many writes were
/// acknowledged.
pub(crate) fn write_meanwhile(
    store: &dyn Store,
    keys: [&'static str; 4],
    disturb: impl Fn(),
) -> usize {
    let (done, acknowledged) = (AtomicBool::new(false), AtomicUsize::new(0));
    scope(|scope| {
        for key in keys {
            let (done, acknowledged) = (&done, &acknowledged);
            scope.spawn(move || {
                while !done.load(Ordering::Acquire) {
                    increment(store, key).unwrap();
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Also if the disturbance panics: the writers would go on for ever.
        let _end = OnDrop(&done);
        for _ in 0..rounds() {
            std::thread::sleep(Duration::from_millis(30));
            disturb();
        }
    });
    acknowledged.into_inner()
}

#[test]
fn backends_that_are_terminated_lose_and_repeat_nothing() {
    let Some(server) = Postgres::start(false) else { return };
    let store = connect(&server.url("s"));
    let keys = ["a", "b", "c", "d"];
    let acknowledged = write_meanwhile(&store, keys, || {
        server.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE application_name = 'keyloom'",
        );
    });
    assert_exact(&store, &keys, acknowledged);
}

#[test]
fn a_server_that_stops_at_once_loses_and_repeats_nothing() {
    let Some(server) = Postgres::start(false) else { return };
    let store = connect(&server.url("s"));
    let keys = ["a", "b", "c", "d"];
    let acknowledged = write_meanwhile(&store, keys, || {
        server.stop_immediately();
        server.resume();
    });
    assert_exact(&store, &keys, acknowledged);
    assert!(store.health().is_ready());
}
