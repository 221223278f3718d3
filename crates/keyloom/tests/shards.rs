//! Shards over time: more of them later, and counters that are spread over them.
#![expect(clippy::unwrap_used, unreachable_pub, reason = "tests")]

use keyloom::prelude::*;
use keyloom::{Error, Table};

#[keyloom::design(table(events, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
mod before {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "EVENTS#{day}#{shard}",
        SK = "EVENT#{id}",
        GSI1PK = "KIND#{kind}#{shard}",
        GSI1SK = "EVENT#{id}",
        shard(shard, shards = 3, by(id))
    )]
    pub struct Event {
        pub day: String,
        pub id: u32,
        pub kind: String,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "VIEWS#{page}#{shard}", SK = "COUNT")]
    pub struct Views {
        pub page: String,
        #[field(type = "shard", shards = 6)]
        pub shard: u32,
        #[field(counter)]
        pub count: i64,
    }
}

#[keyloom::design(table(events, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
mod after {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "EVENTS#{day}#{shard}",
        SK = "EVENT#{id}",
        GSI1PK = "KIND#{kind}#{shard}",
        GSI1SK = "EVENT#{id}",
        shard(shard, shards = 4, earlier(3), by(id))
    )]
    pub struct Event {
        pub day: String,
        pub id: u32,
        pub kind: String,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "VIEWS#{page}#{shard}", SK = "COUNT")]
    pub struct Views {
        pub page: String,
        #[field(type = "shard", shards = 2, earlier(6))]
        pub shard: u32,
        #[field(counter)]
        pub count: i64,
    }

    #[derive(Access)]
    #[access(find = Event, order = "id")]
    pub struct EventsOf {
        pub day: String,
    }

    #[derive(Access)]
    #[access(find = Event)]
    pub struct EventOfKind {
        pub kind: String,
        pub id: u32,
    }

    #[derive(Access)]
    #[access(find = Views)]
    pub struct ShardsOf {
        pub page: String,
    }
}
use after::{Event, EventOfKind, EventsOf, ShardsOf, Views};

const DAY: &str = "2024-01-15";

/// Twenty events where three shards put them, seen by a program that has four.
fn grown() -> (Table<after::After>, Vec<Event>) {
    let database = Database::memory();
    let old = before::Before::open(&database).unwrap();
    let event = |id| before::Event { day: DAY.into(), id, kind: "click".into() };
    old.batch().put_all(&(0..20).map(event).collect::<Vec<_>>()).run().unwrap();
    let events = (0..20).map(|id| Event { day: DAY.into(), id, kind: "click".into() }).collect();
    (after::After::open(&database).unwrap(), events)
}

fn all(table: &Table<after::After>) -> Vec<Event> {
    table.query(EventsOf { day: DAY.into() }).collect().unwrap()
}

#[test]
fn reads_find_items_of_both_epochs() {
    let (table, events) = grown();
    for event in &events {
        assert_eq!(table.get(event.key()).unwrap().as_ref(), Some(event));
        let found = table.query(EventOfKind { kind: "click".into(), id: event.id });
        assert_eq!(found.collect().unwrap(), std::slice::from_ref(event));
    }
    let found = table.get_many(events.iter().map(Event::key)).unwrap();
    assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), events);
    let together = table.get_together(events.iter().map(Event::key)).unwrap();
    assert_eq!(together.into_iter().flatten().count(), events.len());
    assert_eq!(all(&table), events);
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let query = table.query(EventsOf { day: DAY.into() }).limit(3);
        let page = query.after(cursor.as_ref()).page().unwrap();
        seen.extend(page.items);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, events);
}

#[test]
fn writes_move_items_and_never_make_a_second_one() {
    let (table, events) = grown();
    for event in &events {
        let again = table.create(event).unwrap_err();
        assert!(matches!(again, Error::AlreadyExists { .. }), "{again}");
        match event.id % 5 {
            0 => table.put(event).unwrap(),
            1 => drop(table.update(event.key(), |event| event.kind = "tap".into()).unwrap()),
            2 => drop(table.apply(Event::patch(DAY, event.id).kind("tap")).unwrap()),
            3 => {
                table
                    .transaction()
                    .apply(Event::patch(DAY, event.id).kind("tap"))
                    .commit()
                    .unwrap();
            }
            _ => {
                let other = Event { day: "2024-01-16".into(), ..event.clone() };
                table.transaction().require(event.key()).put(&other).commit().unwrap();
            }
        }
    }
    let found = all(&table);
    assert_eq!(found.iter().map(|event| event.id).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    let batch = table.batch().put_all(&events).run().unwrap_err();
    assert!(batch.to_string().contains("Table::reshard"), "{batch}");
    assert_eq!(table.delete(Event::at(DAY, 7u32)).unwrap().unwrap().id, 7);
    table.transaction().delete(Event::at(DAY, 8u32)).commit().unwrap();
    assert_eq!(all(&table).len(), 18);
}

#[test]
fn resharding_moves_everything_once() {
    let (table, events) = grown();
    let moved = table.reshard::<Event>().unwrap();
    assert!(moved > 0 && moved < events.len(), "{moved}");
    assert_eq!(table.reshard::<Event>().unwrap(), 0);
    assert_eq!(all(&table), events);
    // Where it is now, the present number of shards alone finds it: three reads of earlier shards are the same.
    for event in &events {
        let found = table.query(EventOfKind { kind: "click".into(), id: event.id });
        assert_eq!(found.collect().unwrap(), std::slice::from_ref(event));
    }
}

#[test]
fn a_counter_is_the_sum_of_its_shards_in_every_epoch() {
    let database = Database::memory();
    let old = before::Before::open(&database).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    old.count(before::Views::tally("home"), 1).unwrap();
                }
            });
        }
    });
    old.count(before::Views::tally("home"), -3).unwrap();
    old.count(before::Views::tally("other"), 1).unwrap();
    assert_eq!(old.total(before::Views::tally("home")).unwrap(), 197);
    let new = after::After::open(&database).unwrap();
    new.count(Views::tally("home"), 3).unwrap();
    assert_eq!(new.total_consistent(Views::tally("home")).unwrap(), 200);
    assert_eq!(new.total(Views::tally("none")).unwrap(), 0);
    // The shards are items like others, with all of their fields.
    let shards = new.query(ShardsOf { page: "home".into() }).collect().unwrap();
    assert_eq!(shards.iter().map(|shard| shard.count).sum::<i64>(), 200);
    assert!(shards.len() > 1 && shards.iter().all(|shard| shard.page == "home"));
}
