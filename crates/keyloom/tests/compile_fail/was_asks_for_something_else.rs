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
    #[entity(PK = "U#{owner}", SK = "N#{number}", was(old::Note))]
    pub struct Note {
        #[field(was = "user")]
        pub owner: String,
        pub number: u32,
    }

    #[derive(Access)]
    #[access(find = Note, was(old::NotesOf))]
    pub struct NotesOf {
        pub owner: String,
    }
}

fn main() {}
