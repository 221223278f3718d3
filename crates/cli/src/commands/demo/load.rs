//! A skewed load on the task-management design, with a few mistakes in it: what the doctor is for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyloom_core::Operation;
use keyloom_core::observation::Observer;
use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_design::evaluate::{Inputs, Row};
use keyloom_design::generate::{GenerateOptions, generate, inputs_for};
use keyloom_design::plan::{Request, plan, requests};
use keyloom_engine::Options;
use keyloom_keys::{Ulid, Value};
use keyloom_observe::{Monitor, Sampling, StatsCollector, StatsOptions, Throttle};
use serde_json::json;

use crate::observed::ObservedDatabase;
use crate::output::Failure;
use crate::trial::{Engine, Refusal, wire_item};

/// Items in the tables, and rounds of requests.
const ITEMS: usize = 2000;
const ROUNDS: usize = 1200;
const SEED: u64 = 7;
/// The pause between two rounds of a continuous load.
const PAUSE: Duration = Duration::from_millis(50);

/// The database of the demo, its items and its load.
pub(super) struct Traffic {
    engine: Engine,
    rows: Vec<Row>,
    reads: Vec<(f64, Vec<Vec<Request>>)>,
    observed: ObservedDatabase,
}

impl Traffic {
    /// Loads the items; no request is made yet.
    pub(super) fn new(design: &Design, background: bool) -> Result<Self, Failure> {
        // With every request seen, the rates of a load that lasts a second or so are exact.
        let seen = StatsOptions { sampling: Sampling::All, ..StatsOptions::default() };
        let statistics = Arc::new(StatsCollector::new(seen));
        statistics.load_designs(std::slice::from_ref(design));
        let monitor =
            Monitor::new(Throttle::Observe).with(Arc::clone(&statistics) as Arc<dyn Observer>);
        let monitor = Arc::new(monitor);
        let observer = Some(Arc::clone(&monitor) as Arc<dyn Observer>);
        let options = Options { background, observer, ..Options::default() };
        let rows =
            generate(design, &GenerateOptions { items: ITEMS, seed: SEED, adversarial: false });
        let load = || -> Result<Engine, Refusal> {
            let engine = Engine::with_options(design, options)?;
            engine.load(&rows, &mut |_| {})?;
            Ok(engine)
        };
        let engine = load().map_err(|refusal| refused(&refusal))?;
        // Only what users do is of interest.
        statistics.reset();
        let observed = ObservedDatabase {
            database: engine.database().clone(),
            statistics: Some(statistics),
            monitor,
            console: None,
        };
        let reads = reads(design, &rows);
        Ok(Self { engine, rows, reads, observed })
    }

    /// The database with its statistics.
    pub(super) fn observed(&self) -> &ObservedDatabase {
        &self.observed
    }

    /// Asks for one round; the busy project is the one with this number.
    fn round(&self, number: usize, busy: usize) -> Result<(), Failure> {
        let round = Round { engine: &self.engine, rows: &self.rows, number, busy };
        round.run(&self.reads).map_err(|refusal| refused(&refusal))
    }

    /// Asks until told to stop: twenty rounds a second, and every minute another project is the busy one. Whoever uses the
    /// console may delete what is asked for: then there is nothing to ask.
    pub(super) fn flow(&self, is_over: &AtomicBool) {
        for number in 0.. {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            drop(self.round(number % ROUNDS, number / ROUNDS));
            std::thread::sleep(PAUSE);
        }
    }
}

fn refused(refusal: &Refusal) -> Failure {
    Failure::refused(format_args!("the demo's own load is refused: {refusal}"))
}

/// Runs the load and returns the database with its statistics.
pub(super) fn run(design: &Design) -> Result<ObservedDatabase, Failure> {
    let traffic = Traffic::new(design, false)?;
    (0..ROUNDS).try_for_each(|number| traffic.round(number, 0))?;
    Ok(traffic.observed.clone())
}

/// The requests of every pattern that states a rate, with how often each is made.
fn reads(design: &Design, rows: &[Row]) -> Vec<(f64, Vec<Vec<Request>>)> {
    let plans = plan(design, &Prices::default());
    let patterns = design.accesses().iter().zip(&plans);
    let rated = patterns.filter_map(|(access, plan)| {
        let rate = access.rate?.average;
        let inputs: Vec<Inputs> = inputs_for(access, rows, SEED, 40);
        let made = inputs.iter().filter_map(|inputs| requests(access, plan, inputs).ok());
        Some((rate, made.collect()))
    });
    rated.collect()
}

/// One round: some reads by the design, then writes of one busy project, then requests outside the design.
struct Round<'a> {
    engine: &'a Engine,
    rows: &'a [Row],
    number: usize,
    /// Which project most tasks are written to.
    busy: usize,
}

impl Round<'_> {
    fn run(&self, reads: &[(f64, Vec<Vec<Request>>)]) -> Result<(), Refusal> {
        for (rate, calls) in reads {
            // As often as the rates stand to each other; early inputs far more often than late ones.
            if self.number.is_multiple_of((300.0 / rate.max(1.0)).ceil() as usize) {
                let skewed =
                    (self.number * self.number) % 97 * calls.len() / 97 / (1 + self.number % 9);
                for request in calls.get(skewed).into_iter().flatten() {
                    self.engine.call(request.operation, &request.body)?;
                }
            }
        }
        self.busy_project()?;
        if self.number.is_multiple_of(4) {
            self.mistakes()?;
        }
        Ok(())
    }

    /// Most tasks are written to one project.
    fn busy_project(&self) -> Result<(), Refusal> {
        let tasks = || self.rows.iter().filter(|row| row.entity.name == "Task");
        let count = tasks().count().max(1);
        // Far apart, so that another task is of another project.
        let Some(busy) = tasks().nth(self.busy * 37 % count) else { return Ok(()) };
        for task in 0..3 {
            let id = format!("01HM5KXJ8M{:016}", self.number * 3 + task).parse::<Ulid>();
            let mut row = busy.clone();
            row.values.extend(id.map(|id| ("task_id".to_owned(), Value::Ulid(id))));
            let item = wire_item(&row.item());
            self.engine.call(Operation::PutItem, &json!({ "TableName": "tasks", "Item": item }))?;
        }
        Ok(())
    }

    /// A read before a write, tags that no pattern asks for, and a scan with a filter.
    fn mistakes(&self) -> Result<(), Refusal> {
        let of = |name: &'static str| self.rows.iter().filter(move |row| row.entity.name == name);
        if let Some(user) = of("User").nth(self.number % 20) {
            let item = wire_item(&user.item());
            let part = |name: &str| item.get(name).cloned().unwrap_or_default();
            let key = json!({ "PK": part("PK"), "SK": part("SK") });
            self.engine.call(Operation::GetItem, &json!({ "TableName": "tasks", "Key": key }))?;
            self.engine.call(Operation::PutItem, &json!({ "TableName": "tasks", "Item": item }))?;
        }
        if let Some(tag) = of("Tag").nth(self.number % 30) {
            let task = wire_item(&tag.item()).get("PK").cloned().unwrap_or_default();
            let values: HashMap<&str, _> =
                HashMap::from([(":task", task), (":tag", json!({ "S": "TAG#" }))]);
            self.engine.call(
                Operation::Query,
                &json!({
                    "TableName": "tasks",
                    "KeyConditionExpression": "PK = :task AND begins_with(SK, :tag)",
                    "ExpressionAttributeValues": values,
                }),
            )?;
        }
        if self.number.is_multiple_of(100) {
            self.engine.call(
                Operation::Scan,
                &json!({
                    "TableName": "tasks",
                    "FilterExpression": "content_type = :type",
                    "ExpressionAttributeValues": { ":type": { "S": "image/png" } },
                }),
            )?;
        }
        Ok(())
    }
}
