use keyloom::prelude::*;

#[keyloom::design(name = OldNotes, table(notes, PK, SK))]
mod old {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "NOTE#{number}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
    }

    #[derive(Access)]
    #[access(find = Note)]
    pub struct NotesOf {
        pub user: String,
    }
}

#[keyloom::design(name = Notes, table(notes2, PK, SK))]
mod new {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "U#{user}", SK = "N#{number}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
    }

    #[derive(Access)]
    #[access(find = Note)]
    pub struct NotesOf {
        pub user: String,
    }
}

fn both(database: &Database, note: &new::Note) -> keyloom::Result<()> {
    let notes = new::Notes::during::<old::OldNotes>(database)?;
    notes.put(note)?;
    notes.query(new::NotesOf { user: "ann".into() });
    Ok(())
}

fn main() {}
