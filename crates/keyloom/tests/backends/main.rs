//! One suite over every backend: the embedded database in memory, on disk and in a PostgreSQL, Keyloom's own server over
//! HTTP, and implementations that are not ours. `scripts/setup-clients` installs PostgreSQL and one of them.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::struct_field_names,
    reason = "tests"
)]

mod absurd;
mod endpoint;
mod migrations;
mod model;
mod observed;
#[path = "../../../testkit/src/postgres.rs"]
#[expect(dead_code, unreachable_pub, reason = "a module of the test kit")]
mod postgres;
mod stated;
mod suite;

use endpoint::Independent;
use keyloom::prelude::*;
use keyloom_server::{Config, Server};
use model::Suite;

#[test]
fn embedded_in_memory() {
    suite::run(&Suite::open(Database::memory()).unwrap(), suite::Can::Everything);
}

#[test]
fn embedded_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    suite::run(
        &Suite::open(Database::open(directory.path()).unwrap()).unwrap(),
        suite::Can::Everything,
    );
}

#[test]
fn our_server_over_http() {
    let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
    let server = Server::start(config, Database::memory()).unwrap();
    run_at(server.url(), suite::Can::Everything);
    server.shutdown();
}

/// The typed client over a store that others share: embedded, and through one server for what another has made.
#[test]
fn in_a_postgres() {
    let Some(postgres) = postgres::Postgres::start(false) else { return };
    let embedded = Database::connect(&postgres.url("embedded")).unwrap();
    suite::run(&Suite::open(embedded).unwrap(), suite::Can::Everything);
    let url = postgres.url("served");
    let _other = Suite::open(Database::connect(&url).unwrap()).unwrap();
    let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
    let server = Server::start(config, Database::connect(&url).unwrap()).unwrap();
    let remote = Remote::new(Endpoint::url(server.url())).unwrap();
    suite::run(&Suite::open(remote).unwrap(), suite::Can::Everything);
    server.shutdown();
}

/// CI demands it; elsewhere a skip is said aloud.
#[test]
fn dynalite() {
    match Independent::Dynalite.start() {
        Ok(server) => run_at(server.url(), suite::Can::NoTransactions),
        Err(why) => {
            let demanded = std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_some();
            assert!(!demanded, "{why}, and KEYLOOM_REQUIRE_CLIENTS demands it");
            endpoint::say_skipped(&why);
        }
    }
}

/// Where somebody installed it: it knows transactions, which dynalite does not.
#[test]
fn moto() {
    match Independent::Moto.start() {
        Ok(server) => run_at(server.url(), suite::Can::NoTokens),
        Err(why) => endpoint::say_skipped(&why.replace("is not installed", "is not there")),
    }
}

fn run_at(url: &str, can: suite::Can) {
    let table = Suite::open(Remote::new(Endpoint::url(url)).unwrap()).unwrap();
    table.create_tables().unwrap();
    suite::run(&table, can);
}
