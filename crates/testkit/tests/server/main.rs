//! The database behind its server: real clients, and clients that break the rules.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]
#![expect(clippy::print_stdout, reason = "a test tells how much it has done")]

mod browser;
mod clients;
mod hostile;
mod policies;
mod transfers;

use keyloom_server::{Config, Credentials, Dispatch, RunningServer, Server};
use keyloom_testkit::lockstep::{Place, TestDatabase};

const ACCESS_KEY: &str = "AKIDEXAMPLE";
const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

/// A database and its server on any free port of this machine.
struct Served {
    server: RunningServer,
    test: TestDatabase,
}

impl Served {
    fn at(place: Place, credentials: Vec<Credentials>) -> Self {
        let test = TestDatabase::at(place).unwrap();
        let dispatch = match place {
            Place::Memory => Dispatch::memory(),
            Place::Disk => Dispatch::disk(),
            Place::Servers(_) => Dispatch::remote_store(),
        };
        let config = Config {
            address: ([127, 0, 0, 1], 0).into(),
            credentials,
            dispatch,
            ..Config::default()
        };
        let server = Server::start(config, test.database.clone()).unwrap();
        Self { server, test }
    }

    /// Accepts requests of anyone.
    fn open(place: Place) -> Self {
        Self::at(place, Vec::new())
    }

    /// Verifies signatures.
    fn closed(place: Place) -> Self {
        Self::at(place, vec![Credentials::new(ACCESS_KEY, SECRET_KEY)])
    }
}
