//! Attributes requests to access patterns: to those of the loaded design, or else by the request's shape.

mod read;
mod shape;

use std::collections::HashMap;

use keyloom_core::observation::{Observation, Place, Touch};
use keyloom_core::{AttributeValue, Operation};
use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_design::model::{Entity, EntityKey, WriteKind};
use keyloom_design::plan::plan;

use self::read::ReadForm;
pub(crate) use self::shape::Constants;
use crate::sketch::{hash_of, joined};

/// What a request is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributed<'a> {
    /// The number that stands for it.
    pub(crate) id: u64,
    /// The access pattern or write of the design.
    pub(crate) name: Option<&'a str>,
    pub(crate) entity: Option<&'a str>,
    place: Place<'a>,
}

impl<'a> Attributed<'a> {
    /// A request without a design to judge it by.
    pub(crate) fn by_shape(place: &Place<'a>, observation: &Observation<'_>) -> Self {
        Self { id: shape::id(place, observation), name: None, entity: None, place: *place }
    }

    /// The shape of the request as people read it.
    pub(crate) fn shape(&self, observation: &Observation<'_>, constants: Constants) -> String {
        match self.entity.filter(|_| observation.operation.writes_items()) {
            Some(entity) => format!("{} {entity}", observation.operation.name()),
            None => shape::text(&self.place, observation, constants),
        }
    }
}

/// The patterns of designs, ready to be compared with requests.
#[derive(Debug, Default)]
pub(crate) struct Attribution {
    names: Vec<String>,
    /// The forms by table and index.
    reads: HashMap<u64, Vec<ReadForm>>,
    /// The forms of entities by table name.
    entities: HashMap<String, Vec<EntityForm>>,
    /// The entities of a table or index with their partition keys there.
    partitions: HashMap<u64, Vec<(String, Vec<Part>)>>,
    /// Scans that the design permits, by table.
    scans: HashMap<String, String>,
}

/// An entity's primary key and its declared writes.
#[derive(Debug)]
struct EntityForm {
    name: String,
    hash: Vec<Part>,
    range: Vec<Part>,
    writes: Vec<(Operation, String)>,
}

/// The form of one key attribute.
#[derive(Debug)]
enum Part {
    Template(Box<keyloom_design::key::KeyTemplate>),
    /// A field in its own type: any value fits.
    Native,
}

impl Part {
    fn of(key: &EntityKey) -> Self {
        if key.shape.is_native() {
            Self::Native
        } else {
            Self::Template(Box::new(key.shape.template().clone()))
        }
    }

    fn accepts(&self, value: &AttributeValue) -> bool {
        match (self, value) {
            (Self::Native, _) => true,
            (Self::Template(template), AttributeValue::S(text)) => {
                template.template().matches(text)
            }
            (Self::Template(_), _) => false,
        }
    }
}

fn accept(parts: &[Part], values: &[AttributeValue]) -> bool {
    parts.len() == values.len() && parts.iter().zip(values).all(|(part, value)| part.accepts(value))
}

/// The number that stands for a table or index of a design.
fn place_id(table: &str, index: Option<&str>) -> u64 {
    joined(hash_of(table.as_bytes()), index.map_or(0, |name| hash_of(name.as_bytes())))
}

impl Attribution {
    pub(crate) fn new(designs: &[Design]) -> Self {
        let mut all = Self::default();
        for design in designs {
            all.add(design);
        }
        all
    }

    fn add(&mut self, design: &Design) {
        let plans = plan(design, &Prices::default());
        for (access, plan) in design.accesses().iter().zip(&plans) {
            for (table, index, form) in read::forms(access, plan) {
                self.reads.entry(place_id(&table, index.as_deref())).or_default().push(form);
            }
        }
        for entity in design.entities() {
            let form = EntityForm::new(design, entity);
            self.entities.entry(entity.table.name.clone()).or_default().push(form);
            for index in &entity.table.indexes {
                let Some(key) = entity.index_key(index) else { continue };
                let parts = key.hash.iter().map(|part| Part::of(part)).collect();
                let id = place_id(&entity.table.name, index.name.as_deref());
                self.partitions.entry(id).or_default().push((entity.name.clone(), parts));
            }
        }
        for allow in design.allows().iter().filter(|allow| allow.rule == "A01") {
            let access = allow.subject.as_ref().and_then(|subject| design.access(subject));
            if let Some(access) = access
                && let Some(entity) = access.asked()
            {
                self.scans.insert(entity.table.name.clone(), access.name.clone());
            }
        }
        let name = if design.name().is_empty() { design.source().name() } else { design.name() };
        self.names.push(name.to_owned());
    }

    /// The names of the designs.
    pub(crate) fn names(&self) -> String {
        self.names.join(", ")
    }

    /// Whether a design has this table.
    pub(crate) fn knows(&self, table: &str) -> bool {
        self.entities.contains_key(table)
    }

    /// What a request is.
    pub(crate) fn find<'a>(
        &'a self,
        place: &Place<'a>,
        observation: &Observation<'_>,
    ) -> Attributed<'a> {
        let fallback = Attributed::by_shape(place, observation);
        match observation.operation {
            Operation::Query => self.query(place, observation).unwrap_or(fallback),
            Operation::Scan => match self.scans.get(place.table) {
                Some(name) => Attributed { name: Some(name), ..fallback },
                None => fallback,
            },
            // Designs have no access patterns for them.
            Operation::SearchVectors => fallback,
            operation if operation.writes_items() => self.write(observation, fallback),
            _ => self.lookup(observation, fallback),
        }
    }

    /// Whether a request touched the key of an item that no template of the design makes.
    pub(crate) fn is_unknown(&self, touch: &Touch<'_>, operation: Operation) -> bool {
        let is_range =
            matches!(operation, Operation::Query | Operation::Scan | Operation::SearchVectors);
        if is_range || touch.place.index.is_some() || touch.partition.is_empty() {
            return false;
        }
        let table = touch.place.table;
        self.knows(table)
            && self.entity(table, &touch.partition_values(), &touch.sort_values()).is_none()
    }

    fn forms(&self, place: &Place<'_>) -> &[ReadForm] {
        let id = place_id(place.table, place.index_name());
        self.reads.get(&id).map_or(&[], Vec::as_slice)
    }

    fn query<'a>(
        &'a self,
        place: &Place<'a>,
        observation: &Observation<'_>,
    ) -> Option<Attributed<'a>> {
        let question = observation.question.as_ref()?;
        let fitting = self.forms(place).iter().filter_map(|form| Some((form.fit(question)?, form)));
        if let Some((_, form)) = fitting.max_by_key(|(score, _)| *score) {
            return Some(form.attributed(place, observation.operation));
        }
        // No pattern fits, but the partition key may identify the entity.
        let id = place_id(place.table, place.index_name());
        let hash = &question.condition?.hash;
        let owner = self.partitions.get(&id)?.iter().find(|(_, parts)| accept(parts, hash))?;
        Some(Attributed { entity: Some(&owner.0), ..Attributed::by_shape(place, observation) })
    }

    /// A read by primary key: a pattern that is one, or the second step of one.
    fn lookup<'a>(
        &'a self,
        observation: &Observation<'_>,
        fallback: Attributed<'a>,
    ) -> Attributed<'a> {
        let Some(touch) = observation.touches.first() else { return fallback };
        let (hash, range) = (touch.partition_values(), touch.sort_values());
        let wants_batch = observation.operation != Operation::GetItem;
        let forms = self.forms(&fallback.place).iter().filter(|form| form.is_lookup(&hash, &range));
        if let Some(form) = forms.max_by_key(|form| form.is_second_step == wants_batch) {
            return form.attributed(&fallback.place, observation.operation);
        }
        let entity = self.entity(fallback.place.table, &hash, &range);
        Attributed { entity: entity.map(|entity| entity.name.as_str()), ..fallback }
    }

    fn write<'a>(
        &'a self,
        observation: &Observation<'_>,
        fallback: Attributed<'a>,
    ) -> Attributed<'a> {
        let Some(touch) = observation.touches.first() else { return fallback };
        let (hash, range) = (touch.partition_values(), touch.sort_values());
        let Some(entity) = self.entity(fallback.place.table, &hash, &range) else {
            return fallback;
        };
        let operation = observation.operation;
        let declared = entity.writes.iter().find(|(kind, _)| *kind == operation);
        let own = joined(hash_of(entity.name.as_bytes()), hash_of(operation.name().as_bytes()));
        Attributed {
            id: declared.map_or(own, |(_, name)| joined(own, hash_of(name.as_bytes()))),
            name: declared.map(|(_, name)| name.as_str()),
            entity: Some(&entity.name),
            ..fallback
        }
    }

    fn entity(
        &self,
        table: &str,
        hash: &[AttributeValue],
        range: &[AttributeValue],
    ) -> Option<&EntityForm> {
        let mut entities = self.entities.get(table)?.iter();
        entities.find(|entity| accept(&entity.hash, hash) && accept(&entity.range, range))
    }
}

impl EntityForm {
    fn new(design: &Design, entity: &Entity) -> Self {
        let key = entity.primary_key();
        let mine = |write: &&keyloom_design::model::Write| {
            write.entities().any(|written| written.name == entity.name)
        };
        let writes = design.writes().iter().filter(mine).map(|write| {
            let operation = match write.kind {
                WriteKind::Put | WriteKind::Create => Operation::PutItem,
                WriteKind::Update => Operation::UpdateItem,
                WriteKind::Delete => Operation::DeleteItem,
                WriteKind::Transact | WriteKind::Check => Operation::TransactWriteItems,
            };
            (operation, write.name.clone())
        });
        Self {
            name: entity.name.clone(),
            hash: key.hash.iter().map(|part| Part::of(part)).collect(),
            range: key.range.iter().map(|part| Part::of(part)).collect(),
            writes: writes.collect(),
        }
    }
}
