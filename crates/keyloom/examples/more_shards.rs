//! How do I change the number of shards of a table that is in use? `earlier` keeps old places readable until all items
//! have moved.
//!
//! `cargo run -p keyloom --example more_shards`

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]

use keyloom::prelude::*;

/// The program of last year.
#[keyloom::design(table(events, PK, SK))]
mod last_year {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "EVENTS#{day}#{shard}", SK = "EVENT#{id}", shard(shard, shards = 2, by(id)))]
    pub struct Event {
        #[field(type = "date")]
        pub day: String,
        pub id: u64,
    }
}

/// The program of today: twice the shards, so that half of the items move.
#[keyloom::design(table(events, PK, SK))]
mod today {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(
        PK = "EVENTS#{day}#{shard}",
        SK = "EVENT#{id}",
        shard(shard, shards = 4, earlier(2), by(id))
    )]
    pub struct Event {
        #[field(type = "date")]
        pub day: String,
        pub id: u64,
    }

    #[derive(Access)]
    #[access(find = Event, order = "id")]
    pub struct EventsOf {
        pub day: String,
    }
}
use today::{Event, EventsOf};

fn main() -> keyloom::Result<()> {
    let database = Database::memory();
    let day = || "2024-01-15".to_owned();
    let old = last_year::LastYear::open(&database)?;
    let events = (0..100).map(|id| last_year::Event { day: day(), id });
    old.batch().put_all(&events.collect::<Vec<_>>()).run()?;

    let table = today::Today::open(&database)?;
    let count = || Ok::<_, keyloom::Error>(table.query(EventsOf { day: day() }).collect()?.len());
    println!("{} events, and one of them: {:?}", count()?, table.get(Event::at(day(), 42u64))?);
    table.put(&Event { day: day(), id: 100 })?;
    println!("{} events moved", table.reshard::<Event>()?);
    println!("{} events; `earlier(2)` can go", count()?);
    Ok(())
}
