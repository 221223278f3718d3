//! Times to live that are times in Rust and seconds since 1970 in the table.
#![expect(clippy::unwrap_used, reason = "tests")]

use keyloom::TableClient;
use keyloom::prelude::*;

#[keyloom::design(table(sessions, PK, SK))]
mod sessions {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "USER#{user}", SK = "SESSION#{number}")]
    pub struct Session {
        pub user: String,
        pub number: u32,
        #[field(ttl)]
        pub expires: Timestamp,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "USER#{user}", SK = "NOTE#{number}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
        #[field(ttl)]
        #[serde(default)]
        pub expires: Option<Timestamp>,
    }
}
use sessions::*;

/// In the year 2100.
const LATER: i64 = 4_102_444_800;

fn tables() -> Table<Sessions> {
    Sessions::open(Database::memory()).unwrap()
}

/// The stored attribute, as DynamoDB sees it.
fn stored(table: &Table<Sessions>, sort: &str) -> Option<String> {
    let client = TableClient::new(table.backend().clone(), "sessions").with_keys("PK", "SK");
    let found = client.get(("USER#ann", sort)).unwrap().unwrap();
    found.get("expires").map(|value| format!("{value:?}"))
}

#[test]
fn a_time_is_stored_as_seconds_and_comes_back() {
    let table = tables();
    let time = Timestamp::from_secs(LATER);
    let session = Session { user: "ann".into(), number: 1, expires: time };
    table.put(&session).unwrap();
    assert_eq!(stored(&table, "SESSION#0000000001").unwrap(), format!("N(Number({LATER}))"));
    assert_eq!(table.get(session.key()).unwrap(), Some(session));
    let patched = table.apply(Session::patch("ann", 1).expires(Timestamp::from_secs(LATER + 5)));
    assert_eq!(patched.unwrap().expires, Timestamp::from_secs(LATER + 5));
    assert_eq!(stored(&table, "SESSION#0000000001").unwrap(), format!("N(Number({}))", LATER + 5));
}

#[test]
fn it_may_be_absent() {
    let table = tables();
    let mut note = Note { user: "ann".into(), number: 1, expires: None };
    table.put(&note).unwrap();
    assert_eq!(stored(&table, "NOTE#0000000001"), None);
    assert_eq!(table.get(note.key()).unwrap().as_ref(), Some(&note));
    note.expires = Some(Timestamp::from_millis(LATER * 1000 + 999));
    table.put(&note).unwrap();
    // Whole seconds, rounded down.
    let read = table.get(note.key()).unwrap().unwrap();
    assert_eq!(read.expires, Some(Timestamp::from_secs(LATER)));
    let patched = table.apply(Note::patch("ann", 1).expires(None)).unwrap();
    assert_eq!(patched.expires, None);
    assert_eq!(stored(&table, "NOTE#0000000001"), None);
}

#[test]
fn what_has_expired_is_not_shown() {
    let table = tables();
    table
        .put(&Session { user: "ann".into(), number: 1, expires: Timestamp::from_secs(1) })
        .unwrap();
    assert_eq!(table.get(Session::at("ann", 1)).unwrap(), None);
    assert!(table.with_expired().get(Session::at("ann", 1)).unwrap().is_some());
}
