//! A database, programs that write to it, and what it should hold.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use keyloom::designs::cost::Prices;
use keyloom::designs::evaluate::{Row, expected, item_label};
use keyloom::designs::generate::{inputs_for, shard_of};
use keyloom::designs::model::{Design, FieldKind, Table};
use keyloom::designs::plan::plan;
use keyloom::migrate::{MigrationPlan, Side};
use keyloom::{
    AttributeValue, Backend, Database, Item, ManualClock, Options, PlanRunner, Retry, TableClient,
    Value,
};
use keyloom_core::hash::SplitMix64;

/// One thing that programs know, whatever its form.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    entity: String,
    values: BTreeMap<String, Value<'static>>,
    /// An attribute that no design mentions.
    note: Option<String>,
}

pub(crate) struct World {
    pub(crate) database: Database,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) random: SplitMix64,
    pub(crate) plan: MigrationPlan,
    pub(crate) facts: BTreeMap<String, Fact>,
    /// Which form programs write.
    pub(crate) side: Side,
    /// How many more writes they make.
    pub(crate) writes: usize,
}

impl World {
    pub(crate) fn new(plan: MigrationPlan, seed: u64) -> Self {
        let clock = Arc::new(ManualClock::at_ms(1_700_000_000_000));
        let options = Options { clock: clock.clone(), background: false, ..Options::default() };
        let random = SplitMix64::new(seed ^ 0x5eed);
        let database = Database::memory_with(options);
        let (facts, side) = (BTreeMap::new(), Side::Old);
        let mut world = Self { database, clock, random, plan, facts, side, writes: 0 };
        for table in world.plan.old().tables().to_vec() {
            world.create(&table);
        }
        for _ in 0..world.random.below(14) {
            world.write();
        }
        world
    }

    pub(crate) fn backend(&self) -> Backend {
        Backend::from(&self.database)
    }

    fn create(&self, table: &Table) {
        let mut client = TableClient::new(self.backend(), &table.name).with_keys("PK", "SK");
        for index in table.secondary() {
            let (hash, range) = (index.hash[0].name.clone(), index.range[0].name.clone());
            client = client.with_index(index.label(), [&*hash], [&*range]);
        }
        client.create().unwrap();
        if let Some(ttl) = &table.ttl {
            let body = format!(
                r#"{{"TableName":"{}","TimeToLiveSpecification":{{"Enabled":true,"AttributeName":"{ttl}"}}}}"#,
                table.name
            );
            client.call("UpdateTimeToLive", &body).unwrap();
        }
    }

    fn client(&self, table: &str) -> TableClient {
        TableClient::new(self.backend(), table).with_keys("PK", "SK")
    }

    /// A fact as the items of one form, each with its table.
    fn items(&self, fact: &Fact, side: Side) -> Vec<(Row, Item)> {
        let old = self.plan.old().entity(&fact.entity).unwrap();
        let rows: Vec<Row> = match side {
            Side::Old => vec![Row { entity: old.clone(), values: fact.values.clone() }],
            Side::New => {
                let routes = self.plan.forward.routes().iter();
                let routes = routes.filter(|route| route.from.name == fact.entity);
                let row = |route: &keyloom::designs::migration::Route| {
                    let mut values = BTreeMap::new();
                    for field in &route.to.fields {
                        let was = field.was.as_ref().unwrap_or(&field.name);
                        if let Some(value) = fact.values.get(was) {
                            let loose = field.is_time() && matches!(value, Value::Text(_));
                            let value = if loose {
                                Value::Time(value.to_string().parse().unwrap())
                            } else {
                                value.clone()
                            };
                            values.insert(field.name.clone(), value);
                        }
                        if let FieldKind::Shard(shards) = &field.kind {
                            let by = |name: &str| fact.values.get(name).cloned();
                            let shard = shard_of(&route.to, &shards.by, shards.count, by).unwrap();
                            values.insert(field.name.clone(), Value::from(shard));
                        }
                    }
                    Row { entity: route.to.clone(), values }
                };
                routes.map(row).collect()
            }
        };
        let item = |row: Row| {
            let mut item = row.item();
            if let Some(note) = &fact.note {
                item.insert("note", note.as_str());
            }
            (row, item)
        };
        rows.into_iter().map(item).collect()
    }

    fn label(fact: &Fact) -> String {
        format!("{} {:?} {:?}", fact.entity, fact.values["org"], fact.values["id"])
    }

    fn draw(&mut self) -> Fact {
        let names: Vec<String> =
            self.plan.old().entities().iter().map(|entity| entity.name.clone()).collect();
        let entity = self.random.pick(&names).unwrap().clone();
        let org = self.random.pick(&["a", "b", "ab"]).unwrap().to_string();
        let id = *self.random.pick(&[1_u32, 2, 9, 10, 11, 99, 100]).unwrap();
        // Merged entities must not share what identifies them.
        let id =
            if self.plan.old().entities().len() > 1 && entity == "Chore" { id + 1000 } else { id };
        let mut values = BTreeMap::from([
            ("org".to_owned(), Value::from(org)),
            ("id".to_owned(), Value::from(id)),
        ]);
        self.redraw(&entity, &mut values);
        let note = self.random.percent(30).then(|| format!("n{}", self.random.below(9)));
        Fact { entity, values, note }
    }

    /// New values of everything that does not identify.
    fn redraw(&mut self, entity: &str, values: &mut BTreeMap<String, Value<'static>>) {
        let status = self.random.pick(&["open", "done", "late"]).unwrap().to_string();
        values.insert("status".into(), Value::from(status));
        values.insert("title".into(), Value::from(format!("t{}", self.random.below(20))));
        let day = 1 + self.random.below(28);
        let time = format!("2024-01-{day:02}T10:00:00Z");
        let loose = self.plan.old().entity(entity).unwrap().field("at").unwrap().is_loose_time();
        let time = if loose { Value::from(time) } else { Value::Time(time.parse().unwrap()) };
        values.insert("at".into(), time);
        if self.plan.old().entity(entity).unwrap().field("score_of").is_some() {
            values.insert("score_of".into(), Value::from(self.random.below(200) as u32));
        }
        values.remove("score");
        values.remove("expires");
        if self.random.percent(50) {
            values.insert("score".into(), Value::from(self.random.below(9) as u32));
        }
        if self.random.percent(15) {
            use keyloom::Clock;
            let expires = self.clock.now_ms() / 1000 + 60;
            values.insert("expires".into(), Value::from(expires));
        }
    }

    /// One write of a program that knows nothing of the migration, or the passing of time.
    pub(crate) fn write(&mut self) {
        if self.random.percent(6) {
            return self.pass_time();
        }
        let known: Vec<String> = self.facts.keys().cloned().collect();
        let some = self.random.pick(&known).cloned();
        match (self.random.below(10), some) {
            (0..=1, Some(label)) => self.replace(&label, None),
            (2..=6, Some(label)) => {
                let mut fact = self.facts[&label].clone();
                let mut values = fact.values.clone();
                self.redraw(&fact.entity.clone(), &mut values);
                fact.values = values;
                self.replace(&label, Some(fact));
            }
            _ => {
                let fact = self.draw();
                let label = Self::label(&fact);
                self.replace(&label, Some(fact));
            }
        }
    }

    /// Writes what a fact becomes, in the form that programs use, in one transaction.
    fn replace(&mut self, label: &str, fact: Option<Fact>) {
        let before =
            self.facts.get(label).map(|fact| self.items(fact, self.side)).unwrap_or_default();
        let after = fact.as_ref().map(|fact| self.items(fact, self.side)).unwrap_or_default();
        let key = |row: &Row, item: &Item| {
            (
                row.entity.table.name.clone(),
                item.get("PK").cloned().unwrap(),
                item.get("SK").cloned().unwrap(),
            )
        };
        let clients: Vec<TableClient> = before
            .iter()
            .chain(&after)
            .map(|(row, _)| self.client(&row.entity.table.name))
            .collect();
        let mut transaction = clients[0].transaction();
        let kept: Vec<_> = after.iter().map(|(row, item)| key(row, item)).collect();
        for (at, (row, item)) in before.iter().enumerate() {
            let gone = key(row, item);
            if !kept.contains(&gone) {
                transaction = transaction.table(&clients[at]).delete((gone.1, gone.2));
            }
        }
        for (at, (row, item)) in after.iter().enumerate() {
            let client = &clients[before.len() + at];
            let (_, pk, sk) = key(row, item);
            let mut item = item.clone();
            // Some programs write back what they have read, with everything that is in it.
            if self.random.percent(50)
                && let Some(there) = client.get((pk, sk)).unwrap()
                && let Some(mark) = there.get("keyloom_migration")
            {
                item.insert("keyloom_migration", mark.clone());
            }
            transaction = transaction.table(client).put(item);
        }
        transaction.commit().unwrap();
        match fact {
            Some(fact) => drop(self.facts.insert(label.to_owned(), fact)),
            None => drop(self.facts.remove(label)),
        }
    }

    /// Minutes pass, and what has expired goes.
    fn pass_time(&mut self) {
        use keyloom::Clock;
        self.clock.advance(Duration::from_secs(90));
        self.database.run_maintenance().unwrap();
        let now_s = (self.clock.now_ms() / 1000) as i64;
        self.facts.retain(|_, fact| match fact.values.get("expires") {
            Some(Value::Int(expires)) => i64::try_from(*expires).unwrap() > now_s,
            _ => true,
        });
    }

    fn design(&self, side: Side) -> &Design {
        match side {
            Side::Old => self.plan.old(),
            Side::New => self.plan.new_design(),
        }
    }

    /// Whether the patterns of the design in use are answered right.
    pub(crate) fn check_patterns(&mut self) {
        let seed = self.random.draw();
        let design = self.design(self.side).clone();
        let rows: Vec<Row> = self
            .facts
            .values()
            .flat_map(|fact| self.items(fact, self.side))
            .map(|(row, _)| row)
            .collect();
        let (backend, retry) = (self.backend(), Retry::never());
        let runner = PlanRunner::new(&backend, &retry);
        for (access, plan) in design.accesses().iter().zip(plan(&design, &Prices::default())) {
            for inputs in inputs_for(access, &rows, seed, 3) {
                let answer = runner.run(access, &plan, &inputs).unwrap();
                let table = &access.find[0].table;
                let labels: Vec<String> =
                    answer.items.iter().map(|item| item_label(table, item)).collect();
                let wanted = expected(access, &inputs, &rows);
                if let Err(mismatch) = wanted.compare(&labels) {
                    panic!("{} with {inputs:?}: {mismatch}", access.name);
                }
            }
        }
    }

    /// Whether the tables of a design hold all facts in its form, and nothing else.
    pub(crate) fn check_all(&self, side: Side) {
        for table in self.design(side).tables() {
            let found = self.client(&table.name).scan().collect().unwrap();
            let wanted = self.facts.values().flat_map(|fact| self.items(fact, side));
            let wanted = wanted.filter(|(row, _)| row.entity.table.name == table.name);
            let mut wanted: BTreeMap<String, Item> =
                wanted.map(|(_, item)| (item_label(table, &item), item)).collect();
            for mut item in found {
                // Programs may have written back a mark that they had read before it went.
                item.remove("keyloom_migration");
                let label = item_label(table, &item);
                let should = wanted
                    .remove(&label)
                    .unwrap_or_else(|| panic!("{label} is too much: {item:?}"));
                assert_eq!(shown(&item), shown(&should), "{label}");
            }
            assert!(wanted.is_empty(), "missing: {:?}", wanted.keys());
        }
    }
}

fn shown(item: &Item) -> BTreeMap<String, AttributeValue> {
    item.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
}
