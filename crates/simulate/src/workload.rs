//! The load of a design: flows of requests, and the keys of tables and indexes that each of them touches.

use std::collections::HashMap;
use std::sync::Arc;

use keyloom_design::CheckReport;
use keyloom_design::cost::{cardinality, entry_size, hottest_share, item_size};
use keyloom_design::key::Piece;
use keyloom_design::model::{
    Billing, Design, Entity, Field, Index, IndexKey, IndexKind, Table, TableClass,
};
use keyloom_design::plan::{Plan, Read, SortPart};

use crate::ahead::Course;
use crate::lanes::{Lane, Lanes};
use crate::profile::Options;
use crate::spread::{NoSplit, Spread};

/// Everything that a design asks of its tables.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// Tables and global indexes: each has partitions of its own.
    pub places: Vec<Place>,
    /// Access patterns and writes with a rate.
    pub flows: Vec<Flow>,
    /// Patterns and writes that are not simulated, with the reason.
    pub left_out: Vec<(String, &'static str)>,
    /// Partition keys of which the design does not say how many values there are: taken as even.
    pub unknown: Vec<String>,
}

/// A table, or a global index.
#[derive(Clone, Debug)]
pub struct Place {
    /// The name of the table.
    pub table: String,
    /// The global index, if it is one.
    pub index: Option<String>,
    /// What is stored, by entity.
    pub stock: Vec<Stock>,
    /// How the table is paid for.
    pub billing: Billing,
    /// The table class.
    pub class: TableClass,
    /// The partition keys in it.
    pub spreads: Vec<Spread>,
}

/// The entries of one entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stock {
    /// Bytes stored at the start, entries and their overhead.
    pub bytes: f64,
    /// How they change.
    pub course: Course,
}

impl Place {
    /// Bytes stored after some months.
    pub fn bytes(&self, months: f64) -> f64 {
        let of =
            |stock: &Stock| stock.bytes * stock.course.count(months) * stock.course.size(months);
        self.stock.iter().map(of).sum()
    }

    /// The name: the table, or table and index.
    pub fn name(&self) -> String {
        match &self.index {
            None => self.table.clone(),
            Some(index) => format!("{}.{index}", self.table),
        }
    }
}

/// An access pattern or a write.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name in the design.
    pub name: String,
    /// Whether it writes.
    pub is_write: bool,
    /// Calls per second, on average.
    pub average: f64,
    /// Calls per second, at the peak.
    pub peak: f64,
    /// What one call takes, and where.
    pub touches: Vec<Touch>,
}

/// What one call of a flow takes from the keys of one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// The position in [`Workload::places`].
    pub place: usize,
    /// The position in [`Place::spreads`].
    pub spread: usize,
    /// Units per call.
    pub units: f64,
    /// Whether it is a range of an item collection, not one item.
    pub is_range: bool,
}

/// The share of ranges from which on they alone decide whether a collection is split.
const MOSTLY: f64 = 0.95;

impl Workload {
    /// The load that a checked design declares. Key values that it does not describe follow Zipf's law, if asked to.
    pub fn of(report: &CheckReport, zipf: Option<f64>) -> Self {
        let Some(design) = &report.design else { return Self::default() };
        let mut builder =
            Builder { design, zipf, workload: Self::default(), known: HashMap::new() };
        builder.places();
        for plan in &report.plans {
            builder.read(plan);
        }
        for (position, write) in design.writes().iter().enumerate() {
            builder.write(report, position, write.rate);
        }
        let mut workload = builder.workload;
        workload.note_ranges();
        let unknown = workload.places.iter().flat_map(|place| {
            let spreads = place.spreads.iter().filter(|spread| !spread.is_known);
            spreads.map(|spread| format!("{} of {}", spread.label, place.name()))
        });
        workload.unknown = unknown.collect();
        workload
    }

    /// The load that is simulated, of a report that tells the volumes of its beginning: it has grown until then. What was
    /// observed replaces what is declared.
    pub fn ahead(report: &CheckReport, observed: impl Fn(&mut Self), options: &Options) -> Self {
        let mut workload = Self::of(report, options.zipf);
        observed(&mut workload);
        let grown = options.grown(options.months);
        for flow in &mut workload.flows {
            (flow.average, flow.peak) = (flow.average * grown, flow.peak * grown);
        }
        for stock in workload.places.iter_mut().flat_map(|place| &mut place.stock) {
            stock.bytes *= grown;
        }
        workload
    }

    /// Collections that are nearly only read by ranges are not split: no item of them is hotter than the others, and where a
    /// range begins, all of them begin.
    fn note_ranges(&mut self) {
        for (position, place) in self.places.iter_mut().enumerate() {
            for (at, spread) in place.spreads.iter_mut().enumerate() {
                let (mut ranges, mut all) = (0.0, 0.0);
                for flow in &self.flows {
                    let own = |it: &&Touch| (it.place, it.spread) == (position, at);
                    for touch in flow.touches.iter().filter(own) {
                        all += touch.units * flow.peak;
                        ranges += if touch.is_range { touch.units * flow.peak } else { 0.0 };
                    }
                }
                if spread.no_split.is_none() && all > 0.0 && ranges > all * MOSTLY {
                    spread.no_split = Some(NoSplit::Ranges);
                }
            }
        }
    }

    /// The most units per second that the flows ask of a place, reads and writes.
    pub fn demand(&self, place: usize) -> Lanes<f64> {
        let mut sum = Lanes::default();
        for flow in &self.flows {
            let units = flow.touches.iter().filter(|touch| touch.place == place);
            sum[Lane::of(flow.is_write)] += units.map(|touch| touch.units * flow.peak).sum::<f64>();
        }
        sum
    }
}

struct Builder<'a> {
    design: &'a Design,
    zipf: Option<f64>,
    workload: Workload,
    /// Spreads by place and template.
    known: HashMap<(usize, String), usize>,
}

impl Builder<'_> {
    fn places(&mut self) {
        for table in self.design.tables() {
            for index in table.indexes.iter().filter(|index| index.kind != IndexKind::Local) {
                let stock = self.storage(table, index);
                self.workload.places.push(Place {
                    table: table.name.clone(),
                    index: index.name.clone(),
                    stock,
                    billing: table.billing,
                    class: table.class,
                    spreads: Vec::new(),
                });
            }
        }
    }

    /// What is in an index. Local indexes lie in the table's partitions.
    fn storage(&self, table: &Table, index: &Index) -> Vec<Stock> {
        let mut stock = Vec::new();
        for entity in self.design.entities_in(table) {
            let Some(count) = entity.volume.count else { continue };
            let local = table.indexes.iter().filter(|own| own.kind == IndexKind::Local);
            let beside = local.filter(|_| index.kind == IndexKind::Primary);
            let own = std::iter::once(index).chain(beside).filter_map(|index| {
                let present = present_share(entity, &entity.index_key(index)?);
                let size = if index.kind == IndexKind::Primary {
                    item_size(entity)
                } else {
                    entry_size(entity, index)
                };
                Some(count * present * (size + OVERHEAD_BYTES))
            });
            stock.push(Stock { bytes: own.sum(), course: Course::of(self.design, entity) });
        }
        stock
    }

    fn place(&self, table: &Table, index: &Index) -> Option<usize> {
        let name = index.name.as_ref().filter(|_| index.kind == IndexKind::Global);
        let is_it = |place: &Place| place.table == table.name && place.index.as_ref() == name;
        self.workload.places.iter().position(is_it)
    }

    /// The spread of an entity's partition key in an index; entities with one template share it.
    fn spread(&mut self, entity: &Entity, index: &Index) -> Option<(usize, usize)> {
        let key = entity.index_key(index)?;
        let place = self.place(&entity.table, index)?;
        let label: Vec<&str> = key.hash.iter().map(|part| part.shape.template().text()).collect();
        let label = label.join(", ");
        let mut spread = self.describe(entity, &key, label.clone());
        spread.no_split = no_split(entity, &key, index.kind);
        let spreads = &mut self.workload.places.get_mut(place)?.spreads;
        let at = *self.known.entry((place, label)).or_insert_with(|| {
            spreads.push(spread.clone());
            spreads.len() - 1
        });
        // Of several entities under one template, the one that tells more describes it.
        let there = spreads.get_mut(at)?;
        if top(&spread) > top(there) || !there.is_known {
            let no_split = there.no_split;
            *there = Spread { no_split: no_split.or(spread.no_split), ..spread };
        }
        Some((place, at))
    }

    fn describe(&self, entity: &Entity, key: &IndexKey<'_>, label: String) -> Spread {
        // A time has one value now, and another one later.
        let fields = entity.spreading_fields(key).filter_map(|name| entity.field(name));
        let fields: Vec<&Field> = fields.filter(|field| !field.is_time()).collect();
        let known = fields.iter().map(|field| cardinality(self.design, entity, &field.name));
        let known: Option<Vec<f64>> = known.collect();
        let Some(known) = known else {
            return Spread::new(label, None, hottest_share(self.design, entity, key), self.zipf);
        };
        if self.zipf.is_some() && fields.iter().all(|field| field.top_share.is_none()) {
            return Spread::new(label, Some(known.iter().product()), None, self.zipf);
        }
        let fields = fields.iter().zip(known);
        let fields = fields.map(|(field, values)| (field.name.as_str(), values, field.top_share));
        Spread::of_fields(label, &fields.collect::<Vec<_>>())
    }

    fn leave_out(&mut self, name: &str, reason: &'static str) {
        self.workload.left_out.push((name.to_owned(), reason));
    }

    fn read(&mut self, plan: &Plan) {
        let rate = self.design.access(&plan.name).and_then(|access| access.rate);
        let Some(rate) = rate else { return self.leave_out(&plan.name, "it declares no rate") };
        let Some(units) = plan.estimate.read_units.filter(|_| !plan.reads.is_empty()) else {
            return self.leave_out(&plan.name, "its cost is not known: declare counts and sizes");
        };
        let second = plan.estimate.second_units_per_second.unwrap_or(0.0) / rate.peak.max(1e-9);
        let first = (units - second).max(0.0) / plan.reads.len().max(1) as f64;
        let mut touches = Vec::new();
        for read in &plan.reads {
            touches.extend(self.touch_of_read(read, first));
        }
        for entity in plan.hydrate.iter().flat_map(|step| &step.entities) {
            let entities = plan.hydrate.as_ref().map_or(1, |step| step.entities.len()).max(1);
            touches.extend(self.touch(entity, entity.table.primary(), second / entities as f64));
        }
        let (average, peak) = (rate.average, rate.peak);
        let name = plan.name.clone();
        let touches = merged(touches);
        self.workload.flows.push(Flow { name, is_write: false, average, peak, touches });
    }

    fn touch_of_read(&mut self, read: &Read, units: f64) -> Option<Touch> {
        let entity = Arc::clone(read.entities.first()?);
        let touch = self.touch(&entity, read.index(), units)?;
        Some(Touch { is_range: !matches!(read.range.sort, SortPart::Exact), ..touch })
    }

    fn touch(&mut self, entity: &Entity, index: &Index, units: f64) -> Option<Touch> {
        // A local index is read from the table's partitions, under the table's partition key.
        let index = if index.kind == IndexKind::Local { entity.table.primary() } else { index };
        let (place, spread) = self.spread(entity, index)?;
        (units > 0.0).then_some(Touch { place, spread, units, is_range: false })
    }

    fn write(
        &mut self,
        report: &CheckReport,
        position: usize,
        rate: Option<keyloom_design::draft::Rate>,
    ) {
        let (Some(write), Some(plan)) =
            (self.design.writes().get(position), report.writes.get(position))
        else {
            return;
        };
        let Some(rate) = rate else { return self.leave_out(&write.name, "it declares no rate") };
        let each = plan.table_units / write.members.len().max(1) as f64;
        let mut touches = Vec::new();
        for entity in write.entities() {
            touches.extend(self.touch(entity, entity.table.primary(), each));
            let entity = Arc::clone(entity);
            for index in entity.table.indexes.iter().filter(|index| index.name.is_some()) {
                let label = index.name.as_deref().unwrap_or_default();
                let effects = plan
                    .effects
                    .iter()
                    .filter(|effect| effect.entity == entity.name && effect.index == label);
                let units: f64 = effects.map(|effect| effect.units).sum();
                touches.extend(self.touch(&entity, index, units));
            }
        }
        let (average, peak) = (rate.average, rate.peak);
        let name = write.name.clone();
        let touches = merged(touches);
        self.workload.flows.push(Flow { name, is_write: true, average, peak, touches });
    }
}

/// Touches of the same key are one: it is refused or admitted once.
fn merged(touches: Vec<Touch>) -> Vec<Touch> {
    let mut merged: Vec<Touch> = Vec::new();
    for touch in touches {
        let known = merged.iter_mut().find(|it| {
            (it.place, it.spread, it.is_range) == (touch.place, touch.spread, touch.is_range)
        });
        match known {
            Some(known) => known.units += touch.units,
            None => merged.push(touch),
        }
    }
    merged
}

/// What DynamoDB counts of every entry beside its attributes.
const OVERHEAD_BYTES: f64 = 100.0;

/// The share of an entity's items that are in an index.
fn present_share(entity: &Entity, key: &IndexKey<'_>) -> f64 {
    key.fields().filter_map(|field| entity.field(field)?.present).fold(1.0, f64::min)
}

/// Why a hot collection of an entity stays on one partition, if it does. A local index binds those of the table, not those of
/// its global indexes.
fn no_split(entity: &Entity, key: &IndexKey<'_>, kind: IndexKind) -> Option<NoSplit> {
    let first = key.range_pieces().find_map(Piece::as_field);
    let moves =
        first.and_then(|piece| entity.field(piece.name())).is_some_and(Field::is_increasing);
    match () {
        () if first.is_none() => Some(NoSplit::OneItem),
        () if kind != IndexKind::Global && entity.table.has_local_index() => {
            Some(NoSplit::LocalIndex)
        }
        () if moves => Some(NoSplit::MovingSortKey),
        () => None,
    }
}

fn top(spread: &Spread) -> f64 {
    spread.hot.first().copied().unwrap_or(0.0)
}
