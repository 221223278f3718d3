//! How do I put a database behind a DynamoDB endpoint?
//!
//! `cargo run -p keyloom-server --example serve_a_database -- [DIRECTORY]`: in memory, or durable
//! in that directory. Ctrl-C stops it after the open requests are answered.

#![expect(clippy::print_stdout, reason = "an example")]

use keyloom_engine::Database;
use keyloom_server::{Config, Dispatch, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (database, dispatch) = match std::env::args().nth(1) {
        Some(directory) => (Database::open(directory)?, Dispatch::disk()),
        None => (Database::memory(), Dispatch::memory()),
    };
    let server = Server::bind(Config { dispatch, ..Config::default() }, database)?;
    println!("listening on {}", server.url());
    server.run_until_terminated()?;
    Ok(())
}
