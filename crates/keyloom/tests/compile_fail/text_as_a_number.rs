use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "NOTE")]
    pub struct Note {
        pub user: String,
        #[field(type = "u32")]
        pub stars: String,
    }
}

fn main() {}
