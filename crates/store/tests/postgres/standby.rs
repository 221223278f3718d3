//! A standby that takes over, and a pooler in between.

use std::time::Duration;

use keyloom_store::Store;

use crate::faults::write_meanwhile;
use crate::server::{Cut, Pooler, Postgres, Proxy};
use crate::{assert_exact, connect, increment, rounds, shared};

#[test]
fn a_synchronous_standby_that_is_promoted_has_what_was_acknowledged() {
    let Some(first) = Postgres::start(false) else { return };
    let proxy = Proxy::start(first.port());
    let store = connect(&Postgres::url_through(proxy.port(), "s"));
    let keys = ["a", "b", "c", "d"];
    let primary = std::cell::RefCell::new(first);
    let acknowledged = write_meanwhile(&store, keys, || {
        let standby = primary.borrow().with_standby();
        std::thread::sleep(Duration::from_millis(100));
        primary.borrow().stop_immediately();
        // Not yet the primary: it refuses writes for a while.
        proxy.redirect(standby.port());
        std::thread::sleep(Duration::from_millis(50));
        standby.promote();
        drop(primary.replace(standby));
    });
    assert!(acknowledged > rounds(), "hardly anything was written");
    assert_exact(&store, &keys, acknowledged);
    assert!(store.health().is_ready());
}

#[test]
fn a_pooler_that_lends_connections_for_a_transaction_is_as_good_as_none() {
    let Some(server) = shared() else { return };
    let Some(pooler) = Pooler::start(server) else { return };
    let proxy = Proxy::start(pooler.port());
    let url = Postgres::url_through(proxy.port(), "pooled");
    let stores = [connect(&url), connect(&url)];
    let mut acknowledged = 0;
    for round in 0..rounds() {
        if round % 2 == 0 {
            proxy.cut_at(
                crate::faults::COMMIT,
                if round % 4 == 0 { Cut::After } else { Cut::Before },
                0,
            );
        }
        std::thread::scope(|scope| {
            for store in &stores {
                scope.spawn(|| (0..5).for_each(|_| increment(store, "n").unwrap()));
            }
        });
        acknowledged += 2 * 5;
        let epoch = stores[round % 2].exclusive().unwrap().commit().unwrap();
        stores[(round + 1) % 2].get(b"n").unwrap();
        assert_eq!(stores[(round + 1) % 2].epoch(), epoch);
    }
    assert_exact(&stores[0], &["n"], acknowledged);
    assert_exact(&stores[1], &["n"], acknowledged);
}
