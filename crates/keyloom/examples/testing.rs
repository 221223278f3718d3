//! How does each test get a database of its own? The data is loaded once; every test forks it.

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]

use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "USER#{user}", SK = "NOTE#{number}")]
    pub struct Note {
        pub user: String,
        pub number: u32,
        pub text: String,
    }

    #[derive(Access)]
    #[access(find = Note, order = "number")]
    pub struct NotesOf {
        pub user: String,
    }
}
use notes::*;

type Anything = Box<dyn std::error::Error + Send + Sync>;

/// What every test starts from.
fn fill(database: &Database) -> Result<(), Anything> {
    let notes = Notes::open(database)?;
    for number in 1..=1000 {
        notes.create(&Note { user: "ann".into(), number, text: "buy milk".into() })?;
    }
    Ok(())
}

fn main() -> Result<(), Anything> {
    let loaded = Database::memory();
    fill(&loaded)?;

    let tests: Vec<_> = (1..=4u32)
        .map(|test| {
            let loaded = loaded.clone();
            std::thread::spawn(move || -> Result<usize, Anything> {
                let mine = loaded.fork().ok_or("only databases in memory fork")?;
                let notes = Notes::open(&mine)?;
                for number in 1..=test {
                    notes.delete(Note::at("ann", number))?;
                }
                Ok(notes.query(NotesOf { user: "ann".into() }).collect()?.len())
            })
        })
        .collect();
    for (test, thread) in (1..).zip(tests) {
        let left = thread.join().map_err(|_| "a test panicked")??;
        println!("test {test} deleted {test} of its notes and sees {left}");
        assert_eq!(left, 1000 - test);
    }
    let untouched = Notes::open(&loaded)?.query(NotesOf { user: "ann".into() }).collect()?;
    assert_eq!(untouched.len(), 1000);
    println!("the loaded database still has {}", untouched.len());
    Ok(())
}
