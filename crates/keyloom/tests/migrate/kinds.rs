//! The kinds of change that are not random: what is refused, and what needs a word first.

use keyloom::designs::{check_text, cost::Prices};
use keyloom::migrate::{Migration, MigrationPlan};
use keyloom::{Backend, Database, Error, TableClient, item};

const OLD: &str = r#"
[table.tasks]
partition_key = "PK"
sort_key = "SK"
[table.tasks.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"
[entity.Task]
PK = "ORG#{org}"
SK = "TASK#{id}"
GSI1PK = "STATUS#{status}"
GSI1SK = "{number}"
[entity.Task.fields]
org = "string"
id = "string"
status = "string"
number = { type = "u32", plain = true }
[access."by status"]
find = "Task"
where = "status = ?"
"#;

fn plan(old: &str, new: &str) -> MigrationPlan {
    let report = |text: &str| check_text("design", text, &Prices::default());
    let (old, new) = (report(old), report(new));
    assert!(old.is_whole && new.is_whole, "{:?} {:?}", old.findings, new.findings);
    MigrationPlan::between(&old, &new).unwrap()
}

#[test]
fn an_old_pattern_that_would_miss_items_is_named() {
    let padded = OLD.replace("plain = true", "width = 8");
    assert_eq!(plan(OLD, &padded).gaps, [], "it reads whole partitions, in any order");
    // Without padding the old pattern would filter, and find both forms.
    let ranged = |width: &str| {
        let padded = OLD.replace("plain = true", width);
        padded.replace("status = ?\"", "status = ? and number >= ?\"")
    };
    assert_eq!(plan(&ranged("plain = true"), &ranged("width = 8")).gaps, []);
    for (old, new) in [
        // The order of the old pattern would be that of both forms.
        (OLD.replace("status = ?\"", "status = ?\"\norder = \"number\""), padded.clone()),
        // Items are in other partitions.
        (OLD.to_owned(), OLD.replace("STATUS#{status}", "S#{status}")),
        // They leave the index.
        (
            OLD.to_owned(),
            OLD.replace("\"{number}\"", "{ template = \"{number}\", when = \"status = 'late'\" }"),
        ),
        // The old pattern reads a range.
        (ranged("width = 6"), ranged("width = 8")),
    ] {
        let plan = plan(&old, &new);
        assert_eq!(plan.obstacles, []);
        let named: Vec<&str> = plan.gaps.iter().map(|gap| gap.pattern.as_str()).collect();
        assert_eq!(named, ["by status"], "{old}\n{new}");
    }
}

#[test]
fn gaps_and_entities_that_vanish_need_a_word() {
    let database = Database::memory();
    TableClient::new(Backend::from(&database), "tasks")
        .with_keys("PK", "SK")
        .with_index("GSI1", ["GSI1PK"], ["GSI1SK"])
        .create()
        .unwrap();
    let moved = OLD.replace("STATUS#{status}", "S#{status}");
    let migration = || Migration::from_toml(&database, OLD, &moved).unwrap();
    let error = migration().runner(false).err().unwrap().to_string();
    assert!(error.contains("by status") && error.contains("GSI1"), "{error}");
    migration().accepting_gaps().runner(false).unwrap().rollback().unwrap();

    let other = OLD.replace("entity.Task", "entity.Job").replace("\"Task\"", "\"Job\"");
    let other = other.replace("ORG#{org}", "JOB#{org}");
    let migration = || Migration::from_toml(&database, OLD, &other).unwrap();
    let error = migration().runner(false).err().unwrap().to_string();
    assert!(error.contains("`Task` is left behind") && error.contains("was = \"Task\""), "{error}");
    migration().leaving_behind(["Task"]).runner(false).unwrap().rollback().unwrap();
}

#[test]
fn a_field_that_only_an_index_key_holds_cannot_be_rewritten() {
    let keyed =
        OLD.replace("status = \"string\"", "status = { type = \"string\", key_only = true }");
    let plan = plan(&keyed, &keyed.replace("STATUS#{status}", "S#{status}"));
    let reasons: Vec<String> = plan.obstacles.iter().map(ToString::to_string).collect();
    assert!(reasons.iter().any(|reason| reason.contains("stored nowhere else")), "{reasons:?}");
}

#[test]
fn a_pattern_that_the_new_form_answers_otherwise_is_found() {
    let database = Database::memory();
    let client = TableClient::new(Backend::from(&database), "tasks")
        .with_keys("PK", "SK")
        .with_index("GSI1", ["GSI1PK"], ["GSI1SK"]);
    client.create().unwrap();
    // An index key that is not what the design says: no comparison of items by their keys would tell.
    for (id, status) in [("a", "open"), ("b", "wrong")] {
        client
            .put(item! {
                "PK" => "ORG#o", "SK" => format!("TASK#{id}"), "org" => "o", "id" => id, "status" => "open",
                "number" => 1, "GSI1PK" => format!("STATUS#{status}"), "GSI1SK" => "1",
            })
            .unwrap();
    }
    let new = OLD.replace("table.tasks", "table.jobs");
    let migration = Migration::from_toml(&database, OLD, &new).unwrap();
    let migration = migration.with_marker_age(std::time::Duration::ZERO);
    let mut runner = migration.runner(false).unwrap();
    let verified = runner.verify().unwrap();
    assert!(verified.calls > 0);
    let problems: Vec<String> = verified.problems.iter().map(ToString::to_string).collect();
    assert!(
        !problems.is_empty() && problems.iter().all(|p| p.contains("by status")),
        "{problems:?}"
    );
    assert!(matches!(runner.switch(), Err(Error::Migration(reason)) if reason.contains("TASK#b")));
}

#[test]
fn a_file_and_the_module_that_says_the_same_are_one_migration() {
    let (new, commented) = (OLD.replace("ORG#", "O#"), format!("# A comment.\n{OLD}"));
    assert_eq!(plan(OLD, &new).id(), plan(&commented, &new).id());
    assert_ne!(plan(OLD, &new).id(), plan(OLD, &OLD.replace("ORG#", "P#")).id());
}

#[test]
fn tables_whose_keys_have_other_names_are_compared_and_contracted_alike() {
    let old = r#"
[table.tasks]
partition_key = "PK"
sort_key = "SK"
[entity.Org]
PK = "ORG#{org}"
SK = "ORG"
[entity.Org.fields]
org = "string"
[entity.Task]
PK = "ORG#{org}"
SK = "TASK#{id}"
[entity.Task.fields]
org = "string"
id = "string"
title = "string"
text = "string"
"#;
    let kept = old.split("[entity.Task]").next().unwrap();
    let new = format!(
        r#"{kept}
[table.heads]
partition_key = "H"
sort_key = "HS"
[table.bodies]
partition_key = "B"
sort_key = "BS"
[entity.Head]
was = "Task"
table = "heads"
H = "O#{{org}}"
HS = "T#{{id}}"
[entity.Head.fields]
org = "string"
id = "string"
title = "string"
[entity.Body]
was = "Task"
table = "bodies"
B = "O#{{org}}"
BS = "B#{{id}}"
[entity.Body.fields]
org = "string"
id = "string"
text = "string"
"#
    );
    let new = new.replace("[entity.Org]\n", "[entity.Org]\ntable = \"tasks\"\n");
    let database = Database::memory();
    let tasks = TableClient::new(Backend::from(&database), "tasks").with_keys("PK", "SK");
    tasks.create().unwrap();
    tasks.put(item! { "PK" => "ORG#o", "SK" => "ORG", "org" => "o" }).unwrap();
    for id in ["a", "b", "c"] {
        let item = item! {
            "PK" => "ORG#o", "SK" => format!("TASK#{id}"), "org" => "o", "id" => id, "title" => "t", "text" => "x",
        };
        tasks.put(item).unwrap();
    }
    let migration = Migration::from_toml(&database, old, &new).unwrap();
    assert_eq!(migration.plan().obstacles, []);
    let migration = migration.with_marker_age(std::time::Duration::ZERO);
    let mut runner = migration.runner(false).unwrap();
    let verified = runner.verify().unwrap();
    assert_eq!((verified.problems, verified.settled), (Vec::new(), 0), "right at the first look");
    runner.switch().unwrap();
    let ended = runner.contract().unwrap();
    assert_eq!(ended.left, []);
    assert_eq!(tasks.scan().collect().unwrap().len(), 1, "the old form is gone");
}
