use keyloom::prelude::*;

#[keyloom::design(table(teams, PK, SK))]
mod teams {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(
        PK = "TEAM#{team}#{shard}",
        SK = "METADATA",
        shard(shard, shards = 4, earlier(2), by(team))
    )]
    pub struct Team {
        pub team: String,
        pub members: u64,
    }

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "TEAM#{team}", counted_in(Team::members))]
    pub struct Member {
        pub user: String,
        pub team: String,
    }
}

fn main() {}
