use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "NOTE#{number}", SK = "NOTE", GSI1PK = "USER#{user}", GSI1SK = "{status}#{priority}#{number}")]
    pub struct Note {
        pub number: u32,
        pub user: String,
        pub status: String,
        pub priority: u8,
    }

    #[derive(Access)]
    #[access(find = Note)]
    pub struct NotesOfUser {
        pub user: String,
    }
}

fn main() {
    let _ = notes::Note::patch(1u32).status_and_priority("open", 1u8);
    let _ = notes::Note::patch(1u32).status("open");
}
