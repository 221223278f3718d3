//! The known ways to get it wrong, each on its own.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use keyloom::migrate::{CopiedTable, Migration, Phase, Progress, Side, Step, Watch};
use keyloom::{
    Backend, Clock, Database, Error, Item, ManualClock, Options, Result, TableClient, item,
};

const OLD: &str = r#"
[table.notes]
partition_key = "PK"
sort_key = "SK"
[entity.Note]
PK = "USER#{user}"
SK = "NOTE#{number}"
[entity.Note.fields]
user = "string"
number = { type = "u32", plain = true }
day = "date"
text = "string"
[access.of]
find = "Note"
where = "user = ?"
"#;

/// Padded numbers in another table.
fn padded() -> String {
    OLD.replace("table.notes", "table.notes2").replace("plain = true", "width = 6")
}

struct Notes {
    database: Database,
    clock: Arc<ManualClock>,
}

impl Notes {
    fn new(count: u32) -> Self {
        let clock = Arc::new(ManualClock::at_ms(1_700_000_000_000));
        let options = Options { clock: clock.clone(), background: false, ..Options::default() };
        let notes = Self { database: Database::memory_with(options), clock };
        notes.table("notes").create().unwrap();
        for number in 0..count {
            notes.table("notes").put(note("ann", number, "2024-01-01")).unwrap();
        }
        notes
    }

    fn table(&self, name: &str) -> TableClient {
        TableClient::new(Backend::from(&self.database), name).with_keys("PK", "SK")
    }

    fn migration(&self, new: &str) -> Migration {
        let migration = Migration::from_toml(&self.database, OLD, new).unwrap();
        migration
            .with_clock(self.clock.clone())
            .with_page_items(2)
            .with_segments(1)
            .with_marker_age(Duration::ZERO)
    }

    fn moved(&self) -> Vec<String> {
        let items = self.table("notes2").scan().collect().unwrap();
        let gone = |item: &Item| {
            let mark = item.get("keyloom_migration").and_then(|mark| mark.as_m());
            mark.is_some_and(|mark| mark.contains_key("gone"))
        };
        let mut keys: Vec<String> = items
            .iter()
            .filter(|item| !gone(item))
            .map(|item| item.get("SK").unwrap().as_s().unwrap().to_owned())
            .collect();
        keys.sort();
        keys
    }
}

fn note(user: &str, number: u32, day: &str) -> Item {
    item! {
        "PK" => format!("USER#{user}"), "SK" => format!("NOTE#{number}"), "user" => user,
        "number" => i64::from(number), "day" => day, "text" => "x",
    }
}

/// One with so many attributes that no condition compares them all.
fn wide(number: u32, day: &str) -> Item {
    let mut note = note("ann", number, day);
    for at in 0..200 {
        note.insert(format!("a{at:03}").as_str(), i64::from(at));
    }
    note
}

thread_local! {
    static LAST: Cell<&'static str> = const { Cell::new("") };
}

/// Holds the first copy of a page back, deletes what it copies, and waits until that has been carried over.
struct Late {
    source: TableClient,
    target: TableClient,
    tombstones: AtomicUsize,
    is_done: AtomicBool,
}

impl Watch for Late {
    fn before(&self, operation: &'static str) -> Result<()> {
        let before = LAST.replace(operation);
        if (before, operation) != ("Scan", "TransactWriteItems")
            || self.is_done.swap(true, Ordering::SeqCst)
        {
            return Ok(());
        }
        self.source.delete(("USER#ann", "NOTE#0"))?;
        // A busy machine may take long to carry the deletion over.
        for _ in 0..6_000 {
            let found = self.target.scan().collect()?;
            if found
                .iter()
                .any(|item| item.contains_key("keyloom_migration") && !item.contains_key("text"))
            {
                self.tombstones.fetch_add(1, Ordering::SeqCst);
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

#[test]
fn two_items_that_would_become_one_are_named_and_neither_is_overwritten() {
    let notes = Notes::new(0);
    for number in [1, 2] {
        notes.table("notes").put(note("ann", number, "2024-01-01")).unwrap();
    }
    let new = OLD.replace("table.notes", "table.notes2").replace("NOTE#{number}", "DAY#{day}");
    let migration = notes.migration(&new);
    assert!(!migration.plan().warnings.is_empty(), "the plan knows that the map is not injective");
    let error = migration.runner(false).unwrap().catch_up().unwrap_err().to_string();
    assert!(
        error.contains("NOTE#1") && error.contains("NOTE#2") && error.contains("DAY#"),
        "{error}"
    );
    assert_eq!(notes.table("notes").scan().collect().unwrap().len(), 2);
    assert_eq!(notes.moved().len(), 1);
    // One of them goes, and the migration goes on.
    notes.table("notes").delete(("USER#ann", "NOTE#1")).unwrap();
    let mut runner = migration.runner(true).unwrap();
    runner.catch_up().unwrap();
    assert_eq!(runner.verify().unwrap().problems, []);
    let left = notes.table("notes2").scan().collect().unwrap();
    assert_eq!(left[0].get("number"), Some(&2.into()));
}

#[test]
fn forms_that_patterns_would_mix_need_a_table_of_their_own() {
    let notes = Notes::new(1);
    for (new, word) in [
        // The key of a new item could be that of an old one.
        (OLD.replace("plain = true", "width = 6"), "primary key of an old"),
        // The old pattern reads all keys that begin with NOTE#.
        (OLD.replace("NOTE#{number}", "NOTE#{day}#{number}"), "would read items in their"),
    ] {
        let migration = notes.migration(&new);
        let obstacles: Vec<String> =
            migration.plan().obstacles.iter().map(ToString::to_string).collect();
        assert!(obstacles.iter().any(|obstacle| obstacle.contains(word)), "{obstacles:?}");
        assert!(
            obstacles.iter().all(|obstacle| obstacle.contains("another name")),
            "{obstacles:?}"
        );
        assert!(matches!(migration.runner(false), Err(Error::Migration(_))));
    }
    // In partitions of their own they do not meet.
    let apart = OLD.replace("USER#{user}", "U#{user}");
    assert_eq!(notes.migration(&apart).plan().obstacles, []);
}

#[test]
fn a_late_copy_does_not_bring_back_what_was_deleted() {
    let notes = Notes::new(1);
    let late = Arc::new(Late {
        source: notes.table("notes"),
        target: notes.table("notes2"),
        tombstones: AtomicUsize::new(0),
        is_done: AtomicBool::new(false),
    });
    let migration = notes.migration(&padded()).with_watch(late.clone());
    let mut runner = migration.runner(false).unwrap();
    runner.catch_up_with(1, &|_| true).unwrap();
    assert_eq!(late.tombstones.load(Ordering::SeqCst), 1, "the deletion came first");
    assert!(
        notes.table("notes2").scan().collect().unwrap().is_empty(),
        "tombstones go with the backfill"
    );
    assert_eq!(runner.verify().unwrap().problems, []);
}

#[test]
fn a_runner_that_was_replaced_cannot_write() {
    let notes = Notes::new(5);
    let migration = notes.migration(&padded());
    let mut first = migration.runner(false).unwrap();
    first.step().unwrap();
    assert!(migration.runner(false).err().unwrap().to_string().contains("take over"));
    let mut second = migration.runner(true).unwrap();
    second.catch_up().unwrap();
    second.switch().unwrap();
    notes.table("notes2").delete(("USER#ann", "NOTE#000003")).unwrap();
    let error = first.catch_up().unwrap_err().to_string();
    assert!(error.contains("another runner has taken over"), "{error}");
    assert_eq!(notes.moved().len(), 4);
}

#[test]
fn a_stream_that_ran_out_means_another_copy() {
    let notes = Notes::new(4);
    let migration = notes.migration(&padded());
    let mut runner = migration.runner(false).unwrap();
    runner.catch_up().unwrap();
    notes.table("notes").put(note("bob", 1, "2024-01-01")).unwrap();
    runner.catch_up().unwrap();
    drop(runner);
    // Nobody follows for two days, and the stream forgets.
    notes.table("notes").delete(("USER#ann", "NOTE#0")).unwrap();
    notes.table("notes").put(note("ann", 77, "2024-01-01")).unwrap();
    notes.table("notes").put(item! {
        "PK" => "USER#ann", "SK" => "NOTE#1", "user" => "ann", "number" => 1, "day" => "2024-01-01", "text" => "changed",
    }).unwrap();
    for _ in 0..50 {
        notes.clock.advance(Duration::from_hours(1));
        notes.database.run_maintenance().unwrap();
    }
    let mut runner = migration.runner(true).unwrap();
    runner.catch_up().unwrap();
    assert_eq!(migration.status().unwrap().unwrap().generation, 2);
    assert_eq!(
        notes.moved(),
        ["NOTE#000001", "NOTE#000001", "NOTE#000002", "NOTE#000003", "NOTE#000077"]
    );
    assert_eq!(runner.verify().unwrap().problems, []);
}

#[test]
fn keys_that_change_twice_leave_nothing_behind() {
    let notes = Notes::new(3);
    let new = OLD.replace("table.notes", "table.notes2").replace("NOTE#{number}", "{day}#{number}");
    let migration = notes.migration(&new);
    let mut runner = migration.runner(false).unwrap();
    runner.step().unwrap();
    for day in ["2024-01-02", "2024-01-03", "2024-01-01", "2024-01-04"] {
        notes.table("notes").put(note("ann", 1, day)).unwrap();
        runner.step().unwrap();
    }
    runner.catch_up().unwrap();
    assert_eq!(notes.moved(), ["2024-01-01#0", "2024-01-01#2", "2024-01-04#1"]);
}

#[test]
fn more_changes_than_one_transaction_takes() {
    let notes = Notes::new(250);
    let migration = Migration::from_toml(&notes.database, OLD, &padded()).unwrap();
    let migration =
        migration.with_clock(notes.clock.clone()).with_segments(1).with_marker_age(Duration::ZERO);
    let mut runner = migration.runner(false).unwrap();
    runner.catch_up().unwrap();
    // One transaction of 100 items of the old form, several times over.
    for round in 0..3 {
        let table = notes.table("notes");
        let all = (0..100).fold(table.transaction(), |all, number| {
            all.put(note("ann", number + round * 50, "2024-02-02"))
        });
        all.commit().unwrap();
    }
    runner.catch_up().unwrap();
    assert_eq!(notes.moved().len(), 250);
    assert_eq!(runner.verify().unwrap().problems, []);
    runner.switch().unwrap();
    runner.contract().unwrap();
    let left = notes.table("notes2").scan().collect().unwrap();
    assert!(left.iter().all(|item| !item.contains_key("keyloom_migration")));
}

#[test]
fn a_rollback_after_the_switch_loses_nothing() {
    let notes = Notes::new(3);
    let migration = notes.migration(&padded());
    let mut runner = migration.runner(false).unwrap();
    runner.catch_up().unwrap();
    runner.switch().unwrap();
    let new = notes.table("notes2");
    new.delete(("USER#ann", "NOTE#000000")).unwrap();
    new.put(item! {
        "PK" => "USER#eve", "SK" => "NOTE#000012", "user" => "eve", "number" => 12, "day" => "2024-01-01",
        "text" => "new", "more" => "is carried along",
    }).unwrap();
    runner.rollback().unwrap();
    let old = notes.table("notes");
    assert_eq!(old.get(("USER#ann", "NOTE#0")).unwrap(), None);
    let eve = old.get(("USER#eve", "NOTE#12")).unwrap().unwrap();
    assert_eq!(eve.get("more"), Some(&"is carried along".into()));
    assert!(
        old.scan().collect().unwrap().iter().all(|item| !item.contains_key("keyloom_migration"))
    );
    assert_eq!(
        migration.status().unwrap().map(|status| (status.phase, status.side)),
        Some((Phase::RolledBack, Side::Old))
    );
}

#[test]
fn what_does_not_fit_is_named_and_keeps_the_switch_from_happening() {
    let notes = Notes::new(2);
    notes.table("notes").put(item! { "PK" => "SOMETHING", "SK" => "ELSE" }).unwrap();
    notes.table("notes").put(item! {
        "PK" => "USER#ann", "SK" => "NOTE#9999999", "user" => "ann", "number" => 9_999_999, "day" => "2024-01-01",
    }).unwrap();
    let migration = notes.migration(&padded());
    let mut runner = migration.runner(false).unwrap();
    runner.catch_up().unwrap();
    let named: Vec<String> = runner.problems().iter().map(ToString::to_string).collect();
    assert!(named.iter().any(|problem| problem.contains("SOMETHING")), "{named:?}");
    assert!(named.iter().any(|problem| problem.contains("NOTE#9999999")), "{named:?}");
    let error = runner.switch().unwrap_err().to_string();
    assert!(error.contains("2 items are not as they should be"), "{error}");
    assert_eq!(migration.status().unwrap().unwrap().side, Side::Old);
    notes.table("notes").delete(("SOMETHING", "ELSE")).unwrap();
    notes.table("notes").delete(("USER#ann", "NOTE#9999999")).unwrap();
    runner.switch().unwrap();
}

#[test]
fn one_table_is_moved_by_one_migration_at_a_time() {
    let notes = Notes::new(1);
    notes.migration(&padded()).runner(false).unwrap().step().unwrap();
    let other = notes.migration(&padded().replace("notes2", "notes3"));
    let error = other.runner(false).unwrap().step().unwrap_err().to_string();
    assert!(error.contains("another migration moves items of table `notes`"), "{error}");
    notes.migration(&padded()).runner(true).unwrap().rollback().unwrap();
    assert_eq!(other.runner(true).unwrap().step().unwrap(), Step::Worked);
}

#[test]
fn a_stream_without_images_is_refused() {
    let notes = Notes::new(1);
    let keys = r#"{"TableName":"notes","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}"#;
    notes.table("notes").call("UpdateTable", keys).unwrap();
    let error =
        notes.migration(&padded()).runner(false).unwrap().catch_up().unwrap_err().to_string();
    assert!(error.contains("NEW_AND_OLD_IMAGES"), "{error}");
}

#[test]
fn the_stream_of_a_new_table_begins_with_the_switch() {
    let notes = Notes::new(3);
    let has_stream = |table: &str| {
        let body = format!(r#"{{"TableName":"{table}"}}"#);
        let described = notes.table(table).call("DescribeTable", &body).unwrap();
        described.contains("StreamSpecification")
    };
    let migration = notes.migration(&padded());
    let mut runner = migration.runner(false).unwrap();
    runner.verify().unwrap();
    assert!(has_stream("notes") && !has_stream("notes2"), "nobody would read what it has");
    runner.switch().unwrap();
    assert!(has_stream("notes") && has_stream("notes2"));
    runner.rollback().unwrap();
    assert!(!has_stream("notes") && !has_stream("notes2"));
    // What would keep it from being turned on is said before anything is copied.
    let keys = r#"{"TableName":"notes2","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}"#;
    notes.table("notes2").call("UpdateTable", keys).unwrap();
    let again = notes.migration(&padded()).beginning_again();
    let refused = again.runner(false).unwrap().catch_up().unwrap_err().to_string();
    assert!(refused.contains("`notes2`") && refused.contains("KEYS_ONLY"), "{refused}");
    assert_eq!(migration.status().unwrap().map(|status| status.phase), Some(Phase::Expand));
}

/// A condition has at most 300 operators, and an attribute takes two.
#[test]
fn items_of_many_attributes_are_removed_in_the_end() {
    let new = OLD.replace("USER#{user}", "U#{user}");
    for rolls_back in [false, true] {
        let notes = Notes::new(0);
        let table = notes.table("notes");
        table.batch_put((0..3).map(|number| wide(number, "2024-01-01"))).unwrap();
        let migration = notes.migration(&new);
        let mut runner = migration.runner(false).unwrap();
        runner.switch().unwrap();
        let mut written = wide(3, "2024-01-01");
        written.insert("PK", "U#ann");
        table.put(written).unwrap();
        runner.catch_up().unwrap();
        let ended = if rolls_back { runner.rollback() } else { runner.contract() };
        assert_eq!(ended.unwrap().left, []);
        let left = table.scan().collect().unwrap();
        let partition = if rolls_back { "USER#ann" } else { "U#ann" };
        assert!(left.iter().all(|note| note.get("PK") == Some(&partition.into())));
        assert_eq!((left.len(), left[0].len()), (4, 206));
    }
}

#[test]
fn items_of_many_attributes_are_swept() {
    let notes = Notes::new(0);
    let table = notes.table("notes");
    table.batch_put((0..4).map(|number| wide(number, "2024-01-01"))).unwrap();
    let new = OLD.replace("table.notes", "table.notes2").replace("NOTE#{number}", "{day}#{number}");
    let migration = notes.migration(&new);
    migration.runner(false).unwrap().catch_up().unwrap();
    // While the stream forgets, one goes and one gets another key.
    table.delete(("USER#ann", "NOTE#0")).unwrap();
    table.put(wide(1, "2024-01-02")).unwrap();
    for _ in 0..50 {
        notes.clock.advance(Duration::from_hours(1));
        notes.database.run_maintenance().unwrap();
    }
    migration.runner(false).unwrap().catch_up().unwrap();
    assert_eq!(migration.status().unwrap().unwrap().generation, 2);
    assert_eq!(notes.moved(), ["2024-01-01#2", "2024-01-01#3", "2024-01-02#1"]);
}

/// Gives one note the key of another that leaves it, after the changes were read and before the page is.
struct Swaps {
    table: TableClient,
    scans: AtomicUsize,
}

impl Watch for Swaps {
    fn before(&self, operation: &'static str) -> Result<()> {
        if operation == "Scan" && self.scans.fetch_add(1, Ordering::SeqCst) == 1 {
            self.table.put(wide(0, "2024-01-09"))?;
            self.table.put(wide(2, "2024-01-01"))?;
        }
        Ok(())
    }
}

#[test]
fn items_of_many_attributes_are_told_apart() {
    let notes = Notes::new(0);
    let table = notes.table("notes");
    for (number, day) in [(0, "2024-01-01"), (1, "2024-01-02"), (2, "2024-01-03")] {
        table.put(wide(number, day)).unwrap();
    }
    let new = OLD.replace("table.notes", "table.notes2").replace("NOTE#{number}", "DAY#{day}");
    let watch = Arc::new(Swaps { table, scans: AtomicUsize::new(0) });
    let migration = notes.migration(&new).with_watch(watch);
    let mut runner = migration.runner(false).unwrap();
    runner.catch_up().unwrap();
    assert_eq!(notes.moved(), ["DAY#2024-01-01", "DAY#2024-01-02", "DAY#2024-01-09"]);
    assert_eq!(runner.verify().unwrap().problems, []);
}

/// Every request takes seconds, and whoever looks sees how long the runner has been silent.
struct Slow {
    database: Database,
    clock: Arc<ManualClock>,
    longest_ms: AtomicU64,
}

impl Watch for Slow {
    fn before(&self, _operation: &'static str) -> Result<()> {
        for one in Migration::recorded(&self.database)? {
            let silent_ms = self.clock.now_ms().saturating_sub(one.status.seen_ms);
            self.longest_ms.fetch_max(silent_ms, Ordering::SeqCst);
        }
        self.clock.advance(Duration::from_secs(2));
        Ok(())
    }
}

#[test]
fn a_runner_says_that_it_is_alive_whatever_it_does() {
    let new = OLD.replace("USER#{user}", "U#{user}");
    for rolls_back in [false, true] {
        let notes = Notes::new(60);
        let slow = Arc::new(Slow {
            database: notes.database.clone(),
            clock: notes.clock.clone(),
            longest_ms: AtomicU64::new(0),
        });
        let most = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&most);
        let migration = notes.migration(&new).with_watch(slow.clone());
        let migration = migration.telling(move |progress: &Progress| {
            told.fetch_max(progress.looked_at, Ordering::SeqCst);
        });
        let mut runner = migration.runner(false).unwrap();
        runner.switch().unwrap();
        assert!(most.swap(0, Ordering::SeqCst) >= 120, "the comparison told how far it was");
        if rolls_back {
            runner.rollback().unwrap()
        } else {
            runner.contract().unwrap()
        };
        assert!(most.swap(0, Ordering::SeqCst) >= 120, "and so did the removal");
        // Whoever is silent for a minute is replaced.
        let longest_ms = slow.longest_ms.load(Ordering::SeqCst);
        assert!(longest_ms < 60_000, "silent for {longest_ms} ms");
    }
}

#[test]
fn a_runner_that_left_is_not_waited_for() {
    let notes = Notes::new(1);
    let migration = notes.migration(&padded());
    let mut first = migration.runner(false).unwrap();
    first.step().unwrap();
    assert!(migration.runner(false).err().unwrap().to_string().contains("take over"));
    first.leave().unwrap();
    let second = migration.runner(false).unwrap();
    // One that was replaced leaves nothing behind, and does not end the other.
    let third = migration.runner(true).unwrap();
    second.leave().unwrap();
    assert!(migration.runner(false).is_err());
    drop(third);
}

#[test]
fn a_backfill_that_goes_on_counts_what_was_copied_before() {
    let notes = Notes::new(10);
    let migration = notes.migration(&padded());
    let mut runner = migration.runner(false).unwrap();
    for _ in 0..3 {
        runner.step().unwrap();
    }
    assert_eq!(runner.progress().items, 4);
    drop(runner);
    let (least, most) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
    let told = |progress: &Progress| {
        if progress.phase == Phase::Backfill {
            least.fetch_min(progress.items, Ordering::SeqCst);
            most.fetch_max(progress.items, Ordering::SeqCst);
        }
        true
    };
    migration.runner(true).unwrap().catch_up_with(2, &told).unwrap();
    assert!(least.into_inner() >= 4);
    assert_eq!(most.into_inner(), 10);
}

#[test]
fn several_workers_do_what_one_does() {
    let notes = Notes::new(300);
    let migration = Migration::from_toml(&notes.database, OLD, &padded()).unwrap();
    let migration = migration.with_clock(notes.clock.clone()).with_page_items(7).with_segments(9);
    let mut runner = migration.runner(false).unwrap();
    assert!(runner.catch_up_with(4, &|_| true).unwrap());
    assert_eq!(notes.moved().len(), 300);
    let progress = runner.progress();
    assert!(progress.units.0 > 0.0 && progress.units.1 >= 600.0, "{progress:?}");
    assert_eq!(runner.verify().unwrap().items(), 300);
}

/// Whoever has no designs, as the console, sees the same as `status`: what is left, and what the runner does.
#[test]
fn a_database_lists_its_migrations_with_what_their_runners_told() {
    let notes = Notes::new(30);
    assert_eq!(Migration::recorded(&notes.database).unwrap(), []);
    let migration = notes.migration(&padded()).with_page_items(10);
    let mut runner = migration.runner(false).unwrap();
    for _ in 0..3 {
        notes.clock.advance(Duration::from_secs(5));
        runner.step().unwrap();
    }
    let recorded = Migration::recorded(&notes.database).unwrap();
    let [one] = recorded.as_slice() else { panic!("{recorded:?}") };
    assert_eq!(Some(&one.status), migration.status().unwrap().as_ref());
    let copied = CopiedTable { name: "notes".into(), items: 20, of_items: 30, segments: (0, 1) };
    assert_eq!((one.status.phase, &one.status.tables), (Phase::Backfill, &vec![copied]));
    // The last word was before the second page.
    let told = one.status.told.as_ref().unwrap();
    assert_eq!((told.items, told.items_per_s, told.problems), (10, Some(2), 0));
    assert!(told.units.0 > 0 && told.units.1 > 0);
    assert_eq!((one.status.remaining(), one.status.remaining_s()), (10, Some(5)));
    // Another runner begins to count anew.
    drop(runner);
    migration.runner(true).unwrap();
    assert_eq!(migration.status().unwrap().unwrap().told, None);
}

#[test]
fn a_lost_state_is_named_and_a_rollback_is_the_way_out() {
    let notes = Notes::new(6);
    let migration = notes.migration(&padded());
    let mut runner = migration.runner(false).unwrap();
    runner.catch_up().unwrap();
    notes.table("notes").put(note("ann", 1, "2024-01-02")).unwrap();
    runner.catch_up().unwrap();
    let all = notes.table("keyloom_migrations");
    all.call("DeleteTable", r#"{"TableName":"keyloom_migrations"}"#).unwrap();
    notes.table("notes").put(note("ann", 1, "2024-01-03")).unwrap();
    let error = runner.catch_up().unwrap_err().to_string();
    let named = error.contains("`keyloom_migrations`");
    assert!(named && error.contains("is not there any more"), "{error}");
    drop(runner);
    // Begun anew, it cannot tell that what it finds is older than what it reads; it does not switch.
    let mut runner = migration.runner(false).unwrap();
    runner.catch_up().unwrap();
    let refused = runner.switch().unwrap_err().to_string();
    assert!(refused.contains("NOTE#1`") && refused.contains("another `day`"), "{refused}");
    runner.rollback().unwrap();
    assert_eq!(notes.table("notes").scan().collect().unwrap().len(), 6);
    let over = notes.migration(&padded());
    assert_eq!(over.runner(true).unwrap().step().unwrap(), Step::Over);
    let again = notes.migration(&padded()).beginning_again();
    let mut runner = again.runner(false).unwrap();
    runner.catch_up().unwrap();
    runner.switch().unwrap();
    runner.contract().unwrap();
    let moved = notes.table("notes2").get(("USER#ann", "NOTE#000001")).unwrap().unwrap();
    assert_eq!(moved.get("day"), Some(&"2024-01-03".into()));
    assert_eq!(notes.moved().len(), 6);
}

#[test]
fn a_table_that_is_deleted_meanwhile_is_named() {
    for (table, deleted) in [("notes", "notes"), ("notes2", "notes2")] {
        let notes = Notes::new(9);
        let migration = notes.migration(&padded());
        let mut runner = migration.runner(false).unwrap();
        runner.step().unwrap();
        let body = format!(r#"{{"TableName":"{deleted}"}}"#);
        notes.table(table).call("DeleteTable", &body).unwrap();
        let error = (0..20).find_map(|_| runner.step().err()).unwrap().to_string();
        assert!(error.contains(&format!("`{deleted}`")), "{error}");
    }
}
