//! Several databases on one PostgreSQL, as several servers have them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyloom_engine::{Database, Options};

use crate::postgres::Postgres;

/// Databases that share one store.
#[derive(Debug)]
pub struct Cluster {
    url: String,
    /// None where a server is down.
    servers: Vec<Option<Database>>,
    turn: AtomicUsize,
}

/// The PostgreSQL that all tests of this process share; it ends with the process.
pub fn shared_postgres() -> Option<&'static Postgres> {
    static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
    SHARED.get_or_init(|| Postgres::start(false)).as_ref()
}

/// The URL of a new store; none if PostgreSQL is not installed.
pub fn new_store() -> Option<String> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let schema = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    Some(shared_postgres()?.url(&schema))
}

impl Cluster {
    /// So many servers on a new store; none if PostgreSQL is not installed.
    pub fn start(servers: usize, options: &Options) -> Option<Self> {
        let url = new_store()?;
        let servers = (0..servers).map(|_| Some(connect(&url, options))).collect();
        Some(Self { url, servers, turn: AtomicUsize::new(0) })
    }

    /// The URL of the store.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server of this number, which must be up.
    pub fn server(&self, number: usize) -> &Database {
        let count = self.servers.len();
        match self.servers.get(number % count).and_then(Option::as_ref) {
            Some(database) => database,
            None => panic!("server {number} is down"),
        }
    }

    /// One server after the other.
    pub fn next(&self) -> &Database {
        self.server(self.turn.fetch_add(1, Ordering::Relaxed))
    }

    /// All servers that are up.
    pub fn all(&self) -> impl Iterator<Item = &Database> {
        self.servers.iter().flatten()
    }

    /// Closes all servers and opens them again.
    pub fn reopen(&mut self, options: &Options) {
        self.servers.iter_mut().for_each(|server| *server = None);
        self.servers.iter_mut().for_each(|server| *server = Some(connect(&self.url, options)));
    }
}

fn connect(url: &str, options: &Options) -> Database {
    match Database::connect_with(url, options.clone()) {
        Ok(database) => database,
        Err(error) => panic!("a new database on PostgreSQL opens: {error}"),
    }
}
