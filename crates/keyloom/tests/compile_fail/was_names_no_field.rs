use keyloom::prelude::*;

#[keyloom::design(name = OldNotes, table(notes, PK, SK))]
mod old {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "NOTE#{number}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
        pub title: String,
    }
}

#[keyloom::design(name = Notes, table(notes2, PK, SK))]
mod new {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "U#{user}", SK = "N#{number}", was(old::Note))]
    pub struct Note {
        pub user: String,
        pub number: u32,
        #[field(was = "titel")]
        pub name: String,
    }
}

fn main() {}
