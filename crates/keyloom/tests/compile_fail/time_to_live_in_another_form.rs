use keyloom::prelude::*;

mod millis {
    use keyloom::prelude::Timestamp;
    use keyloom::serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(_: &Timestamp, _: S) -> Result<S::Ok, S::Error> {
        unreachable!()
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(_: D) -> Result<Timestamp, D::Error> {
        unreachable!()
    }
}

#[keyloom::design(table(app, PK, SK))]
mod app {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "SESSION")]
    pub struct Session {
        pub user: String,
        #[field(ttl)]
        #[serde(with = "millis")]
        pub expires: Timestamp,
    }
}

fn main() {}
