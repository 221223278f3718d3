//! What the types cost: the typed calls beside the engine's own, on a database in memory; and what awaiting a call costs.
//!
//! `cargo bench -p keyloom --bench overhead`. Wall clock, the two sides in turns, so that only their ratio matters.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_imports,
    clippy::indexing_slicing,
    clippy::struct_field_names,
    reason = "a benchmark"
)]

use std::time::{Duration, Instant};

use keyloom::prelude::*;
use keyloom::{AttributeValue, Item, Number};
use keyloom_engine::{GetItemInput, PutItemInput};

#[keyloom::design(table(bench, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
mod bench {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "PROJECT#{project}",
        SK = "TASK#{task}",
        GSI1PK = "TASK#{task}",
        GSI1SK = "METADATA"
    )]
    pub struct Task {
        pub project: String,
        pub task: String,
        pub title: String,
        pub description: String,
        pub status: String,
        pub points: u32,
    }
}
use bench::*;

const ITEMS: usize = 20_000;
const ROUNDS: usize = 9;

fn name(number: usize) -> (String, String) {
    (format!("p{}", number % 100), format!("t{number:08}"))
}

fn task(number: usize) -> Task {
    let (project, task) = name(number);
    Task {
        project,
        task,
        title: "Design the authentication endpoints".into(),
        description: "OAuth 2 for the public API, with refresh tokens".into(),
        status: "In Progress".into(),
        points: 5,
    }
}

/// What a careful program would write by hand.
fn raw_item(task: &Task) -> Item {
    let mut item = Item::with_capacity(10);
    item.insert("GSI1PK", format!("TASK#{}", task.task));
    item.insert("GSI1SK", "METADATA");
    item.insert("PK", format!("PROJECT#{}", task.project));
    item.insert("SK", format!("TASK#{}", task.task));
    item.insert("description", task.description.as_str());
    item.insert("points", Number::from(task.points));
    item.insert("project", task.project.as_str());
    item.insert("status", task.status.as_str());
    item.insert("task", task.task.as_str());
    item.insert("title", task.title.as_str());
    item
}

fn raw_key(project: &str, task: &str) -> Item {
    let mut key = Item::with_capacity(2);
    key.insert("PK", format!("PROJECT#{project}"));
    key.insert("SK", format!("TASK#{task}"));
    key
}

/// A task from an item, by hand.
fn from_raw(item: &Item) -> Task {
    let text = |name| item.get(name).and_then(AttributeValue::as_s).unwrap().to_owned();
    Task {
        project: text("project"),
        task: text("task"),
        title: text("title"),
        description: text("description"),
        status: text("status"),
        points: item.get("points").unwrap().as_n().unwrap().to_i64().unwrap() as u32,
    }
}

/// A round on the clock, and in processor time of all threads, which other programs do not lengthen.
fn timed(mut work: impl FnMut(usize)) -> [Duration; 2] {
    let (start, before) = (Instant::now(), processor());
    (0..ITEMS).for_each(&mut work);
    [start.elapsed(), processor().saturating_sub(before)]
}

/// What the threads of this process have run so far; nothing where the system does not say.
fn processor() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let said = threads.filter_map(|it| std::fs::read_to_string(it.path().join("schedstat")).ok());
    Duration::from_nanos(said.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum())
}

/// The best round of each side, taken in turns.
fn compare(what: &str, mut raw: impl FnMut(usize), mut typed: impl FnMut(usize)) {
    let mut best = [[Duration::MAX; 2]; 2];
    for _ in 0..ROUNDS {
        for (best, round) in best.iter_mut().zip([timed(&mut raw), timed(&mut typed)]) {
            *best = [best[0].min(round[0]), best[1].min(round[1])];
        }
    }
    let each = |time: Duration| time.as_nanos() as f64 / ITEMS as f64;
    for (at, measure) in ["on the clock", "of processor time"].iter().enumerate() {
        let (raw, typed) = (each(best[0][at]), each(best[1][at]));
        let over = 100.0 * (typed / raw - 1.0);
        println!("{what}: raw {raw:.0} ns, typed {typed:.0} ns {measure}, {over:+.1} %");
    }
}

fn main() {
    let database = Database::memory();
    let table = Bench::open(&database).unwrap();
    let tasks: Vec<Task> = (0..ITEMS).map(task).collect();
    compare(
        "put",
        |number| {
            let input = PutItemInput {
                table_name: "bench".into(),
                item: raw_item(&tasks[number]),
                ..PutItemInput::default()
            };
            database.put_item(input).unwrap();
        },
        |number| table.put(&tasks[number]).unwrap(),
    );
    compare(
        "get",
        |number| {
            let task = &tasks[number];
            let input = GetItemInput {
                table_name: "bench".into(),
                key: raw_key(&task.project, &task.task),
                ..GetItemInput::default()
            };
            let item = database.get_item(input).unwrap().into_item().unwrap().unwrap();
            std::hint::black_box(from_raw(&item));
        },
        |number| {
            std::hint::black_box(table.get(tasks[number].key()).unwrap().unwrap());
        },
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    compare(
        "get, awaited (the raw side is the typed call)",
        |number| {
            std::hint::black_box(table.get(tasks[number].key()).unwrap().unwrap());
        },
        |number| {
            let key = tasks[number].key();
            let got = table.run(move |table| table.get(key));
            std::hint::black_box(runtime.block_on(got).unwrap().unwrap());
        },
    );
}
