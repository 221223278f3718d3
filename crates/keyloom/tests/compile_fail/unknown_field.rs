use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{usr}", SK = "NOTE#{number}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
    }
}

fn main() {}
