//! What every backend must do.

use keyloom::keys::Timestamp;
use keyloom::prelude::*;
use keyloom::{Condition, Error, Op, TableClient, Update, item};

use crate::model::*;

/// What a backend supports.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Can {
    Everything,
    /// Transactions, but each as often as it is sent.
    NoTokens,
    NoTransactions,
}

pub(crate) fn run(table: &Table<Suite>, can: Can) {
    single_items(table);
    index_keys_follow_every_change(table);
    batches_of_any_size(table);
    pages_limits_and_cursors(table);
    collections_are_enums(table);
    fan_out_over_shards(table);
    fan_out_over_months(table);
    expired_items_are_hidden(table);
    untyped(table);
    untyped_index(table);
    if can != Can::NoTransactions {
        unique_fields(table);
        counts(table);
        moves(table);
        transactions(table);
        untyped_transactions(table, can);
    }
}

pub(crate) fn task(project: &str, number: u32) -> Task {
    Task {
        project_id: project.into(),
        number,
        title: format!("task {number}"),
        status: Status::Todo,
        due: None,
        assignee: None,
        views: 0,
        // dynalite finds no two lists equal that have elements, so its guards would never hold.
        tags: Vec::new(),
    }
}

fn single_items(table: &Table<Suite>) {
    let team = Team { team_id: "t1".into(), name: "Red".into(), member_count: 0, version: 1 };
    assert_eq!(table.get(Team::at("t1")).unwrap(), None);
    table.create(&team).unwrap();
    let again = table.create(&team).unwrap_err();
    assert!(matches!(again, Error::AlreadyExists { entity: "Team", .. }), "{again}");
    assert_eq!(table.get_consistent(team.key()).unwrap(), Some(team.clone()));
    let renamed = table.update(Team::at("t1"), |team| team.name = "Blue".into()).unwrap();
    assert_eq!((renamed.name.as_str(), renamed.version), ("Blue", 2));
    let mut stale = team.clone();
    stale.name = "Green".into();
    assert!(matches!(table.save(&mut stale), Err(Error::Conflict { .. })));
    assert_eq!(stale.version, 1);
    let mut fresh = renamed;
    table.save(&mut fresh).unwrap();
    assert_eq!(table.get(Team::at("t1")).unwrap().unwrap().version, 3);
    let missing = table.update(Team::at("none"), |_| ()).unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }), "{missing}");
    let made = table
        .upsert(Team::at("t2"), |old| {
            assert_eq!(old, None);
            Team { team_id: "t2".into(), name: "New".into(), member_count: 0, version: 0 }
        })
        .unwrap();
    assert_eq!(table.delete(made.key()).unwrap(), Some(made.clone()));
    assert_eq!(table.delete(made.key()).unwrap(), None);
    assert_eq!(table.delete(Team::at("t1")).unwrap().unwrap().name, "Blue");
}

fn index_keys_follow_every_change(table: &Table<Suite>) {
    let due = Timestamp::from_secs(1_000_000);
    let with =
        |status, limit| table.query(DueTasks { status, due: limit }).collect().unwrap().len();
    let first = Task { due: Some(due), assignee: Some("ann".into()), ..task("keys", 1) };
    table.put(&first).unwrap();
    table.put(&task("keys", 2)).unwrap();
    // Without a due date a task is not in the index at all.
    assert_eq!(with(Status::Todo, due), 1);
    table.update(Task::at("keys", 1u32), |task| task.status = Status::Doing).unwrap();
    assert_eq!((with(Status::Todo, due), with(Status::Doing, due)), (0, 1));
    let later = Timestamp::from_secs(2_000_000);
    let patch = Task::patch("keys", 1u32).status(Status::Done).due(later).title("new");
    let patched = table.apply(patch).unwrap();
    assert_eq!((patched.status, patched.title.as_str()), (Status::Done, "new"));
    assert_eq!(
        (with(Status::Doing, later), with(Status::Done, due), with(Status::Done, later)),
        (0, 0, 1)
    );
    // The second index holds keys only: the items are fetched.
    let anns = || table.query(TasksOfAssignee { assignee: "ann" }).collect().unwrap();
    assert_eq!(anns(), [patched]);
    let removed = table.apply(Task::patch("keys", 1u32).due(None).assignee(None)).unwrap();
    assert_eq!((removed.due, removed.assignee), (None, None));
    assert_eq!(with(Status::Done, later), 0);
    assert_eq!(anns(), []);
    let seen = table.apply(Task::patch("keys", 1u32).add_views(2)).unwrap();
    assert_eq!(seen.views, 2);
    let missing = table.apply(Task::patch("keys", 9u32).title("x")).unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }), "{missing}");
}

fn batches_of_any_size(table: &Table<Suite>) {
    let tasks: Vec<Task> = (0..260).map(|number| task("batch", number)).collect();
    table.batch().put_all(&tasks).put(&tasks[3]).run().unwrap();
    let keys = (0..261).rev().map(|number| Task::at("batch", number as u32));
    let found = table.get_many(keys).unwrap();
    assert_eq!(found.len(), 261);
    assert_eq!(found[0], None);
    assert_eq!(found[1].as_ref(), tasks.last());
    assert_eq!(found[260].as_ref(), tasks.first());
    let deletes = tasks.iter().fold(table.batch(), |batch, task| batch.delete(task.key()));
    deletes.put(&tasks[7]).run().unwrap();
    let left = table.query(TasksInProject { project_id: "batch".into() }).collect().unwrap();
    assert_eq!(left, [tasks[7].clone()]);
}

fn pages_limits_and_cursors(table: &Table<Suite>) {
    let all: Vec<Task> = (0..7).map(|number| task("pages", number)).collect();
    table.batch().put_all(&all).run().unwrap();
    let query = || table.query(TasksInProject { project_id: "pages".into() });
    assert_eq!(query().collect().unwrap(), all);
    assert_eq!(query().limit(2).collect().unwrap(), all);
    assert_eq!(query().take(3).collect().unwrap(), all[..3]);
    assert_eq!(query().first().unwrap().as_ref(), all.first());
    let sizes: Vec<usize> =
        query().limit(3).pages().unwrap().map(|page| page.unwrap().items.len()).collect();
    assert_eq!(sizes, [3, 3, 1]);
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = query().limit(2).after(cursor.as_ref()).page().unwrap();
        seen.extend(page.items);
        // A cursor survives being a text.
        cursor = page.cursor.map(|cursor| cursor.to_string().parse().unwrap());
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, all);
    let cursor = query().limit(2).page().unwrap().cursor;
    let other = table.query(TasksInProject { project_id: "other".into() });
    assert!(matches!(other.after(cursor.as_ref()).page(), Err(Error::Cursor(_))));
    let signing = table.clone().with_cursor_key("secret");
    let signed = |cursor| {
        let query = signing.query(TasksInProject { project_id: "pages".into() });
        query.limit(2).after(cursor).page()
    };
    let own = signed(None).unwrap().cursor;
    assert_eq!(signed(own.as_ref()).unwrap().items, all[2..4]);
    assert!(matches!(signed(cursor.as_ref()), Err(Error::Cursor(_))));
    let explained = query().explain().unwrap();
    assert_eq!(explained.requests.len(), 1);
    assert!(explained.requests[0].1.contains("PROJECT#pages"), "{explained}");
}

fn collections_are_enums(table: &Table<Suite>) {
    let comment = Comment {
        project_id: "mixed".into(),
        number: 1,
        position: 1,
        pinned: false,
        text: "hi".into(),
    };
    table.put(&task("mixed", 1)).unwrap();
    table.put(&comment).unwrap();
    // A condition decides whether the key of the index is there at all.
    let pinned =
        || table.query(PinnedComments { project_id: "mixed".into() }).collect().unwrap().len();
    assert_eq!(pinned(), 0);
    let pin = |on: bool| Comment::patch("mixed", 1u32, 1u16).pinned(on);
    table.apply(pin(true)).unwrap();
    assert_eq!(pinned(), 1);
    table.apply(pin(false)).unwrap();
    assert_eq!(pinned(), 0);
    let found = table.query(ProjectItems { project_id: "mixed".into() }).collect().unwrap();
    assert_eq!(
        found,
        [ProjectItemsItem::Comment(comment), ProjectItemsItem::Task(task("mixed", 1))]
    );
}

fn fan_out_over_shards(table: &Table<Suite>) {
    let events: Vec<Event> = (0..40).map(|id| Event { day: "d1".into(), id }).collect();
    table.batch().put_all(&events).run().unwrap();
    assert_eq!(table.get(Event::at("d1", 17u32)).unwrap().as_ref(), events.get(17));
    let query = || table.query(EventsOfDay { day: "d1".into() });
    assert_eq!(query().explain().unwrap().requests.len(), 4);
    assert_eq!(query().collect().unwrap(), events);
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = query().limit(7).after(cursor.as_ref()).page().unwrap();
        seen.extend(page.items);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, events);
}

fn fan_out_over_months(table: &Table<Suite>) {
    let day = |month: u8, day| Timestamp::from_date(2024, month, day).unwrap();
    let second = |t: Timestamp| Timestamp::from_secs(t.seconds());
    let mut readings = Vec::new();
    for month in 1..=4 {
        for number in [1, 15, 28] {
            let at = second(day(month, number));
            readings.push(Reading { sensor: "s".into(), at, value: f64::from(number) });
        }
    }
    table.batch().put_all(&readings).run().unwrap();
    let query =
        |from, to| table.query(ReadingsBetween { sensor: "s".into(), at_from: from, at_to: to });
    let found = query(day(1, 15), day(3, 1)).collect().unwrap();
    let mut expected: Vec<Reading> = readings[1..7].to_vec();
    expected.reverse();
    assert_eq!(found, expected);
    let newest = query(day(1, 1), day(4, 30)).take(2).collect().unwrap();
    assert_eq!(newest, [readings[11].clone(), readings[10].clone()]);
}

fn expired_items_are_hidden(table: &Table<Suite>) {
    let old = Session { token: "old".into(), expires_at: Some(1_000) };
    let new = Session { token: "new".into(), expires_at: None };
    table.put(&old).unwrap();
    table.put(&new).unwrap();
    assert_eq!(table.get(old.key()).unwrap(), None);
    assert_eq!(table.clone().with_expired().get(old.key()).unwrap(), Some(old));
    assert_eq!(table.get(new.key()).unwrap(), Some(new));
}

fn untyped(table: &Table<Suite>) {
    let client = TableClient::new(table.backend().clone(), "suite").with_keys("PK", "SK");
    let key = || keyloom::ItemKey::pair("RAW#1", "B");
    for sort in ["A", "B", "C"] {
        client.put(item! { "PK" => "RAW#1", "SK" => sort, "n" => 1, "size" => "x" }).unwrap();
    }
    assert!(!client.put_if_absent(item! { "PK" => "RAW#1", "SK" => "A" }).unwrap());
    let update = Update::new().add("n", 4).set("size", "y").append("log", "z").remove("none");
    let changed = client.update(key(), update).unwrap();
    assert_eq!(changed.get("n"), Some(&5.into()));
    let found = client.query("RAW#1").sort(keyloom::Op::ge("B")).descending().collect().unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].get("SK"), Some(&"C".into()));
    let filtered = client.query("RAW#1").filter("n", keyloom::Op::gt(3)).collect().unwrap();
    assert_eq!(filtered.len(), 1);
    let scanned = client.scan().filter("PK", keyloom::Op::eq("RAW#1")).collect().unwrap();
    assert_eq!(scanned.len(), 3);
    let either = Condition::when("SK", Op::eq("A")).or(("n", Op::gt(3))).and(("size", Op::Exists));
    assert_eq!(client.scan().filter_by(either).count().unwrap(), 2);
    assert_eq!(client.query("RAW#1").limit(1).count().unwrap(), 3);
    assert_eq!(client.query("RAW#1").limit(2).take(2).items().count(), 2);
    assert_eq!(client.get_only(key(), &["n"]).unwrap(), Some(item! { "n" => 5 }));
    let refused = client.delete_where(key(), !Condition::when("n", Op::eq(5))).unwrap_err();
    assert!(refused.is_condition_failed(), "{refused}");
    assert!(client.delete(key()).unwrap().is_some());
    assert_eq!(client.get_consistent(key()).unwrap(), None);
    let again = item! { "PK" => "RAW#1", "SK" => "D" };
    client.batch().put(again.clone()).put(again).delete(("RAW#1", "C")).run().unwrap();
    assert_eq!(client.query("RAW#1").count().unwrap(), 2);
    let missing = client.batch().put(item! { "PK" => "RAW#1" }).run().unwrap_err();
    assert!(missing.to_string().contains("`SK`"), "{missing}");
}

fn untyped_index(table: &Table<Suite>) {
    let client = TableClient::new(table.backend().clone(), "suite")
        .with_keys("PK", "SK")
        .with_index("GSI1", ["GSI1PK"], ["GSI1SK"]);
    client.put(item! { "PK" => "RAW#2", "SK" => "A", "GSI1PK" => "G", "GSI1SK" => "2" }).unwrap();
    client.put(item! { "PK" => "RAW#2", "SK" => "B", "GSI1PK" => "G", "GSI1SK" => "1" }).unwrap();
    let found = client.query("G").index("GSI1").sort(Op::le("1")).collect().unwrap();
    assert_eq!(found.len(), 1);
    let unknown = client.query("G").index("GSI9").collect().unwrap_err();
    assert!(unknown.to_string().contains("with_index"), "{unknown}");
    let twice = client.query("G").also("H").collect().unwrap_err();
    assert!(twice.to_string().contains("2 values"), "{twice}");
}

fn untyped_transactions(table: &Table<Suite>, can: Can) {
    let client = TableClient::new(table.backend().clone(), "suite").with_keys("PK", "SK");
    let at = |sort: &'static str| ("RAWTX", sort);
    let made = |sort: &str| item! { "PK" => "RAWTX", "SK" => sort, "n" => 1 };
    client.transaction().put(made("A")).put_if_absent(made("B")).commit().unwrap();
    let refused = client
        .transaction()
        .update(at("A"), Update::new().add("n", 1))
        .check(at("B"), ("n", Op::eq(7)))
        .commit()
        .unwrap_err();
    assert!(refused.to_string().contains("ConditionalCheckFailed"), "{refused}");
    let commit = |token: &str| {
        let add = Update::new().add("n", 1);
        let update = client.transaction().update_where(at("A"), add, ("n", Op::lt(9)));
        update.delete_where(at("B"), ("n", Op::Exists)).put(made("C")).token(token).commit()
    };
    commit("once").unwrap();
    // The same token is the same transaction: done once, though its condition would fail now.
    if can == Can::Everything {
        commit("once").unwrap();
    }
    assert!(commit("twice").is_err());
    let found = client.transact_get([at("A"), at("B"), at("C")]).unwrap();
    assert_eq!(found[0].as_ref().unwrap().get("n"), Some(&2.into()));
    assert_eq!((found[1].is_none(), found[2].is_some()), (true, true));
}

fn unique_fields(table: &Table<Suite>) {
    let user = |id: &str, email: &str| User {
        user_id: id.into(),
        email: email.into(),
        name: id.into(),
        version: 0,
    };
    table.create(&user("u1", "a@x")).unwrap();
    let taken = table.create(&user("u2", "a@x")).unwrap_err();
    assert!(matches!(taken, Error::NotUnique { entity: "User", .. }), "{taken}");
    assert_eq!(table.get(User::at("u2")).unwrap(), None);
    // Changing the email frees the old one.
    table.update(User::at("u1"), |user| user.email = "b@x".into()).unwrap();
    table.create(&user("u2", "a@x")).unwrap();
    let taken = table.update(User::at("u2"), |user| user.email = "b@x".into()).unwrap_err();
    assert!(matches!(taken, Error::NotUnique { .. }), "{taken}");
    table.put(&User { name: "same".into(), ..user("u2", "a@x") }).unwrap();
    assert_eq!(table.delete(User::at("u1")).unwrap().unwrap().email, "b@x");
    table.put(&user("u3", "b@x")).unwrap();
    let batched = table.batch().put(&user("u4", "c@x")).run().unwrap_err();
    assert!(batched.to_string().contains("transaction"), "{batched}");
}

fn counts(table: &Table<Suite>) {
    let team = Team { team_id: "count".into(), name: "C".into(), member_count: 0, version: 0 };
    let member = |user: &str| Membership {
        user_id: user.into(),
        team_id: "count".into(),
        role: "dev".into(),
    };
    let orphan = table.create(&member("m1")).unwrap_err();
    assert!(matches!(orphan, Error::NotFound { entity: "Team", .. }), "{orphan}");
    table.create(&team).unwrap();
    let count = || table.get_consistent(team.key()).unwrap().unwrap().member_count;
    table.create(&member("m1")).unwrap();
    table.put(&member("m1")).unwrap();
    table.transaction().create(&member("m2")).create(&member("m3")).commit().unwrap();
    assert_eq!(count(), 3);
    table.delete(member("m2").key()).unwrap();
    table.delete(member("m2").key()).unwrap();
    assert_eq!(count(), 2);
    let members = table.query(MembersOfTeam { team_id: "count".into() }).collect().unwrap();
    assert_eq!(members, [member("m1"), member("m3")]);
    let mine = table.query(TeamsOfUser { user_id: "m1".into() }).collect().unwrap();
    assert_eq!(mine, [member("m1")]);
    let details = table.query(TeamDetailsOfUser { user_id: "m1".into() }).collect().unwrap();
    assert_eq!(details[0].name, "C");
}

fn moves(table: &Table<Suite>) {
    table.put(&task("from", 1)).unwrap();
    table.put(&task("to", 2)).unwrap();
    let moved = table.update(Task::at("from", 1u32), |task| task.project_id = "to".into()).unwrap();
    assert_eq!(table.get(Task::at("from", 1u32)).unwrap(), None);
    assert_eq!(table.get(Task::at("to", 1u32)).unwrap(), Some(moved));
    let taken = table.update(Task::at("to", 1u32), |task| task.number = 2).unwrap_err();
    assert!(matches!(taken, Error::AlreadyExists { .. }), "{taken}");
}

fn transactions(table: &Table<Suite>) {
    let (a, b) = (task("tx", 1), task("tx", 2));
    table.transaction().create(&a).put(&b).commit().unwrap();
    let failed = table
        .transaction()
        .apply(Task::patch("tx", 1u32).title("changed"))
        .create(&b)
        .commit()
        .unwrap_err();
    assert!(matches!(failed, Error::AlreadyExists { .. }), "{failed}");
    assert_eq!(table.get(a.key()).unwrap(), Some(a.clone()));
    let required = table.transaction().require(Team::at("none")).delete(a.key()).commit();
    assert!(matches!(required, Err(Error::NotFound { .. })));
    table.transaction().require_absent(Team::at("none")).delete(a.key()).commit().unwrap();
    let found = table.get_together([a.key(), b.key()]).unwrap();
    assert_eq!(found, [None, Some(b)]);
}
