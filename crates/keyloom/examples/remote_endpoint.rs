//! How does the same code run on DynamoDB? Another backend is one line.
//!
//! `cargo run -p keyloom --example remote_endpoint` starts Keyloom's own server and talks to it over HTTP. With
//! `-- aws`, it uses the region and credentials of the environment, and makes a table there.

#![expect(clippy::print_stdout, clippy::wildcard_imports, reason = "an example")]

use keyloom::prelude::*;
use keyloom_server::{Config, Server};

#[keyloom::design(table(keyloom_example, PK, SK))]
mod example {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "GREETING#{language}", SK = "GREETING")]
    pub struct Greeting {
        pub language: String,
        pub text: String,
    }
}
use example::*;

fn greet(table: &Table<Example>) -> keyloom::Result<()> {
    table.put(&Greeting { language: "de".into(), text: "Guten Tag".into() })?;
    println!("{:?}", table.get(Greeting::at("de"))?);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    greet(&Example::open(Database::memory())?)?;
    if std::env::args().nth(1).as_deref() == Some("aws") {
        let table = Example::open(Remote::new(Endpoint::aws())?)?;
        table.create_tables()?;
        greet(&table)?;
        return Ok(());
    }
    let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
    let server = Server::start(config, Database::memory())?;
    let table = Example::open(Remote::new(Endpoint::url(server.url()))?)?;
    table.create_tables()?;
    greet(&table)?;
    server.shutdown();
    Ok(())
}
