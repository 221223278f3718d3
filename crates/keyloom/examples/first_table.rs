//! How do I make my first table?
//!
//! `cargo run -p keyloom --example first_table`

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]

use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "USER#{user}", SK = "NOTE#{written_at}")]
    pub struct Note {
        pub user: String,
        pub written_at: Timestamp,
        pub text: String,
    }

    /// What a user wrote, the newest first.
    #[derive(Access)]
    #[access(find = Note, order = "written_at desc")]
    pub struct NotesOf {
        pub user: String,
    }
}
use notes::*;

fn main() -> keyloom::Result<()> {
    let notes = Notes::open(Database::memory())?;
    for (second, text) in [(1, "buy milk"), (2, "call Ann")] {
        let written_at = Timestamp::from_secs(1_700_000_000 + second);
        notes.create(&Note { user: "bob".into(), written_at, text: text.into() })?;
    }
    for note in notes.query(NotesOf { user: "bob".into() }).items()? {
        let note = note?;
        println!("{}: {}", note.written_at, note.text);
    }
    // What is sent, without sending it:
    println!("{}", notes.query(NotesOf { user: "bob".into() }).explain()?);
    Ok(())
}
