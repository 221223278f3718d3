//! The design that the suite runs on.

use keyloom::KeyValue;
use keyloom::prelude::*;

#[derive(KeyValue, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub(crate) enum Status {
    Todo,
    #[serde(rename = "In Progress")]
    Doing,
    Done,
}

#[keyloom::design(table(
    suite,
    PK,
    SK,
    index(GSI1, GSI1PK, GSI1SK),
    index(GSI2, GSI2PK, GSI2SK, projection = "keys")
))]
pub(crate) mod suite {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "USER#{user_id}", SK = "PROFILE", unique(email))]
    pub(crate) struct User {
        pub(crate) user_id: String,
        pub(crate) email: String,
        pub(crate) name: String,
        #[field(version)]
        pub(crate) version: u64,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "TEAM#{team_id}", SK = "METADATA")]
    pub(crate) struct Team {
        pub(crate) team_id: String,
        pub(crate) name: String,
        pub(crate) member_count: u64,
        #[field(version)]
        pub(crate) version: u64,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "USER#{user_id}",
        SK = "TEAM#{team_id}",
        GSI1PK = "TEAM#{team_id}",
        GSI1SK = "USER#{user_id}",
        counted_in(Team::member_count)
    )]
    pub(crate) struct Membership {
        pub(crate) user_id: String,
        pub(crate) team_id: String,
        pub(crate) role: String,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "PROJECT#{project_id}",
        SK = "TASK#{number}",
        GSI1PK = "STATUS#{status}",
        GSI1SK = "DUE#{due}#{number}",
        GSI2PK = "ASSIGNEE#{assignee}",
        GSI2SK = "TASK#{number}"
    )]
    pub(crate) struct Task {
        pub(crate) project_id: String,
        pub(crate) number: u32,
        pub(crate) title: String,
        #[field(values("Todo", "In Progress", "Done"))]
        pub(crate) status: Status,
        pub(crate) due: Option<Timestamp>,
        pub(crate) assignee: Option<String>,
        pub(crate) views: u64,
        pub(crate) tags: Vec<String>,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "PROJECT#{project_id}",
        SK = "COMMENT#{number}#{position}",
        GSI1PK = "PINNED#{project_id}",
        GSI1SK = "COMMENT#{number}#{position}",
        when(GSI1PK = "pinned = true")
    )]
    pub(crate) struct Comment {
        pub(crate) project_id: String,
        pub(crate) number: u32,
        pub(crate) position: u16,
        pub(crate) pinned: bool,
        pub(crate) text: String,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "SENSOR#{sensor}#{at:month}", SK = "AT#{at}")]
    pub(crate) struct Reading {
        pub(crate) sensor: String,
        pub(crate) at: Timestamp,
        pub(crate) value: f64,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "EVENTS#{day}#{shard}", SK = "EVENT#{id}", shard(shard, shards = 4, by(id)))]
    pub(crate) struct Event {
        pub(crate) day: String,
        pub(crate) id: u32,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "SESSION#{token}", SK = "SESSION")]
    pub(crate) struct Session {
        pub(crate) token: String,
        #[field(ttl)]
        pub(crate) expires_at: Option<u64>,
    }

    #[derive(Access)]
    #[access(find = Membership, order = "team_id")]
    pub(crate) struct TeamsOfUser {
        pub(crate) user_id: String,
    }

    #[derive(Access)]
    #[access(find = Membership, order = "user_id")]
    pub(crate) struct MembersOfTeam {
        pub(crate) team_id: String,
    }

    #[derive(Access)]
    #[access(find = Team, via = "Membership")]
    pub(crate) struct TeamDetailsOfUser {
        pub(crate) user_id: String,
    }

    #[derive(Access)]
    #[access(find = Task, order = "number")]
    pub(crate) struct TasksInProject {
        pub(crate) project_id: String,
    }

    #[derive(Access)]
    #[access(find = Task, where = "status = ? and due <= ?", order = "due")]
    pub(crate) struct DueTasks {
        pub(crate) status: Status,
        pub(crate) due: Timestamp,
    }

    #[derive(Access)]
    #[access(find = Task, where = "assignee = ?", order = "number")]
    pub(crate) struct TasksOfAssignee<'a> {
        pub(crate) assignee: &'a str,
    }

    #[derive(Access)]
    #[access(find = Comment, where = "project_id = ? and pinned = true", index = "GSI1", order = "number")]
    pub(crate) struct PinnedComments {
        pub(crate) project_id: String,
    }

    #[derive(Access)]
    #[access(find(Comment, Task))]
    pub(crate) struct ProjectItems {
        pub(crate) project_id: String,
    }

    #[derive(Access)]
    #[access(find = Reading, where = "sensor = ? and at between ? and ?", order = "at desc")]
    pub(crate) struct ReadingsBetween {
        pub(crate) sensor: String,
        pub(crate) at_from: Timestamp,
        pub(crate) at_to: Timestamp,
    }

    #[derive(Access)]
    #[access(find = Event, order = "id")]
    pub(crate) struct EventsOfDay {
        pub(crate) day: String,
    }
}
pub(crate) use suite::*;
