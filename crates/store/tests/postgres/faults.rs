//! Cut connections, killed backends, a server that stops at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::scope;
use std::time::{Duration, Instant};

use keyloom_store::{CommitError, Store};

use crate::server::Cut;
use crate::{
    Postgres, Proxy, assert_exact, connect, increment, logged, number, rounds, schema, shared,
};

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

/// A port on which nobody listens.
const NOBODY: u16 = 1;

#[test]
fn a_lost_commit_of_a_lane_that_is_gone_is_reported_as_unknown() {
    // Nobody can find out what became of it, so it must be neither acknowledged nor run again.
    let Some(server) = shared() else { return };
    for round in 0..rounds() {
        let (proxy, schema) = (Proxy::start(server.port()), schema());
        let store = connect(&Postgres::url_through(proxy.port(), &schema));
        (0..WARM).for_each(|_| increment(&store, "n").unwrap());
        let commits = round % 2 == 0;
        // Its owner cannot reach it before somebody has taken it for dead.
        proxy.redirect(NOBODY);
        proxy.cut_at(COMMIT, if commits { Cut::After } else { Cut::Before }, 0);
        let outcome = scope(|scope| {
            let lost = scope.spawn(|| increment(&store, "n"));
            wait_until(|| proxy.cuts() == 1 && proxy.lost_commits() == usize::from(commits));
            server.query(&format!("DELETE FROM {schema}.lane"));
            proxy.redirect(server.port());
            lost.join().unwrap()
        });
        assert!(matches!(outcome, Err(CommitError::Unknown(_))), "round {round}: {outcome:?}");
        let written = WARM + usize::from(commits);
        assert_eq!((number(&store, "n"), logged(&store)), (written, written), "round {round}");
        // Its owner goes on with another lane.
        increment(&store, "m").unwrap();
    }
}

/// Waits for something that must come about.
fn wait_until(is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "it does not come about");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn connections_cut_at_any_byte_lose_and_repeat_nothing() {
    let Some(server) = shared() else { return };
    let proxy = Proxy::start(server.port());
    let store = connect(&Postgres::url_through(proxy.port(), &schema()));
    (0..WARM).for_each(|_| increment(&store, "n").unwrap());
    let mut acknowledged = WARM;
    for round in 1..=rounds() {
        // What a lookup and a flight send is cut somewhere, the last time behind the last byte of COMMIT.
        (0..WARM).for_each(|_| increment(&store, "n").unwrap());
        let before = proxy.sent();
        increment(&store, "n").unwrap();
        let sent = proxy.sent() - before;
        proxy.cut_after((sent * round as u64 / rounds() as u64).max(1));
        let mut tries = 0;
        while proxy.cuts() < round {
            assert!(tries < WARM, "no cut within {tries} times {sent} bytes");
            increment(&store, "n").unwrap();
            tries += 1;
        }
        acknowledged += WARM + 1 + tries;
    }
    assert_exact(&store, &["n"], acknowledged);
}

/// The backends that wait for a standby with their COMMIT.
fn waiting_for_standby(server: &Postgres) -> Vec<String> {
    let waiting = server.query("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    waiting.lines().map(str::to_owned).collect()
}

#[test]
fn a_commit_that_no_standby_has_confirmed_is_not_acknowledged() {
    // The server ends the wait for a standby with a warning, and answers as if all were well.
    let Some(server) = Postgres::start(false) else { return };
    let store = connect(&server.url("s"));
    for round in 0..rounds() {
        // A lane that has lost its row makes one first, which would wait, too.
        (0..WARM).for_each(|_| increment(&store, "n").unwrap());
        server.set(&[("synchronous_standby_names", "nobody")]);
        scope(|scope| {
            let writer = scope.spawn(|| increment(&store, "n"));
            wait_until(|| !waiting_for_standby(&server).is_empty());
            for pid in waiting_for_standby(&server) {
                let end = ["pg_cancel_backend", "pg_terminate_backend"][round % 2];
                server.query(&format!("SELECT {end}({pid})"));
                // Whoever finds out what became of it waits for a standby in turn.
                wait_until(|| {
                    let waiting = waiting_for_standby(&server);
                    writer.is_finished() || waiting.iter().any(|other| *other != pid)
                });
            }
            assert!(!writer.is_finished(), "round {round}: acknowledged, and on no standby");
            server.set(&[("synchronous_standby_names", "")]);
            writer.join().unwrap().unwrap();
        });
    }
    assert_exact(&store, &["n"], (WARM + 1) * rounds());
}

#[test]
fn a_value_that_the_database_refuses_fails_alone() {
    let Some(server) = shared() else { return };
    let schema = schema();
    let store = connect(&server.url(&schema));
    increment(&store, "n").unwrap();
    let refusing = format!("ALTER TABLE {schema}.kv ADD CHECK (v <> 'refused'::bytea)");
    server.query(&refusing);
    let (members, refused, mut is_shared) = (40, 20, false);
    for round in 0..rounds() {
        let before = store.stats().unwrap();
        let submit = |member: usize| {
            let mut transaction = store.begin(&[]).unwrap();
            let value = if member == refused { "refused" } else { "taken" };
            transaction.put(format!("{round}-{member}").into(), value.into());
            transaction.submit().unwrap()
        };
        let submitted: Vec<_> = (0..members).map(submit).collect();
        for (member, submission) in submitted.into_iter().enumerate() {
            let outcome = submission.wait();
            let is_refused = matches!(outcome, Err(CommitError::Failed(_)));
            assert_eq!(is_refused, member == refused, "{round}-{member}: {outcome:?}");
            let found = store.get(format!("{round}-{member}").as_bytes()).unwrap();
            assert_eq!(found.is_none(), is_refused, "{round}-{member}");
        }
        let after = store.stats().unwrap();
        assert_eq!(after.commits - before.commits, members as u64 - 1);
        // Those who share its flight fly again, each alone.
        is_shared |= after.syncs - before.syncs > members as u64 / 2;
    }
    assert!(is_shared, "hardly anybody shared its flight");
}

#[test]
fn a_connection_that_goes_silent_while_it_is_made_is_given_up() {
    let Some(server) = shared() else { return };
    let proxy = Proxy::start(server.port());
    let url = Postgres::url_through(proxy.port(), &schema());
    // Nobody else can read a page while it waits.
    let store = connect(&format!("{url}&keyloom_snapshots=1"));
    increment(&store, "n").unwrap();
    // What the connections for pages prepare.
    proxy.cut_at("octet_length", Cut::Never, 0);
    let (done, answered) = channel();
    std::thread::spawn(move || done.send(logged(&store)));
    assert_eq!(answered.recv_timeout(Duration::from_mins(1)), Ok(1));
    assert_eq!(proxy.cuts(), 1);
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
