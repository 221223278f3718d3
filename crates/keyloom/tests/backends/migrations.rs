//! Migrations on implementations of DynamoDB that are not ours: they end as they should, or say what is lacking before a
//! table of the new design is made.

use keyloom::migrate::{Migration, Side};
use keyloom::prelude::*;
use keyloom::{Backend, Item, TableClient, item};

use crate::endpoint::{Independent, say_skipped};

const OLD: &str = r#"
[table.notes]
partition_key = "PK"
sort_key = "SK"
[entity.Note]
PK = "USER#{user}"
SK = "NOTE#{number}"
[entity.Note.fields]
user = "string"
number = { type = "u32", plain = true }
[access.of]
find = "Note"
where = "user = ?"
"#;

struct Place {
    backend: Backend,
    notes: TableClient,
    migration: Migration,
}

impl Place {
    /// A server with some notes, and their migration to padded numbers in another table.
    fn at(url: &str) -> Self {
        let backend = Backend::from(Remote::new(Endpoint::url(url)).unwrap());
        let notes = TableClient::new(backend.clone(), "notes").with_keys("PK", "SK");
        notes.create().unwrap();
        (0..30).for_each(|number| notes.put(note(number)).unwrap());
        let new = OLD.replace("table.notes", "table.notes2").replace("plain = true", "width = 6");
        let migration = Migration::from_toml(backend.clone(), OLD, &new).unwrap();
        let migration = migration.with_page_items(7).with_segments(2);
        Self { backend, notes, migration }
    }

    fn tables(&self) -> String {
        self.notes.call("ListTables", "{}").unwrap()
    }
}

fn note(number: u32) -> Item {
    item! {
        "PK" => "USER#ann", "SK" => format!("NOTE#{number}"), "user" => "ann", "number" => i64::from(number),
    }
}

/// A server that is not ours, if it is installed; it must be where the clients are demanded.
fn started(server: Independent) -> Option<crate::endpoint::Endpoint> {
    let why = match server.start() {
        Ok(server) => return Some(server),
        Err(why) => why,
    };
    let demanded = std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_some();
    assert!(!demanded, "{why}, and KEYLOOM_REQUIRE_CLIENTS demands it");
    say_skipped(&why);
    None
}

/// It has no transactions.
#[test]
fn dynalite_lacks_what_a_migration_needs() {
    let Some(server) = started(Independent::Dynalite) else { return };
    let place = Place::at(server.url());
    let refused = place.migration.runner(false).err().unwrap().to_string();
    assert!(refused.contains("does not know TransactWriteItems"), "{refused}");
    assert!(!place.tables().contains("notes2"), "{}", place.tables());
}

/// It has transactions and streams.
#[test]
fn moto_takes_a_migration_to_its_end() {
    let Some(server) = started(Independent::Moto) else { return };
    let place = Place::at(server.url());
    let mut runner = place.migration.runner(false).unwrap();
    runner.step().unwrap();
    // Changes between the pages of the copy, before and behind it.
    place.notes.delete(("USER#ann", "NOTE#3")).unwrap();
    place.notes.put(note(77)).unwrap();
    runner.catch_up().unwrap();
    place.notes.delete(("USER#ann", "NOTE#4")).unwrap();
    runner.catch_up().unwrap();
    assert_eq!(runner.verify().unwrap().problems, []);
    runner.switch().unwrap();
    assert_eq!(place.migration.status().unwrap().unwrap().side, Side::New);
    runner.contract().unwrap();
    let moved = TableClient::new(place.backend.clone(), "notes2").with_keys("PK", "SK");
    let moved = moved.scan().collect().unwrap();
    assert_eq!(moved.len(), 29);
    assert!(moved.iter().all(|note| !note.contains_key("keyloom_migration")));
}
