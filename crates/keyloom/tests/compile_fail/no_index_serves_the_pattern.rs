use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "NOTE#{number}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
        pub title: String,
    }

    #[derive(Access)]
    #[access(find = Note)]
    pub struct NotesByTitle {
        pub title: String,
    }
}

fn main() {}
