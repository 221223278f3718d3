//! A life for the items of a design: creates, updates, deletes and the design's own writes in a random order, and what must
//! be stored in the end. The judge knows rows, items and guards, and nothing of the code that is generated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyloom_core::hash::SplitMix64;
use keyloom_core::{AttributeValue, Item};
use keyloom_design::Design;
use keyloom_design::emit::create_table;
use keyloom_design::evaluate::{Row, item_label};
use keyloom_design::generate::set_shards;
use keyloom_design::key::attribute_of;
use keyloom_design::model::{Entity, FieldKind, UniqueRule, Write, WriteKind};
use keyloom_keys::Value;
use serde_json::{Map, Value as Json, json};

use super::{texts, wire};

/// Few steps keep the suite fast; `KEYLOOM_STEPS` asks for more.
const STEPS: usize = 40;
const OWNER: &str = "owner";

type Values = BTreeMap<String, Value<'static>>;
/// A table, and a primary key as text.
type Place = (String, String);

/// The steps of a design, what is stored after them, and changes that are made at the same time.
pub(super) fn of_design(design: &Design, rows: &[Row]) -> Json {
    let mut life = Life::new(design, rows, true);
    let mut told: Vec<Json> = Vec::new();
    for _ in 0..steps() {
        told.extend(life.step());
    }
    for write in design.writes() {
        told.extend((0..4).filter_map(|_| life.write(write)));
    }
    let races: Vec<Json> =
        design.entities().iter().filter_map(|entity| life.race(entity)).collect();
    json!({
        "tables": design.tables().iter().map(|table| create_table(table)).collect::<Vec<_>>(),
        "steps": told,
        "items": life.stored_items(),
        "races": races,
    })
}

/// The same without uniqueness and the design's own writes, for what knows only entities.
pub(super) fn of_entities(design: &Design, rows: &[Row]) -> Json {
    let mut life = Life::new(design, rows, false);
    let told: Vec<Json> = (0..steps()).filter_map(|_| life.step()).collect();
    json!({ "steps": told, "items": life.stored_items() })
}

fn steps() -> usize {
    let steps = std::env::var("KEYLOOM_STEPS").ok().and_then(|steps| steps.parse().ok());
    steps.unwrap_or(STEPS)
}

struct Life<'d> {
    design: &'d Design,
    /// Rows that are written, and others whose values they get.
    rows: &'d [Row],
    random: SplitMix64,
    items: BTreeMap<Place, (Arc<Entity>, Item)>,
    /// Whether unique fields are kept unique.
    is_unique: bool,
}

impl<'d> Life<'d> {
    fn new(design: &'d Design, rows: &'d [Row], is_unique: bool) -> Self {
        Self { design, rows, random: SplitMix64::new(11), items: BTreeMap::new(), is_unique }
    }

    fn stored_items(&self) -> Vec<Json> {
        let items = self.items.iter();
        items.map(|((table, _), (_, item))| json!([table, wire(item)])).collect()
    }

    /// One step, with what must come of it; none if chance found nothing to do.
    fn step(&mut self) -> Option<Json> {
        let row = self.rows.get(self.random.below(self.rows.len().max(1)))?.clone();
        if self.is_guard(&row.entity) {
            return None;
        }
        match self.random.below(10) {
            0 | 1 => Some(self.put(&row, "put")),
            2 | 3 => Some(self.put(&row, "create")),
            4 => {
                let outcome = self.delete(&row.entity, &place(&row));
                Some(told("delete", &row, &[("key", identity(&row))], outcome.err()))
            }
            _ => self.update(&row),
        }
    }

    fn put(&mut self, row: &Row, action: &str) -> Json {
        let outcome = self.try_put(row, action == "create");
        told(action, row, &[("values", texts(row))], outcome.err())
    }

    /// Changes some fields of an item; mostly of one that is there.
    fn update(&mut self, row: &Row) -> Option<Json> {
        let there: Vec<Row> = self.stored(&row.entity);
        let at = self.random.below(there.len().max(1));
        let row = if self.random.below(8) == 0 { row } else { there.get(at)? };
        let other = self.other(&row.entity)?;
        let own = sources(&row.entity);
        let mut changes: BTreeMap<String, Option<Value<'static>>> = BTreeMap::new();
        for field in row.entity.fields.iter().filter(|field| !own.contains(&field.name)) {
            if matches!(field.kind, FieldKind::Shard(_)) || self.random.below(3) > 0 {
                continue;
            }
            match other.values.get(&field.name) {
                Some(value) => drop(changes.insert(field.name.clone(), Some(value.clone()))),
                None if field.optional => drop(changes.insert(field.name.clone(), None)),
                None => {}
            }
        }
        let outcome = self.change(row, &changes)?;
        let texts = changes.iter().map(|(name, value)| {
            (name.clone(), value.as_ref().map_or(Json::Null, |value| json!(value.to_string())))
        });
        let changes = Json::Object(texts.collect());
        Some(told("update", row, &[("key", identity(row)), ("changes", changes)], outcome.err()))
    }

    /// Sets and removes fields of a row as it is stored; none if the outcome cannot be stored.
    fn change(
        &mut self,
        row: &Row,
        changes: &BTreeMap<String, Option<Value<'static>>>,
    ) -> Option<Result<(), &'static str>> {
        let place = place(row);
        let Some(old) = self.row_at(&place) else { return Some(Err("NotFound")) };
        let mut new = old.clone();
        for (name, value) in changes {
            match value {
                Some(value) => drop(new.values.insert(name.clone(), value.clone())),
                None => drop(new.values.remove(name)),
            }
        }
        set_shards(&mut new);
        if !new.is_writable() {
            return None;
        }
        let held = self.items.get(&place).map(|(_, item)| item.clone());
        let outcome = self.replace(Some(&old), Some(&new));
        if outcome.is_ok() {
            self.keep_appended(&new, held.as_ref(), changes);
        }
        Some(outcome)
    }

    /// A row has one value of a list or set; the item keeps all that was appended, unless the field itself was changed.
    fn keep_appended(
        &mut self,
        row: &Row,
        held: Option<&Item>,
        changes: &BTreeMap<String, Option<Value<'static>>>,
    ) {
        let Some((_, item)) = self.items.get_mut(&place(row)) else { return };
        for name in row.entity.fields.iter().map(|field| &field.name) {
            let whole = held.and_then(|held| held.get(name));
            if let Some(
                whole @ (AttributeValue::L(_) | AttributeValue::Ss(_) | AttributeValue::Ns(_)),
            ) = whole.filter(|_| !changes.contains_key(name))
            {
                item.insert(name, whole.clone());
            }
        }
    }

    fn try_put(&mut self, row: &Row, is_new: bool) -> Result<(), &'static str> {
        let old = self.row_at(&place(row));
        if is_new && old.is_some() {
            return Err("AlreadyExists");
        }
        self.replace(old.as_ref(), Some(row))
    }

    fn delete(&mut self, entity: &Arc<Entity>, place: &Place) -> Result<(), &'static str> {
        match self.row_at(place) {
            Some(old) if old.entity.name == entity.name => self.replace(Some(&old), None),
            _ => {
                self.items.remove(place);
                Ok(())
            }
        }
    }

    /// Puts one row in place of another, if nobody else has its unique fields.
    fn replace(&mut self, old: Option<&Row>, new: Option<&Row>) -> Result<(), &'static str> {
        let mut guards: Vec<(Place, Arc<Entity>, Item)> = Vec::new();
        let own = old.map(|old| owner(&old.item(), &old.entity));
        for rule in self.rules(old.or(new).map(|row| row.entity.as_ref())) {
            let Some((place, entity, item)) = new.and_then(|new| guard(rule, new)) else {
                continue;
            };
            let holder = self.items.get(&place).and_then(|(_, held)| held.get(OWNER)?.as_s());
            let wanted = item.get(OWNER).and_then(AttributeValue::as_s);
            if holder.is_some() && holder != wanted && holder != own.as_deref() {
                return Err("NotUnique");
            }
            let same = self.items.get(&place).filter(|_| holder == wanted);
            let item = same.map_or(item, |(_, held)| held.clone());
            guards.push((place, entity, item));
        }
        let rules = self.rules(old.map(|old| old.entity.as_ref()));
        let given_up: Vec<Place> = rules.filter_map(|rule| Some(guard(rule, old?)?.0)).collect();
        self.items.retain(|place, _| !given_up.contains(place));
        if let Some(old) = old {
            self.items.remove(&place(old));
        }
        if let Some(new) = new {
            self.items.insert(place(new), (new.entity.clone(), new.item()));
        }
        self.items.extend(guards.into_iter().map(|(place, entity, item)| (place, (entity, item))));
        Ok(())
    }

    /// A write of the design: all of it or nothing.
    fn write(&mut self, write: &Write) -> Option<Json> {
        if write.expression.is_some() {
            return None;
        }
        let before = self.items.clone();
        let mut members: Vec<Json> = Vec::new();
        let mut outcome = Ok(());
        let mut touched: BTreeSet<Place> = BTreeSet::new();
        let names: BTreeSet<&str> = write.entities().map(|entity| entity.name.as_str()).collect();
        for member in &write.members {
            let guards = |rule: &UniqueRule| {
                rule.by.as_ref().is_some_and(|by| by.name == member.entity.name)
                    && names.contains(rule.entity.name.as_str())
            };
            if self.design.uniques().iter().any(guards) {
                continue;
            }
            let mut given: Vec<Json> = Vec::new();
            for _ in 0..write.items.min(3) {
                let row = self.row_for(member.kind, write, &member.entity)?;
                if !touched.insert(place(&row)) {
                    continue;
                }
                let (values, done) = self.member(member.kind, write, &row)?;
                given.push(values);
                outcome = outcome.and(done);
            }
            members.push(json!({ "entity": member.entity.name, "values": given }));
        }
        if outcome.is_err() {
            self.items = before;
        }
        let many = write.items > 1;
        Some(
            json!({ "do": "write", "name": write.name, "many": many, "members": members, "error": outcome.err() }),
        )
    }

    /// A row that a member of a write is about: mostly one that is there, where one is changed.
    fn row_for(&mut self, kind: WriteKind, write: &Write, entity: &Arc<Entity>) -> Option<Row> {
        let is_new = match kind {
            WriteKind::Put | WriteKind::Create => true,
            WriteKind::Transact => write.sets.is_empty(),
            _ => self.random.below(6) == 0,
        };
        let there = self.stored(entity);
        if is_new || there.is_empty() {
            return self.other(entity);
        }
        there.get(self.random.below(there.len())).cloned()
    }

    /// What a member of a write is given, and what comes of it.
    fn member(
        &mut self,
        kind: WriteKind,
        write: &Write,
        row: &Row,
    ) -> Option<(Json, Result<(), &'static str>)> {
        let is_put = kind == WriteKind::Transact && write.sets.is_empty();
        match if is_put { WriteKind::Put } else { kind } {
            WriteKind::Put => Some((texts(row), self.try_put(row, false))),
            WriteKind::Create => Some((texts(row), self.try_put(row, true))),
            WriteKind::Delete => Some((identity(row), self.delete(&row.entity, &place(row)))),
            WriteKind::Check => {
                let is_there = self.items.contains_key(&place(row));
                Some((identity(row), if is_there { Ok(()) } else { Err("NotFound") }))
            }
            WriteKind::Update | WriteKind::Transact => {
                let other = self.other(&row.entity)?;
                let is_own = |name: &String| row.entity.field(name).is_some();
                let sets = write.sets.iter().map(|set| set.value.clone()).filter(is_own);
                let changes: BTreeMap<String, Option<Value<'static>>> =
                    sets.map(|name| (name.clone(), other.values.get(&name).cloned())).collect();
                let mut told: Values = row.values.clone();
                told.retain(|name, _| {
                    sources(&row.entity).contains(name) || write.given.contains(name)
                });
                for (name, value) in &changes {
                    match value {
                        Some(value) => drop(told.insert(name.clone(), value.clone())),
                        None => drop(told.remove(name)),
                    }
                }
                let outcome = self.change(row, &changes)?;
                let appends = write.appends.iter().map(|field| field.value.as_str());
                for name in appends.filter(|name| row.entity.field(name).is_some()) {
                    let value = other.values.get(name)?.clone();
                    self.append(row, name, &value);
                    told.insert(name.to_owned(), value);
                }
                let row = Row { entity: row.entity.clone(), values: told };
                Some((texts(&row), outcome))
            }
        }
    }

    fn append(&mut self, row: &Row, name: &str, value: &Value<'static>) {
        let field = row.entity.field(name).unwrap();
        let more = attribute_of(field, value);
        let Some((_, item)) = self.items.get_mut(&place(row)) else { return };
        let held = item.get(name).cloned();
        let whole = match (held, more) {
            (Some(AttributeValue::L(mut list)), AttributeValue::L(more)) => {
                list.extend(more);
                AttributeValue::L(list)
            }
            (Some(AttributeValue::Ss(set)), AttributeValue::Ss(more)) => {
                AttributeValue::Ss(set.iter().chain(more.iter()).cloned().collect())
            }
            (Some(AttributeValue::Ns(set)), AttributeValue::Ns(more)) => {
                AttributeValue::Ns(set.iter().chain(more.iter()).copied().collect())
            }
            (_, more) => more,
        };
        item.insert(name, whole);
    }

    /// Changes of the same item by several at once: whoever wins, its keys must be those of its fields.
    fn race(&mut self, entity: &Arc<Entity>) -> Option<Json> {
        let there = self.stored(entity);
        let row = there.first()?;
        let own = sources(entity);
        let in_keys: BTreeSet<&str> = entity
            .keys
            .iter()
            .flat_map(|key| {
                let terms = key.when.iter().flat_map(|when| &when.terms);
                key.shape.template().fields().chain(terms.map(|term| term.name.as_str()))
            })
            .filter(|name| !own.contains(*name))
            .collect();
        let mut changes: Vec<Json> = Vec::new();
        for field in entity.fields.iter().filter(|field| in_keys.contains(field.name.as_str())) {
            if matches!(field.kind, FieldKind::Shard(_)) {
                continue;
            }
            let values = self.rows.iter().filter(|other| other.entity.name == entity.name);
            let values = values.filter_map(|other| other.values.get(&field.name));
            for value in values.take(3) {
                changes.push(json!({ (field.name.as_str()): value.to_string() }));
            }
        }
        let unique = self.rules(Some(entity)).count() > 0;
        (changes.len() > 1 && !unique).then(|| {
            json!({ "entity": entity.name, "table": entity.table.name, "key": identity(row), "changes": changes })
        })
    }

    fn is_guard(&self, entity: &Entity) -> bool {
        let mut guards = self.design.uniques().iter().filter_map(|rule| rule.by.as_ref());
        self.is_unique && guards.any(|by| by.name == entity.name)
    }

    fn rules<'r>(&'r self, entity: Option<&'r Entity>) -> impl Iterator<Item = &'r UniqueRule> {
        let entity = entity.filter(|_| self.is_unique);
        let of = move |rule: &&UniqueRule| entity.is_some_and(|own| own.name == rule.entity.name);
        self.design.uniques().iter().filter(of)
    }

    fn other(&mut self, entity: &Arc<Entity>) -> Option<Row> {
        let same: Vec<&Row> =
            self.rows.iter().filter(|row| row.entity.name == entity.name).collect();
        same.get(self.random.below(same.len().max(1))).map(|row| (*row).clone())
    }

    fn row_at(&self, place: &Place) -> Option<Row> {
        let (entity, item) = self.items.get(place)?;
        let mut row = Row::from_item(entity, item);
        set_shards(&mut row);
        Some(row)
    }

    fn stored(&self, entity: &Arc<Entity>) -> Vec<Row> {
        let own = self.items.iter().filter(|(_, (other, _))| other.name == entity.name);
        own.filter_map(|(place, _)| self.row_at(place)).collect()
    }
}

fn told(action: &str, row: &Row, more: &[(&str, Json)], error: Option<&str>) -> Json {
    let mut step = Map::new();
    step.insert("do".to_owned(), json!(action));
    step.insert("entity".to_owned(), json!(row.entity.name));
    step.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    step.insert("error".to_owned(), json!(error));
    Json::Object(step)
}

fn place(row: &Row) -> Place {
    (row.entity.table.name.clone(), row.label())
}

/// The fields that the primary key is made of, through calculated shards.
fn sources(entity: &Entity) -> BTreeSet<String> {
    let named = entity.identity().into_iter().flat_map(|name| {
        match entity.field(name).map(|field| &field.kind) {
            Some(FieldKind::Shard(shards)) if !shards.by.is_empty() => shards.by.clone(),
            _ => vec![name.to_owned()],
        }
    });
    named.collect()
}

fn identity(row: &Row) -> Json {
    let own = sources(&row.entity);
    let mut row = row.clone();
    row.values.retain(|name, _| own.contains(name));
    texts(&row)
}

/// The primary key of an item as guards name it: values in the order of their attributes' names.
fn owner(item: &Item, entity: &Entity) -> String {
    let primary = entity.table.primary();
    let mut key = Item::new();
    for attribute in primary.attributes() {
        key.insert(attribute.name.as_str(), item.get(&attribute.name).unwrap().clone());
    }
    item_texts(&key).join(" / ")
}

fn item_texts(key: &Item) -> Vec<String> {
    let sorted: BTreeMap<&str, &AttributeValue> =
        key.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let text = |value: &&AttributeValue| match value {
        AttributeValue::N(number) => number.to_string(),
        other => other.as_s().unwrap_or_default().to_owned(),
    };
    sorted.values().map(text).collect()
}

/// The item that guards unique fields of a row; none if it lacks one of them.
fn guard(rule: &UniqueRule, row: &Row) -> Option<(Place, Arc<Entity>, Item)> {
    let by = rule.by.as_ref()?;
    if !rule.fields.iter().all(|name| row.values.contains_key(name)) {
        return None;
    }
    // Folded fields are unique as they are stored.
    let stored = Row::from_item(&row.entity, &row.item());
    let values = stored.values.iter().filter(|(name, _)| by.field(name).is_some());
    let values: Values = values.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut item = Row { entity: by.clone(), values }.item();
    item.insert(OWNER, owner(&row.item(), &row.entity).as_str());
    if let Some(name) = &by.table.type_attribute {
        item.remove(name);
    }
    Some(((by.table.name.clone(), item_label(&by.table, &item)), by.clone(), item))
}
