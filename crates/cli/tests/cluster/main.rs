//! Servers in processes of their own that share a PostgreSQL.
#![cfg(all(unix, feature = "postgres"))]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at the first surprise")]
#![expect(clippy::print_stderr, reason = "a test says when it is skipped")]

#[path = "../../../testkit/src/postgres.rs"]
#[expect(dead_code, unreachable_pub, reason = "other tests use the rest")]
mod postgres;
mod server;

use postgres::Postgres;
use server::Server;

#[test]
fn a_server_keeps_its_data_in_the_database() {
    let Some(postgres) = Postgres::start(false) else { return };
    let url = postgres.url("served");
    let first = Server::start(&url);
    first.create_table("Orders");
    first.put("Orders", "a");
    drop(first);
    let second = Server::start(&url);
    assert_eq!(second.get("Orders", "a"), Some("a".into()));
}

#[test]
fn a_password_is_shown_to_nobody() {
    let Some(postgres) = Postgres::start(false) else { return };
    let secret = "s3cr3t-w0rd";
    let port = postgres.port();
    let url = format!("postgres://keyloom:{secret}@127.0.0.1:{port}/postgres?sslmode=disable");
    // Everybody can see arguments.
    let refused = Server::command().args(["--store", &url]).output().unwrap();
    let shown = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && shown.contains("KEYLOOM_STORE"), "{shown}");
    assert!(!shown.contains(secret), "{shown}");
    // In the environment it is read, and kept to itself.
    let served = Server::run(Server::command().env("KEYLOOM_STORE", &url));
    assert!(!served.said.contains(secret) && served.said.contains("127.0.0.1"), "{}", served.said);
    let arguments = std::fs::read(format!("/proc/{}/cmdline", served.process.id()));
    assert!(!String::from_utf8_lossy(&arguments.unwrap_or_default()).contains(secret));
    drop(served);
    let nobody = url.replace("/postgres?", "/nowhere?");
    let failed = Server::command().env("KEYLOOM_STORE", &nobody).output().unwrap();
    let shown = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(!failed.status.success() && !shown.contains(secret), "{shown}");
}
