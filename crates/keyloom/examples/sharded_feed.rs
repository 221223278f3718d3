//! How do I write faster than one partition takes? Shards: written by a hash, read as one in order.
//!
//! `cargo run -p keyloom --example sharded_feed`

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]

use keyloom::prelude::*;

#[keyloom::design(table(events, PK, SK))]
mod events {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(
        PK = "EVENTS#{day}#{shard}",
        SK = "EVENT#{number}",
        shard(shard, shards = 8, by(number))
    )]
    pub struct Event {
        #[field(type = "date")]
        pub day: String,
        pub number: u64,
    }

    #[derive(Access)]
    #[access(find = Event, order = "number")]
    pub struct EventsOf {
        pub day: String,
    }
}
use events::*;

fn main() -> keyloom::Result<()> {
    let events = Events::open(Database::memory())?;
    let day = || "2024-01-15".to_owned();
    let all: Vec<Event> = (0..1000).map(|number| Event { day: day(), number }).collect();
    events.batch().put_all(&all).run()?;
    // The shard is calculated, so that a single event is still one read.
    println!("{:?}", events.get(Event::at(day(), 500u64))?);
    let mut cursor = None;
    for _ in 0..3 {
        let page = events.query(EventsOf { day: day() }).limit(4).after(cursor.as_ref()).page()?;
        println!("{:?}", page.items.iter().map(|event| event.number).collect::<Vec<_>>());
        cursor = page.cursor;
    }
    println!("{}", events.query(EventsOf { day: day() }).explain()?);
    Ok(())
}
