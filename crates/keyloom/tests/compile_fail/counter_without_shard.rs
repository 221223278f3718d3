use keyloom::prelude::*;

#[keyloom::design(table(counters, PK, SK))]
mod counters {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "VIEWS#{page}", SK = "COUNT")]
    pub struct Views {
        pub page: String,
        #[field(counter)]
        pub count: u64,
    }
}

fn main() {}
