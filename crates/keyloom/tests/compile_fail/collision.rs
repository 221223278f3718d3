use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "{note}")]
    pub struct Note {
        pub user: String,
        pub note: String,
    }

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "PROFILE")]
    pub struct Profile {
        pub user: String,
    }
}

fn main() {}
