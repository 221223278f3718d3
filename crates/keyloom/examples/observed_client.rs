//! What does my program do to its tables? A client counts what it asks of an endpoint, finds the hot keys, and leaves
//! a recording for `keyloom doctor --file`.
//!
//! `cargo run -p keyloom --example observed_client` starts Keyloom's own server and talks to it over HTTP; AWS answers
//! the same way. Needs the feature `observe`.

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]

use std::sync::Arc;

use keyloom::designs::cost::Prices;
use keyloom::observe::{Judge, RecommendationEngine, StatsCollector, StatsOptions};
use keyloom::prelude::*;
use keyloom_server::{Config, Server};

#[keyloom::design(table(shop, PK, SK))]
mod shop {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug)]
    #[entity(PK = "TENANT#{tenant}", SK = "ORDER#{number}")]
    pub struct Order {
        pub tenant: String,
        pub number: u32,
        pub open: bool,
    }

    #[derive(Access)]
    #[access(find = Order, order = "number desc", limit = 10)]
    pub struct NewestOrders {
        pub tenant: String,
    }
}
use shop::*;

/// Nine orders of ten are those of one tenant, and each is read before it is written.
fn work(shop: &Table<Shop>) -> keyloom::Result<()> {
    for number in 0..500_u32 {
        let tenant = if number % 10 == 0 { format!("small-{number}") } else { "large".into() };
        let order = Order { tenant: tenant.clone(), number, open: true };
        if shop.get(order.key())?.is_none() {
            shop.put(&order)?;
        }
        if number % 50 == 0 {
            shop.query(NewestOrders { tenant }).collect()?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
    let server = Server::start(config, Database::memory())?;

    let statistics = Arc::new(StatsCollector::new(StatsOptions::default()));
    let endpoint = Endpoint::url(server.url()).observer(statistics.clone());
    let shop = Shop::open(Remote::new(endpoint)?)?;
    let design = shop.design()?;
    statistics.load_designs(std::slice::from_ref(design));
    shop.create_tables()?;
    work(&shop)?;

    let report = shop.backend().report(&statistics);
    for place in &report.places {
        println!("{}: {} read units, {} write units", place.name(), place.reads, place.writes);
        for key in place.keys.iter().take(3) {
            println!("  {} has {:.0} % of the load", key.key, 100.0 * key.share);
        }
    }
    let prices = Prices::default();
    for finding in RecommendationEngine::new(Judge::new(&report, Some(design), &prices)).diagnose()
    {
        println!("{}: {}", finding.severity.as_str(), finding.title);
    }
    let recording = std::env::temp_dir().join("keyloom-example.json");
    std::fs::write(&recording, report.to_json())?;
    println!("keyloom doctor --file {}", recording.display());
    server.shutdown();
    Ok(())
}
