//! Shards over time: more of them later, and counters that are spread over them.
#![expect(clippy::unwrap_used, unreachable_pub, reason = "tests")]

use keyloom::prelude::*;
use keyloom::{AttributeValue, Error, Number, Table, TableClient, item};

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

    /// Somebody looked at an event.
    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "LOOKS#{who}", SK = "AT#{day}#{id}")]
    pub struct Look {
        pub who: String,
        #[field(key_only)]
        pub day: String,
        pub id: u32,
    }

    #[derive(Access)]
    #[access(find = Event, via = "Look")]
    pub struct LookedAt {
        pub who: String,
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
use after::{Event, EventOfKind, EventsOf, Look, LookedAt, ShardsOf, Views};

/// The design once everything has moved.
#[keyloom::design(table(events, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
mod settled {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "EVENTS#{day}#{shard}",
        SK = "EVENT#{id}",
        GSI1PK = "KIND#{kind}#{shard}",
        GSI1SK = "EVENT#{id}",
        shard(shard, shards = 4, by(id))
    )]
    pub struct Event {
        pub day: String,
        pub id: u32,
        pub kind: String,
    }

    #[derive(Access)]
    #[access(find = Event, order = "id")]
    pub struct EventsOf {
        pub day: String,
    }
}

/// Counters in an index, with names that Rust does not have.
#[keyloom::design(table(hits, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
mod pages {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "HITS#{type}#{page-name}#{shard}",
        SK = "COUNT",
        GSI1PK = "ALLHITS",
        GSI1SK = "HITS#{type}#{page-name}#{shard}"
    )]
    pub struct Hits {
        pub r#type: String,
        #[serde(rename = "page-name")]
        pub page: String,
        #[field(type = "shard", shards = 3)]
        pub shard: u32,
        #[field(counter)]
        pub count: i64,
    }

    #[derive(Access)]
    #[access(find = Hits, index = "GSI1")]
    pub struct AllHits;
}
use pages::{AllHits, Hits};

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
    // A program that knows nothing of earlier numbers finds everything.
    let settled = settled::Settled::open(table.backend().clone()).unwrap();
    for event in &events {
        let found = table.query(EventOfKind { kind: "click".into(), id: event.id });
        assert_eq!(found.collect().unwrap(), std::slice::from_ref(event));
        assert!(settled.get(settled::Event::at(DAY, event.id)).unwrap().is_some(), "{event:?}");
    }
    let found = settled.query(settled::EventsOf { day: DAY.into() }).collect().unwrap();
    assert_eq!(found.len(), events.len());
}

#[test]
fn an_item_is_found_while_it_moves() {
    // Reads and moves must meet, which they do in one round of three.
    for _ in 0..12 {
        let (table, events) = grown();
        std::thread::scope(|scope| {
            let moving = scope.spawn(|| table.reshard::<Event>().unwrap());
            loop {
                let done = moving.is_finished();
                for event in &events {
                    let found = table.get_consistent(event.key()).unwrap();
                    assert_eq!(found.as_ref(), Some(event));
                }
                if done {
                    break;
                }
            }
        });
    }
}

/// A database that moves all items while it answers a batch, which so finds only what stays in its place: the new place
/// of an item is read before the move, the old one after.
struct Torn {
    database: Database,
    is_torn: std::sync::atomic::AtomicBool,
}

impl keyloom_server::Backend for Torn {
    fn call(&self, target: &str, body: &[u8]) -> keyloom_engine::Reply {
        let before = self.database.call(target, body);
        let is_batch = target.ends_with("BatchGetItem");
        if !is_batch || self.is_torn.swap(true, std::sync::atomic::Ordering::Relaxed) {
            return before;
        }
        after::After::open(&self.database).unwrap().reshard::<Event>().unwrap();
        let later = found(&self.database.call(target, body).body);
        let stayed = found(&before.body).into_iter().filter(|item| later.contains(item));
        let mut body = br#"{"UnprocessedKeys":{},"Responses":{"events":["#.to_vec();
        for (position, item) in stayed.enumerate() {
            body.extend_from_slice(if position > 0 { b"," } else { b"" });
            keyloom_core::json::write_item(&item, &mut body);
        }
        body.extend_from_slice(b"]}}");
        keyloom_engine::Reply { status: 200, body }
    }
}

/// The items of a batch's answer.
fn found(body: &[u8]) -> Vec<keyloom::Item> {
    use keyloom_core::json::{Json, item_from, parse};
    let Ok(Json::Object(answer)) = parse(body) else { panic!() };
    let Some(Json::Object(tables)) = answer.get("Responses") else { panic!() };
    let Some(Json::Array(items)) = tables.get("events") else { panic!() };
    items.iter().map(|item| item_from(item).unwrap()).collect()
}

#[test]
fn batches_find_items_that_move_between_their_reads() {
    let torn = |read: &dyn Fn(&Table<after::After>) -> Vec<Event>| {
        let (local, events) = grown();
        for event in &events {
            let (day, id) = (event.day.clone(), event.id);
            local.put(&Look { who: "ann".into(), day, id }).unwrap();
        }
        let keyloom::Backend::Embedded(database) = local.backend().clone() else { panic!() };
        let address = ([127, 0, 0, 1], 0).into();
        let config = keyloom_server::Config { address, ..keyloom_server::Config::default() };
        let backend = Torn { database, is_torn: false.into() };
        let server = keyloom_server::Server::start(config, backend).unwrap();
        let remote = Remote::new(Endpoint::url(server.url())).unwrap();
        let mut found = read(&after::After::open(remote).unwrap());
        server.shutdown();
        found.sort_by_key(|event| event.id);
        assert_eq!(found, events);
    };
    let keys = || (0..20_u32).map(|id| Event::at(DAY, id));
    torn(&|table| table.get_many(keys()).unwrap().into_iter().flatten().collect());
    torn(&|table| table.query(LookedAt { who: "ann".into() }).collect().unwrap());
}

#[test]
fn an_item_in_two_places_is_named() {
    let (table, events) = grown();
    // A program that knows nothing of earlier numbers makes each a second time.
    let settled = settled::Settled::open(table.backend().clone()).unwrap();
    for id in 0..20 {
        settled.put(&settled::Event { day: DAY.into(), id, kind: "tap".into() }).unwrap();
    }
    let stored = table.query(EventsOf { day: DAY.into() }).collect().unwrap().len();
    assert!(stored > events.len());
    let error = table.reshard::<Event>().unwrap_err().to_string();
    assert!(error.contains(&format!("{} `Event` are stored twice", stored - 20)), "{error}");
    assert!(error.contains("EVENTS#2024-01-15#"), "{error}");
    assert_eq!(table.query(EventsOf { day: DAY.into() }).collect().unwrap().len(), stored);
}

#[test]
fn links_lead_to_items_of_both_epochs() {
    let (table, events) = grown();
    for event in &events {
        table.put(&Look { who: "ann".into(), day: event.day.clone(), id: event.id }).unwrap();
    }
    let seen = || {
        let mut seen = table.query(LookedAt { who: "ann".into() }).collect().unwrap();
        seen.sort_by_key(|event| event.id);
        seen
    };
    assert_eq!(seen(), events);
    table.reshard::<Event>().unwrap();
    assert_eq!(seen(), events);
}

#[test]
fn shards_of_a_counter_are_in_its_indexes() {
    let table = pages::Pages::open(Database::memory()).unwrap();
    for _ in 0..20 {
        table.count(Hits::tally("page", "home"), 2).unwrap();
    }
    let shards = table.query(AllHits).collect().unwrap();
    assert_eq!(shards.iter().map(|shard| shard.count).sum::<i64>(), 40);
    assert!(shards.iter().all(|shard| shard.r#type == "page" && shard.page == "home"));
}

#[test]
fn a_total_that_cannot_be_told_is_an_error() {
    let (table, _) = grown();
    table.put(&Views { page: "big".into(), shard: 0, count: i64::MAX }).unwrap();
    table.put(&Views { page: "big".into(), shard: 1, count: 1 }).unwrap();
    let error = table.total(Views::tally("big")).unwrap_err().to_string();
    assert!(error.contains("`Views`") && error.contains("`count`"), "{error}");
    let raw = TableClient::new(table.backend().clone(), "events").with_keys("PK", "SK");
    for wrong in [AttributeValue::from("many"), AttributeValue::N(Number::parse("0.5").unwrap())] {
        raw.put(item! { "PK" => "VIEWS#odd#0", "SK" => "COUNT", "count" => wrong }).unwrap();
        let error = table.total(Views::tally("odd")).unwrap_err().to_string();
        assert!(error.contains("`count`"), "{error}");
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
