//! Programs with the typed client of both designs, writing and reading in every phase, switched and rolled back under load.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{scope, sleep};
use std::time::Duration;

use keyloom::migrate::{During, Migration, Runner, Side, Watch};
use keyloom::prelude::*;
use keyloom::{Backend, Error, Result};
use keyloom_core::hash::SplitMix64;
use keyloom_server::{Config, Server};

use new::{Notes, NotesOf};
use old::OldNotes;

#[keyloom::design(name = OldNotes, table(notes, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
pub(crate) mod old {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "USER#{user}",
        SK = "NOTE#{number}",
        GSI1PK = "STATUS#{status}",
        GSI1SK = "{number}"
    )]
    pub(crate) struct Note {
        pub(crate) user: String,
        pub(crate) number: u32,
        pub(crate) status: String,
        pub(crate) title: String,
        pub(crate) count: u64,
    }

    #[derive(Access)]
    #[access(find = Note, name = "of a user")]
    pub(crate) struct NotesOf {
        pub(crate) user: String,
    }
}

/// Another table, another key with a field that changes, a renamed attribute.
#[keyloom::design(name = Notes, table(notes2, PK, SK))]
pub(crate) mod new {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "U#{user}", SK = "{status}#{number}", was(old::Note))]
    pub(crate) struct Note {
        pub(crate) user: String,
        pub(crate) number: u32,
        pub(crate) status: String,
        #[field(was = "title")]
        pub(crate) name: String,
        pub(crate) count: u64,
    }

    #[derive(Access)]
    #[access(find = Note, name = "of a user", was(old::NotesOf))]
    pub(crate) struct NotesOf {
        pub(crate) user: String,
    }
}

const STATES: [&str; 3] = ["open", "done", "late"];
const KILLED: &str = "killed";

/// Kills the runner at some requests.
struct Killer {
    random: Mutex<SplitMix64>,
    per_mille: usize,
}

impl Watch for Killer {
    fn before(&self, _operation: &'static str) -> Result<()> {
        if self.random.lock().unwrap().below(1000) < self.per_mille {
            return Err(Error::Config(KILLED.into()));
        }
        Ok(())
    }
}

/// A program that writes the notes of one user, and knows what they are.
struct Writer {
    notes: During<OldNotes, Notes>,
    user: String,
    random: SplitMix64,
    known: BTreeMap<u32, new::Note>,
}

impl Writer {
    fn draw(&mut self, number: u32) -> new::Note {
        new::Note {
            user: self.user.clone(),
            number,
            status: (*self.random.pick(&STATES).unwrap()).to_owned(),
            name: format!("n{}", self.random.below(50)),
            count: self.random.below(1000) as u64,
        }
    }

    fn step(&mut self) {
        let number = self.random.below(12) as u32;
        let stored = self.known.get(&number).cloned();
        match (self.random.below(8), stored) {
            (0, Some(note)) => {
                assert_eq!(self.notes.delete(note.key()).unwrap(), Some(note));
                self.known.remove(&number);
            }
            (1..=3, Some(note)) => {
                let wanted = self.draw(number);
                let changed = self.notes.update(note.key(), |note| *note = wanted.clone()).unwrap();
                assert_eq!(changed, wanted);
                self.known.insert(number, wanted);
            }
            (4, Some(note)) => {
                let error = self.notes.create(&note).unwrap_err();
                assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
            }
            (5, Some(note)) if !self.known.contains_key(&(number + 100)) => {
                // A key that changes: the old one goes in the same transaction.
                let mut wanted = self.draw(number);
                wanted.number = number + 100;
                self.notes.transaction().put(&wanted).delete(note).commit().unwrap();
                self.known.remove(&number);
                self.known.insert(number + 100, wanted);
            }
            (_, None) => {
                let note = self.draw(number);
                self.notes.create(&note).unwrap();
                self.known.insert(number, note);
            }
            (_, Some(note)) => {
                let same = new::Note { count: note.count + 1, ..note };
                self.notes.put(&same).unwrap();
                self.known.insert(number, same);
            }
        }
        self.check(number);
    }

    /// Whoever wrote reads what was written.
    fn check(&mut self, number: u32) {
        if let Some(note) = self.known.get(&number) {
            assert_eq!(self.notes.get_consistent(note.key()).unwrap().as_ref(), Some(note));
        }
        let found = self.notes.query(NotesOf { user: self.user.clone() }).consistent().collect();
        assert_eq!(by_number(found.unwrap()), self.known);
    }
}

fn by_number(notes: Vec<new::Note>) -> BTreeMap<u32, new::Note> {
    let count = notes.len();
    let all: BTreeMap<u32, new::Note> = notes.into_iter().map(|note| (note.number, note)).collect();
    assert_eq!(all.len(), count, "a note came twice");
    all
}

fn counter() -> new::Note {
    new::Note {
        user: "shared".into(),
        number: 7,
        status: "open".into(),
        name: "counter".into(),
        count: 0,
    }
}

/// Does something until it was not killed.
fn insist<T>(migration: &Migration, mut work: impl FnMut(&mut Runner<'_>) -> Result<T>) -> T {
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_mins(5) {
        match migration.runner(true).and_then(|mut runner| work(&mut runner)) {
            Ok(done) => return done,
            Err(Error::Config(reason)) if reason == KILLED => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("it was killed too often, or takes too long")
}

fn open(backend: &Backend) -> During<OldNotes, Notes> {
    Notes::during::<OldNotes>(backend.clone()).unwrap().with_retry(keyloom::Retry::default())
}

/// Takes a migration to its end, killed now and then, with pauses in which others work.
fn go_through(migration: &Migration, backend: &Backend, roll_back: bool) {
    sleep(Duration::from_millis(20));
    insist(migration, |runner| runner.catch_up());
    sleep(Duration::from_millis(50));
    insist(migration, |runner| match runner.switch() {
        Err(Error::Migration(why)) if why.contains("use the new form already") => Ok(()),
        other => other,
    });
    assert_eq!(open(backend).side().unwrap(), Side::New);
    sleep(Duration::from_millis(50));
    insist(migration, |runner| runner.catch_up());
    let end = |ended: Result<keyloom::migrate::Contracted>| match ended {
        Err(Error::Migration(why)) if why.contains("is over") => Ok(()),
        other => other.map(drop),
    };
    if roll_back {
        insist(migration, |runner| end(runner.rollback()));
    } else {
        insist(migration, |runner| end(runner.contract()));
    }
    sleep(Duration::from_millis(20));
}

/// One life; programs rest for a `pause` between two requests.
fn run(backend: &Backend, seed: u64, roll_back: bool, pause: Duration) {
    let (over, acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
    let killer = Killer { random: Mutex::new(SplitMix64::new(seed)), per_mille: 5 };
    let migration = Migration::between::<OldNotes, Notes>(backend.clone()).unwrap();
    let migration = migration
        .with_marker_age(Duration::from_millis(20))
        .with_page_items(3)
        .with_segments(2)
        .with_watch(Arc::new(killer));
    OldNotes::open(backend.clone()).unwrap().create_tables().unwrap();
    open(backend).put(&counter()).unwrap();
    let running = || !over.load(Ordering::SeqCst);
    let running = &running;
    let written = scope(|scope| {
        let writer = |name: &'static str| {
            let (notes, random) = (open(backend), SplitMix64::new(seed ^ name.len() as u64));
            let mut writer = Writer { notes, user: name.into(), random, known: BTreeMap::new() };
            scope.spawn(move || {
                while running() {
                    writer.step();
                    sleep(pause);
                }
                writer.known
            })
        };
        let writers = [writer("ann"), writer("bob!")];
        scope.spawn(|| {
            let notes = open(backend);
            while running() {
                let count = notes.update(counter().key(), |note| note.count += 1).unwrap().count;
                acknowledged.fetch_max(count, Ordering::SeqCst);
                sleep(pause / 2);
            }
        });
        // Somebody else never sees less than what was acknowledged before the question.
        scope.spawn(|| {
            let notes = open(backend);
            while running() {
                let least = acknowledged.load(Ordering::SeqCst);
                let found = notes.get_consistent(counter().key()).unwrap();
                let count = found.map(|note| note.count);
                assert!(count >= Some(least), "{count:?} after {least} was acknowledged");
                sleep(pause / 4);
            }
        });
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            go_through(&migration, backend, roll_back);
        }));
        over.store(true, Ordering::SeqCst);
        let known = writers.map(|writer| writer.join().unwrap());
        ended.unwrap();
        known
    });
    // What is left is what was written, in one form alone.
    let all = written.into_iter().flat_map(BTreeMap::into_values).count() + 1;
    let count = |table: &str| {
        let client = keyloom::TableClient::new(backend.clone(), table);
        let items = client.with_keys("PK", "SK").scan().collect().unwrap();
        let marked = items.iter().find(|item| item.contains_key("keyloom_migration"));
        assert_eq!(marked, None);
        items.len()
    };
    assert_eq!(count(if roll_back { "notes" } else { "notes2" }), all);
    let left = open(backend).get_consistent(counter().key()).unwrap().unwrap();
    assert_eq!(left.count, acknowledged.load(Ordering::SeqCst), "no addition is lost");
}

#[test]
fn programs_are_right_in_every_phase() {
    let runs = std::env::var("KEYLOOM_DURING").ok().and_then(|runs| runs.parse().ok()).unwrap_or(2);
    for seed in 1..=runs {
        let pause = Duration::from_millis(1);
        run(&Backend::from(&Database::memory()), seed, seed % 2 == 0, pause);
    }
}

/// Every request may be late, repeated or answered to nobody; the programs share nothing but the server.
#[test]
fn programs_are_right_in_every_phase_over_http() {
    let runs = std::env::var("KEYLOOM_DURING").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1);
    for seed in 1..=runs {
        let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
        let server = Server::start(config, Database::memory()).unwrap();
        let remote = Remote::new(Endpoint::url(server.url())).unwrap();
        run(&Backend::from(remote), seed, seed % 2 == 1, Duration::from_millis(10));
        server.shutdown();
    }
}

#[test]
fn a_write_waits_for_a_switch_and_a_wrong_design_is_refused() {
    let database = Backend::from(&Database::memory());
    let notes = open(&database);
    let note = new::Note { count: 3, ..counter() };
    notes.put(&note).unwrap();
    assert_eq!(notes.get(note.key()).unwrap(), Some(note.clone()));
    // A key of the new design that says more than the old one does not find what it does not mean.
    let other = new::Note { status: "late".into(), ..note.clone() };
    assert_eq!(notes.get(other.key()).unwrap(), None);
    assert_eq!(notes.delete(other.key()).unwrap(), None);
    assert!(matches!(notes.update(other.key(), |_| ()), Err(Error::NotFound { .. })));
    // A cursor of one form is no cursor of the other.
    notes.put(&new::Note { number: 8, ..note.clone() }).unwrap();
    let of = || NotesOf { user: "shared".into() };
    let page = notes.query(of()).limit(1).page().unwrap();
    assert_eq!(page.items.len(), 1);
    let rest = notes.query(of()).limit(1).after(page.cursor.as_ref()).page().unwrap();
    assert_eq!(rest.items[0].number, 8);
    let migration = Migration::between::<OldNotes, Notes>(database).unwrap();
    let migration = migration.with_marker_age(Duration::from_millis(10));
    let mut runner = migration.runner(false).unwrap();
    runner.switch().unwrap();
    let refused = notes.query(of()).limit(1).after(page.cursor.as_ref()).page();
    assert!(matches!(refused, Err(Error::Cursor(_))), "{refused:?}");
    assert_eq!(notes.query(of()).first().unwrap(), Some(note));
}
