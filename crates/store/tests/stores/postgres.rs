//! The one server that all tests of this binary share.

#[path = "../../../testkit/src/postgres.rs"]
#[expect(dead_code, unreachable_pub, reason = "a module of the test kit")]
mod server;

use std::sync::OnceLock;

pub(crate) use server::Postgres;

/// The server, started by the first test that asks; none if PostgreSQL is not installed. It ends with
/// this process.
pub(crate) fn shared() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::start(false)).as_ref()
}
