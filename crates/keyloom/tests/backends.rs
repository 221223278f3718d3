//! One suite over every backend: the embedded database in memory and on disk, Keyloom's own server over HTTP, and an
//! implementation that is not ours, if one is installed (`moto_server` or `dynalite` on the PATH).
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::struct_field_names,
    reason = "tests"
)]

#[path = "backends/endpoint.rs"]
mod endpoint;
#[path = "backends/model.rs"]
mod model;
#[path = "backends/suite.rs"]
mod suite;

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
    let table = Suite::open(Remote::new(Endpoint::url(server.url())).unwrap()).unwrap();
    table.create_tables().unwrap();
    suite::run(&table, suite::Can::Everything);
    server.shutdown();
}

#[test]
fn an_independent_implementation() {
    let mut ran = false;
    for (program, can) in
        [("moto_server", suite::Can::Everything), ("dynalite", suite::Can::NoTransactions)]
    {
        let Some(server) = endpoint::start(program) else {
            eprintln!("SKIPPED: `{program}` is not installed or does not start");
            continue;
        };
        let table = Suite::open(Remote::new(Endpoint::url(server.url())).unwrap()).unwrap();
        table.create_tables().unwrap();
        suite::run(&table, can);
        ran = true;
    }
    if !ran {
        eprintln!("SKIPPED: no independent implementation was tested");
    }
}
