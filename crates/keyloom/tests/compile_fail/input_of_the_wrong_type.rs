use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "NOTE#{number}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
    }

    #[derive(Access)]
    #[access(find = Note)]
    pub struct NotesOfUser {
        pub user: u32,
    }

    #[derive(Access)]
    #[access(find = Note, where = "user = ? and number > ?")]
    pub struct NotesAfter {
        pub user: String,
        pub after: u32,
    }
}

fn main() {}
