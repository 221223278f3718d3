use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "NOTE#{number:ulid}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
    }

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "PRICE#{price}", SK = "PRICE")]
    pub struct Price {
        pub price: f64,
    }
}

fn main() {}
