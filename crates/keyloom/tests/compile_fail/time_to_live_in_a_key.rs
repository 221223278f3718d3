use keyloom::prelude::*;

#[keyloom::design(table(app, PK, SK))]
mod app {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "SESSION#{expires}")]
    pub struct Session {
        pub user: String,
        #[field(ttl)]
        pub expires: Timestamp,
    }
}

fn main() {}
