//! A data set for a design: the same for the same seed, shaped by the declared volumes, with enough
//! ties, neighbours and extremes to break a wrong key.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use keyloom_core::hash::SplitMix64;
use keyloom_keys::Value;

use super::shard::set_shards;
use super::value::{Taste, random_value};
use crate::evaluate::{Row, hash_of};
use crate::model::{Design, Entity, Field, FieldKind};

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub struct GenerateOptions {
    /// How many items in all, about.
    pub items: usize,
    /// The seed of the random numbers.
    pub seed: u64,
    /// Whether nasty values are among them.
    pub adversarial: bool,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self { items: 1000, seed: 1, adversarial: true }
    }
}

/// Generates items of every entity. No two have the same primary key.
pub fn generate(design: &Design, options: &GenerateOptions) -> Vec<Row> {
    generate_with(design, options, &mut |_| {})
}

/// As [`generate`]; `made` is called from time to time with the number so far.
pub fn generate_with(
    design: &Design,
    options: &GenerateOptions,
    made: &mut dyn FnMut(usize),
) -> Vec<Row> {
    let mut maker = Maker {
        random: SplitMix64::new(options.seed),
        options,
        shared: shared_pools(design),
        pools: HashMap::new(),
        rows: Vec::new(),
        groups: Vec::new(),
        taken: HashSet::new(),
        told: made,
    };
    let mut entities: Vec<&Arc<Entity>> = design.entities().iter().collect();
    // What others point at comes first.
    entities.sort_by_key(|entity| entity.identity().len());
    let shares = shares(design, options.items);
    for entity in entities {
        let wanted = shares.get(entity.name.as_str()).copied().unwrap_or(1);
        maker.make(entity, wanted);
    }
    maker.rows
}

/// How many items of each entity: by declared counts, at least a few of each.
fn shares(design: &Design, items: usize) -> HashMap<&str, usize> {
    let weight = |entity: &Entity| entity.volume.count.unwrap_or(1000.0).max(1.0).sqrt();
    let total: f64 = design.entities().iter().map(|entity| weight(entity)).sum();
    design
        .entities()
        .iter()
        .map(|entity| {
            let share = weight(entity) / total.max(1.0) * items as f64;
            (entity.name.as_str(), (share.round() as usize).max(3))
        })
        .collect()
}

struct Maker<'a> {
    random: SplitMix64,
    options: &'a GenerateOptions,
    /// Fields that take their values from the pool of another one.
    shared: HashMap<String, String>,
    /// Values by field name, so that entities refer to one another.
    pools: HashMap<String, Vec<Value<'static>>>,
    rows: Vec<Row>,
    /// The rows of each entity, which lie side by side.
    groups: Vec<(Arc<Entity>, Range<usize>)>,
    /// Hashes of the primary keys: two that share one are taken for one.
    taken: HashSet<u64>,
    told: &'a mut dyn FnMut(usize),
}

/// Rows are counted in steps of this size.
const TOLD_EVERY: usize = 1000;

impl Maker<'_> {
    fn make(&mut self, entity: &Arc<Entity>, wanted: usize) {
        let targets = self.targets(entity);
        let mut misses = 0;
        let mut made = 0;
        let first = self.rows.len();
        while made < wanted && misses < wanted * 4 + 20 {
            let row = self.row(entity, made + misses, wanted, &targets);
            let key = hash_of(&(entity.table.name.as_str(), row.label()));
            if row.is_writable() && self.taken.insert(key) {
                self.rows.push(row);
                made += 1;
                if self.rows.len().is_multiple_of(TOLD_EVERY) {
                    (self.told)(self.rows.len());
                }
            } else {
                misses += 1;
            }
        }
        self.groups.push((entity.clone(), first..self.rows.len()));
    }

    /// Rows of entities whose whole identity this entity holds: it points at them.
    fn targets(&self, entity: &Entity) -> Vec<(Vec<String>, Vec<usize>)> {
        let mut found: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
        for (other, rows) in &self.groups {
            let identity: Vec<String> = other.identity().into_iter().map(str::to_owned).collect();
            let points = identity.len() > 1
                && other.name != entity.name
                && identity.iter().all(|field| entity.field(field).is_some());
            if !points {
                continue;
            }
            match found.iter_mut().find(|(known, _)| *known == identity) {
                Some((_, known)) => known.extend(rows.clone()),
                None => found.push((identity, rows.clone().collect())),
            }
        }
        found
    }

    fn row(
        &mut self,
        entity: &Arc<Entity>,
        n: usize,
        wanted: usize,
        targets: &[(Vec<String>, Vec<usize>)],
    ) -> Row {
        let mut values: BTreeMap<String, Value<'static>> = BTreeMap::new();
        for field in &entity.fields {
            // Even what is rare must be there to be found.
            let share = field.present.map_or(60, |share| ((share * 100.0) as usize).max(5));
            if field.optional && !self.random.percent(share) {
                continue;
            }
            let value = self.value(entity, field, n, wanted);
            values.insert(field.name.clone(), value);
        }
        for (identity, rows) in targets {
            let target = self.random.pick(rows).copied().and_then(|at| self.rows.get(at));
            let Some(target) = target.filter(|_| self.random.percent(90)) else { continue };
            for field in identity {
                if let Some(value) = target.values.get(field) {
                    values.insert(field.clone(), value.clone());
                }
            }
        }
        let mut row = Row { entity: entity.clone(), values };
        set_shards(&mut row);
        row
    }

    fn value(&mut self, entity: &Entity, field: &Field, n: usize, wanted: usize) -> Value<'static> {
        let in_key = entity.keys.iter().any(|key| {
            key.shape.template().fields().any(|name| name == field.name) && !key.shape.is_native()
        });
        let taste = Taste {
            separator: &entity.table.separator,
            escape: entity.table.escape,
            in_key,
            adversarial: self.options.adversarial,
        };
        let identity = entity.identity();
        let names = is_reference(field);
        if !names {
            return random_value(&mut self.random, field, taste);
        }
        if identity == [field.name.as_str()] {
            let name = self.fill_pool(field, taste, wanted);
            if let Some(value) = self.pools.get(&name).and_then(|pool| pool.get(n)) {
                return value.clone();
            }
            let value = random_value(&mut self.random, field, taste);
            self.pools.entry(name).or_default().push(value.clone());
            return value;
        }
        // The last part of a longer identity is mostly new, the others are shared.
        let own = identity.last() == Some(&field.name.as_str()) && self.random.percent(70);
        if own {
            return random_value(&mut self.random, field, taste);
        }
        let size = (wanted / 12).clamp(4, 400);
        let name = self.fill_pool(field, taste, size);
        let found = self.pools.get(&name);
        let at = self.random.below(found.map_or(1, Vec::len));
        let found = found.and_then(|pool| pool.get(at)).cloned();
        found.unwrap_or_else(|| random_value(&mut self.random, field, taste))
    }

    /// Makes the values that entities share in a field, if there are none yet; returns the name of their pool.
    fn fill_pool(&mut self, field: &Field, taste: Taste, size: usize) -> String {
        let name = self.shared.get(&field.name).unwrap_or(&field.name).clone();
        if !self.pools.contains_key(&name) {
            let pool: Vec<Value<'static>> =
                (0..size.max(1)).map(|_| random_value(&mut self.random, field, taste)).collect();
            self.pools.insert(name.clone(), pool);
        }
        name
    }
}

/// Fields that some pattern compares with one input (`sender = :user or receiver = :user`) share their values:
/// otherwise no call would find rows by both. They must be of one type, whatever entity they are in.
fn shared_pools(design: &Design) -> HashMap<String, String> {
    let mut shared: HashMap<String, String> = HashMap::new();
    let kinds_of = |name: &str| -> Vec<&FieldKind> {
        let fields = design.entities().iter().filter_map(|entity| entity.field(name));
        fields.map(|field| &field.kind).collect()
    };
    for access in design.accesses() {
        let mut first: HashMap<&str, &str> = HashMap::new();
        for question in access.questions() {
            for input in question.test.inputs() {
                let known = *first.entry(input).or_insert(&question.field);
                let (kinds, others) = (kinds_of(known), kinds_of(&question.field));
                let alike = kinds.iter().chain(&others).all(|kind| Some(kind) == kinds.first());
                if known != question.field && alike && !shared.contains_key(&question.field) {
                    let pool = shared.get(known).map_or(known, String::as_str).to_owned();
                    shared.insert(question.field.clone(), pool);
                }
            }
        }
    }
    shared
}

/// Fields that name something: texts and identifiers, but no times, numbers or documents.
fn is_reference(field: &Field) -> bool {
    let listed = field.values().is_some();
    let text = match &field.kind {
        FieldKind::Scalar(format) => format.is_text() || field.is_identifier(),
        _ => false,
    };
    text && !listed
}
