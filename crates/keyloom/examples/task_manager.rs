//! How does a whole single-table program look? Users, teams, projects, tasks, comments and attachments in one table,
//! with nine access patterns.
//!
//! `cargo run -p keyloom --example task_manager`

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]
use keyloom::prelude::*;

#[keyloom::design(table(tasks, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
mod task_manager {
    use super::*;
    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "USER#{user}", SK = "PROFILE", unique(email))]
    pub struct User {
        pub user: String,
        pub email: String,
    }
    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "USER#{user}", SK = "TEAM#{team}")]
    pub struct Membership {
        pub user: String,
        pub team: String,
    }
    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "TEAM#{team}", SK = "PROJECT#{project}")]
    pub struct Project {
        pub team: String,
        pub project: String,
    }
    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "PROJECT#{project}", SK = "TASK#{id}")]
    pub struct Task {
        pub project: String,
        pub id: String,
        pub title: String,
    }
    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "TASK#{task}", SK = "BY#{user}", GSI1PK = "USER#{user}", GSI1SK = "TASK#{task}")]
    pub struct Assignment {
        pub task: String,
        pub user: String,
    }
    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "TASK#{task}", SK = "TAG#{tag}", GSI1PK = "TAG#{tag}", GSI1SK = "TASK#{task}")]
    pub struct Tag {
        pub task: String,
        pub tag: String,
    }
    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(
        PK = "TASK#{task}",
        SK = "COMMENT#{at}#{user}",
        GSI1PK = "USER#{user}",
        GSI1SK = "AT#{at}#COMMENT#{task}"
    )]
    pub struct Comment {
        pub task: String,
        pub user: String,
        pub at: Timestamp,
        pub text: String,
    }
    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(
        PK = "TASK#{task}",
        SK = "FILE#{at}#{user}",
        GSI1PK = "USER#{user}",
        GSI1SK = "AT#{at}#FILE#{task}"
    )]
    pub struct Attachment {
        pub task: String,
        pub user: String,
        pub at: Timestamp,
        pub url: String,
    }
    #[derive(Access)]
    #[access(find = Membership, order = "team")]
    pub struct TeamsOfUser {
        pub user: String,
    }
    #[derive(Access)]
    #[access(find = Project, order = "project")]
    pub struct ProjectsOfTeam {
        pub team: String,
    }
    #[derive(Access)]
    #[access(find = Task, order = "id")]
    pub struct TasksOfProject {
        pub project: String,
    }
    #[derive(Access)]
    #[access(find = Assignment, order = "task")]
    pub struct TasksOfUser {
        pub user: String,
    }
    #[derive(Access)]
    #[access(find = Tag, order = "task")]
    pub struct TasksWithTag {
        pub tag: String,
    }
    #[derive(Access)]
    #[access(find = Comment, order = "at")]
    pub struct CommentsOnTask {
        pub task: String,
    }
    #[derive(Access)]
    #[access(find = Attachment, order = "at")]
    pub struct FilesOfTask {
        pub task: String,
    }
    #[derive(Access)]
    #[access(find(Comment, Attachment), order = "at desc", limit = 10)]
    pub struct RecentActivity {
        pub user: String,
    }
}
use task_manager::*;

fn main() -> keyloom::Result<()> {
    let db = TaskManager::open(Database::memory())?;
    let (ann, t1) = (|| "ann".to_owned(), || "T1".to_owned());
    let at = |second: i64| Timestamp::from_secs(1_700_000_000 + second);
    db.create(&User { user: ann(), email: "ann@example.com".into() })?;
    db.put(&Membership { user: ann(), team: "eng".into() })?;
    db.put(&Project { team: "eng".into(), project: "api".into() })?;
    db.put(&Task { project: "api".into(), id: t1(), title: "OAuth endpoints".into() })?;
    db.put(&Assignment { task: t1(), user: ann() })?;
    db.put(&Tag { task: t1(), tag: "auth".into() })?;
    db.put(&Comment { task: t1(), user: ann(), at: at(1), text: "started".into() })?;
    db.put(&Attachment { task: t1(), user: ann(), at: at(2), url: "flow.png".into() })?;

    println!("1 profile     {:?}", db.get(User::at("ann"))?);
    println!("2 teams       {:?}", db.query(TeamsOfUser { user: ann() }).collect()?);
    println!("3 projects    {:?}", db.query(ProjectsOfTeam { team: "eng".into() }).collect()?);
    println!("4 tasks       {:?}", db.query(TasksOfProject { project: "api".into() }).collect()?);
    println!("5 assigned    {:?}", db.query(TasksOfUser { user: ann() }).collect()?);
    println!("6 tagged      {:?}", db.query(TasksWithTag { tag: "auth".into() }).collect()?);
    println!("7 comments    {:?}", db.query(CommentsOnTask { task: t1() }).collect()?);
    println!("8 files       {:?}", db.query(FilesOfTask { task: t1() }).collect()?);
    for item in db.query(RecentActivity { user: ann() }).collect()? {
        match item {
            RecentActivityItem::Comment(comment) => println!("9 wrote       {}", comment.text),
            RecentActivityItem::Attachment(file) => println!("9 attached    {}", file.url),
        }
    }
    Ok(())
}
