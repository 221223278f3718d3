//! The module and the file are two ways to write one design.
#![expect(unreachable_pub, reason = "the designs are compared, not used")]

use keyloom::Design as _;
use keyloom::designs::cost::Prices;
use keyloom::designs::{Design, check_text, rust_module};
use keyloom::prelude::*;

#[keyloom::design(table(tasks, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
mod tasks {
    use super::*;

    /// Work to be done.
    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "PROJECT#{project_id}",
        SK = "TASK#{number}",
        GSI1PK = "ASSIGNEE#{assignee}",
        GSI1SK = "DUE#{due}#{number}",
        count = 2_000_000,
        size = "1.2 KB"
    )]
    pub(crate) struct Task {
        #[field(type = "ulid")]
        pub(crate) project_id: String,
        pub(crate) number: u32,
        pub(crate) assignee: Option<String>,
        pub(crate) due: Option<Timestamp>,
        #[field(values("Todo", "Done"))]
        pub(crate) status: String,
    }

    #[derive(Access)]
    #[access(find = Task, name = "tasks in a project", order = "number", limit = 50)]
    pub(crate) struct TasksInProject {
        pub(crate) project_id: String,
    }

    #[derive(Access)]
    #[access(find = Task, name = "due tasks", where = "assignee = ? and due between ? and ?", order = "due desc")]
    pub(crate) struct DueTasks {
        pub(crate) assignee: String,
        pub(crate) due_from: Timestamp,
        pub(crate) due_to: Timestamp,
    }
}

const FILE: &str = r#"
[table.tasks]
partition_key = "PK"
sort_key = "SK"

[table.tasks.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"

[entity.Task]
table = "tasks"
description = "Work to be done."
count = 2000000
size = "1.2 KB"
PK = "PROJECT#{project_id}"
SK = "TASK#{number}"
GSI1PK = "ASSIGNEE#{assignee}"
GSI1SK = "DUE#{due}#{number}"

[entity.Task.fields]
project_id = "ulid"
number = "u32"
assignee = { type = "string", optional = true }
due = { type = "datetime", optional = true }
status = { type = "string", values = ["Todo", "Done"] }

[access."tasks in a project"]
find = "Task"
where = "project_id = ?"
order = "number"
limit = 50

[access."due tasks"]
find = "Task"
where = "assignee = ? and due between ? and ?"
order = "due desc"
"#;

/// What a check says, without the places.
fn findings(toml: &str) -> Vec<(&'static str, String, String, String)> {
    let report = check_text("design", toml, &Prices::default());
    let mut found: Vec<_> = report
        .findings
        .into_iter()
        .map(|finding| (finding.rule, finding.subject, finding.message, finding.fix))
        .collect();
    found.extend(report.plans.iter().map(|plan| {
        ("plan", plan.name.clone(), plan.verdict.as_str().to_owned(), format!("{:?}", plan.proofs))
    }));
    found.sort();
    found
}

#[test]
fn a_module_has_the_findings_and_plans_of_its_file() {
    assert_eq!(findings(tasks::Tasks::to_toml()), findings(FILE));
    let table = tasks::Tasks::open(Database::memory()).unwrap();
    let project_id = Ulid(1).to_string();
    assert_eq!(table.query(tasks::TasksInProject { project_id }).collect().unwrap(), []);
    let (due_from, due_to) = (Timestamp::from_secs(0), Timestamp::from_secs(1));
    let due = tasks::DueTasks { assignee: "a".into(), due_from, due_to };
    assert_eq!(table.query(due).collect().unwrap(), []);
}

/// The module that is generated from the file says the same, by way of the macro's own reading.
#[test]
fn a_file_generates_the_module_that_states_it() {
    let design = Design::parse("tasks.toml", FILE).0.unwrap();
    let module = rust_module(&design, "tasks").unwrap();
    for line in [
        "table(tasks, PK, SK, index(GSI1, GSI1PK, GSI1SK)),",
        r#"#[entity(PK = "PROJECT#{project_id}", SK = "TASK#{number}", GSI1PK = "ASSIGNEE#{assignee}", GSI1SK = "DUE#{due}#{number}", count = 2000000, size = 1228.8)]"#,
        "pub project_id: Ulid,",
        "pub assignee: Option<String>,",
        "pub due: Option<Timestamp>,",
        r#"#[field(values("Todo", "Done"))]"#,
        r#"#[access(find = Task, name = "due tasks", where = "assignee = :assignee and due between :due_from and :due_to", order = "due desc")]"#,
        "pub struct TasksInAProject {",
        "pub due_to: Timestamp,",
    ] {
        assert!(module.contains(line), "{line}\n{module}");
    }
}

#[keyloom::design(table(tasks, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
pub(crate) mod generated {
    use super::*;

    /// Work to be done.
    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "PROJECT#{project_id}",
        SK = "TASK#{number}",
        GSI1PK = "ASSIGNEE#{assignee}",
        GSI1SK = "DUE#{due}#{number}",
        count = 2000000,
        size = 1200
    )]
    pub struct Task {
        pub project_id: Ulid,
        pub number: u32,
        pub assignee: Option<String>,
        pub due: Option<Timestamp>,
        #[field(values("Todo", "Done"))]
        pub status: String,
    }

    #[derive(Access)]
    #[access(find = Task, name = "tasks in a project", where = "project_id = :project_id", order = "number", limit = 50)]
    pub struct TasksInAProject {
        pub project_id: Ulid,
    }

    #[derive(Access)]
    #[access(find = Task, name = "due tasks", where = "assignee = :assignee and due between :due_from and :due_to", order = "due desc")]
    pub struct DueTasks {
        pub assignee: String,
        pub due_from: Timestamp,
        pub due_to: Timestamp,
    }
}

#[test]
fn the_generated_module_states_the_file() {
    assert_eq!(findings(generated::Generated::to_toml()), findings(FILE));
    let table = generated::Generated::open(Database::memory()).unwrap();
    let project = generated::TasksInAProject { project_id: Ulid(1) };
    assert_eq!(table.query(project).collect().unwrap(), []);
    let (due_from, due_to) = (Timestamp::from_secs(0), Timestamp::from_secs(1));
    let due = generated::DueTasks { assignee: "a".into(), due_from, due_to };
    assert_eq!(table.query(due).collect().unwrap(), []);
}
