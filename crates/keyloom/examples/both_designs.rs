//! How does a program go on while its keys change? It is written for the new design and says what everything was; before,
//! during and after the migration it reads and writes right.
//!
//! `cargo run -p keyloom --example both_designs`

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]

use keyloom::migrate::{During, Migration, Side};
use keyloom::prelude::*;

/// The design in use: the date of a note is not in its key.
#[keyloom::design(name = OldNotes, table(notes, PK, SK))]
mod old {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "USER#{user}", SK = "NOTE#{id}")]
    pub struct Note {
        pub user: String,
        pub id: String,
        pub title: String,
        pub day: String,
    }

    #[derive(Access)]
    #[access(find = Note, name = "notes of a user")]
    pub struct NotesOf {
        pub user: String,
    }
}

/// The design to come: notes by day, in a table of their own, and `title` is called `name`.
#[keyloom::design(name = Notes, table(notes_by_day, PK, SK))]
mod new {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "U#{user}", SK = "{day}#{id}", was(old::Note))]
    pub struct Note {
        pub user: String,
        pub id: String,
        #[field(was = "title")]
        pub name: String,
        #[field(type = "date")]
        pub day: String,
    }

    #[derive(Access)]
    #[access(find = Note, name = "notes of a user", was(old::NotesOf))]
    pub struct NotesOf {
        pub user: String,
    }

    /// Only the new keys can answer it: there is nothing that it was.
    #[derive(Access)]
    #[access(find = Note, where = "user = ?", order = "day desc", limit = 1)]
    pub struct LatestNote {
        pub user: String,
    }
}
use new::*;
use old::OldNotes;

/// The program, the same in every phase.
fn work(notes: &During<OldNotes, Notes>, id: &str, day: &str) -> keyloom::Result<()> {
    let note =
        Note { user: "ann".into(), id: id.into(), name: format!("note {id}"), day: day.into() };
    notes.create(&note)?;
    notes.update(note.key(), |note| note.name.push('!'))?;
    let all = notes.query(NotesOf { user: "ann".into() }).consistent().collect()?;
    println!("{:?} form: {} notes", notes.side()?, all.len());
    Ok(())
}

fn main() -> keyloom::Result<()> {
    let database = Database::memory();
    let notes = Notes::during::<OldNotes>(&database)?;
    work(&notes, "a", "2024-03-01")?;

    // Elsewhere: `keyloom migrate run`, or this.
    let migration = Migration::between::<OldNotes, Notes>(&database)?;
    let mut runner = migration.runner(false)?;
    runner.catch_up()?;
    work(&notes, "b", "2024-02-01")?;

    runner.switch()?;
    assert_eq!(notes.side()?, Side::New);
    work(&notes, "c", "2024-01-01")?;
    let latest = notes.new_tables().query(LatestNote { user: "ann".into() }).first()?;
    println!("the latest is of {}", latest.map_or_else(String::new, |note| note.day));

    runner.contract()?;
    work(&notes, "d", "2024-04-01")
}
