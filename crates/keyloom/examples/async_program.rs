//! How do I use it in an async program? `run` does the calls on tokio's threads for blocking work (feature `tokio`).
//!
//! `cargo run -p keyloom --example async_program`

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]

use keyloom::prelude::*;
use keyloom_server::{Config, Server};

#[keyloom::design(table(visits, PK, SK))]
mod visits {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "USER#{user}", SK = "VISIT#{number}")]
    pub struct Visit {
        pub user: String,
        pub number: u32,
    }

    #[derive(Access)]
    #[access(find = Visit, order = "number")]
    pub struct VisitsOf {
        pub user: String,
    }
}
use visits::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
    let server = Server::start(config, Database::memory())?;
    let visits = Visits::open(Remote::new(Endpoint::url(server.url()))?)?;
    visits.run(Table::create_tables).await?;

    // A table is cheap to clone, so every task has its own.
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let visits = visits.clone();
        tasks.spawn(async move {
            let visit = Visit { user: "ann".into(), number };
            visits.run(move |visits| visits.put(&visit)).await
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let ann = || VisitsOf { user: "ann".into() };
    let found = visits.run(move |visits| visits.query(ann()).collect()).await?;
    println!("{} visits", found.len());
    tokio::task::spawn_blocking(move || server.shutdown()).await?;
    Ok(())
}
