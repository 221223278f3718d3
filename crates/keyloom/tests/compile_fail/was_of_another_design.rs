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

#[keyloom::design(name = OlderNotes, table(notes0, PK, SK))]
mod older {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "{user}", SK = "{number}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
    }
}

#[keyloom::design(name = Notes, table(notes2, PK, SK))]
mod new {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "U#{user}", SK = "N#{number}", was(older::Note))]
    pub struct Note {
        pub user: String,
        pub number: u32,
    }
}

fn both(database: &Database, note: &new::Note) -> keyloom::Result<()> {
    new::Notes::during::<old::OldNotes>(database)?.put(note)
}

fn main() {}
