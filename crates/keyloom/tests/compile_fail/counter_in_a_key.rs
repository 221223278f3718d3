use keyloom::prelude::*;

#[keyloom::design(table(counters, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
mod counters {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(
        PK = "VIEWS#{page}#{shard}",
        SK = "COUNT",
        GSI1PK = "ALLVIEWS",
        GSI1SK = "COUNT#{count}"
    )]
    pub struct Views {
        pub page: String,
        #[field(type = "shard", shards = 8)]
        pub shard: u32,
        #[field(counter)]
        pub count: u64,
    }
}

fn main() {}
