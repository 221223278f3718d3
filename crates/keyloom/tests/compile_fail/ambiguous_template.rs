use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "{user}{group}", SK = "NOTE")]
    pub struct Note {
        pub user: String,
        pub group: String,
    }
}

fn main() {}
