//! Notes of users: the README's example as a program of its own.

use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug)]
    #[entity(PK = "USER#{user}", SK = "NOTE#{number}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
        pub text: String,
    }

    #[derive(Access)]
    #[access(find = Note, order = "number desc", limit = 10)]
    pub struct LatestNotes {
        pub user: String,
    }
}
use notes::*;

fn main() -> keyloom::Result<()> {
    // In memory; `Database::open("data")?` is durable; `Remote::new(Endpoint::aws())?` (feature `remote`) is DynamoDB itself.
    let notes = Notes::open(Database::memory())?;
    notes.create(&Note { user: "ann".into(), number: 1, text: "buy milk".into() })?;
    notes.update(Note::at("ann", 1), |note| note.text.push_str(" and bread"))?;
    for note in notes.query(LatestNotes { user: "ann".into() }).collect()? {
        println!("{note:?}");
    }
    Ok(())
}
