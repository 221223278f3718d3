//! Tests with forged cursors.
#![expect(unreachable_pub, reason = "the design is private to the test")]

use super::stream::Position;
use super::{Cursor, Seal};
use crate::error::Error;
use crate::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Debug, PartialEq)]
    #[entity(PK = "USER#{user}", SK = "NOTE#{number}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
    }

    #[derive(Access)]
    #[access(find = Note, order = "number")]
    pub struct NotesOf {
        pub user: String,
    }
}
use notes::*;

#[test]
fn a_forged_cursor_cannot_leave_the_query() {
    let table = Notes::open(Database::memory()).unwrap();
    for user in ["ann", "bob"] {
        for number in 0..3 {
            table.put(&Note { user: user.into(), number }).unwrap();
        }
    }
    let query = || table.query(NotesOf { user: "ann".into() });
    let forged = |partition: &str, sort: &str| {
        let fingerprint = query().plan().unwrap().fingerprint();
        let key = crate::item! { "PK" => partition, "SK" => sort };
        let cursor = Cursor::new(fingerprint, &[Position::After(key)], &Seal::default());
        query().after(&cursor).collect()
    };
    // Inside, a forged cursor only skips what its owner may see anyway.
    assert_eq!(forged("USER#ann", "NOTE#0000000001").unwrap().len(), 1);
    for (partition, sort) in [("USER#bob", "NOTE#0000000001"), ("USER#ann", "SECRET#1")] {
        let refused = forged(partition, sort);
        assert!(matches!(refused, Err(Error::Cursor(_))), "{partition} {sort}: {refused:?}");
    }
}
