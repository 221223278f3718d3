//! What the planner says of a view: each demand is planned on a design that has the view and nothing else.

use crate::cost::{Prices, bill};
use crate::draft::{Draft, IndexDraft, TableDraft, WriteDraft};
use crate::lint::key::excess;
use crate::model::{Design, Entity, Test};
use crate::plan::{Plan, Verdict, plan_only, plan_write};
use crate::source::Spanned;

use super::demand::{Demand, can_be_key};
use super::layout::{Place, add_keys, native_index, separator};
use super::view::View;

/// How a view is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// As the table's own keys.
    Table,
    /// As an index.
    Index,
}

/// What a view does for the demands of its entity.
#[derive(Clone, Debug)]
pub(super) struct Service {
    /// For each demand what a month of it costs, if it is proven.
    pub(super) reads: Vec<Option<Price>>,
    /// What having the view costs.
    pub(super) upkeep: f64,
}

/// What a read costs: dollars where rates are known; otherwise how much work it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Price {
    /// Dollars a month.
    pub(super) money: f64,
    /// Requests and detours, for patterns without a rate.
    pub(super) effort: f64,
}

impl Price {
    /// One figure to compare by: money, and a few cents for the effort of a pattern that says nothing of its rate.
    pub(super) fn figure(self) -> f64 {
        self.money + self.effort * if self.money > 0.0 { 1e-6 } else { 5e-2 }
    }
}

/// The entity whose views are judged.
pub(super) struct Judge<'a> {
    pub(super) draft: &'a Draft,
    pub(super) table: &'a TableDraft,
    pub(super) entity: &'a Entity,
    pub(super) position: usize,
    pub(super) demands: &'a [Demand],
    pub(super) prices: &'a Prices,
}

const INDEX: &str = "GSI1";

impl Judge<'_> {
    /// What the view does in a role; nothing if it cannot have it.
    pub(super) fn service(&self, view: &View, role: Role) -> Option<Service> {
        let draft = self.alone(view, role)?;
        let (design, _) = draft.resolve();
        let design = design?;
        let mut keys = design.entities().iter().flat_map(|entity| &entity.keys);
        if keys.any(|key| !key.shape.is_native() && excess(key).is_some()) {
            return None;
        }
        let plans = plan_only(&design, self.prices);
        let reads: Vec<Option<Price>> = self
            .demands
            .iter()
            .zip(&plans)
            .map(|(demand, plan)| self.price(demand, plan))
            .collect();
        reads.iter().any(Option::is_some).then_some(())?;
        Some(Service { reads, upkeep: self.upkeep(&design) })
    }

    /// The entity with this one view.
    fn alone(&self, view: &View, role: Role) -> Option<Draft> {
        let mut entity = self.draft.entities.get(self.position)?.clone();
        let separator = separator(self.table);
        let mut table = TableDraft::new(&self.table.name.value).keys("PK", "SK");
        table.separator.clone_from(&self.table.separator);
        table.escape.clone_from(&self.table.escape);
        table.ttl.clone_from(&self.table.ttl);
        table.type_attribute.clone_from(&self.table.type_attribute);
        let place = |index: Option<&str>, hash: &str, range: &str| Place {
            index: index.map(str::to_owned),
            hash: hash.to_owned(),
            range: Some(range.to_owned()),
        };
        let own = place(None, "PK", "SK");
        match role {
            Role::Table => {
                if view.is_native(self.entity) || view.when.is_some() {
                    return None;
                }
                let is_optional =
                    |name: &str| self.entity.field(name).is_some_and(|field| field.optional);
                if view.fields().any(|part| is_optional(&part.field)) {
                    return None;
                }
                add_keys(&mut entity, &view.identified(self.entity), &own, &separator);
            }
            Role::Index => {
                let identity = View::constant().identified(self.entity);
                add_keys(&mut entity, &identity, &own, &separator);
                if view.is_native(self.entity) {
                    table.indexes.push(native_index(INDEX, self.entity, view)?);
                } else {
                    table.indexes.push(IndexDraft::global(INDEX, &["GSI1PK"], &["GSI1SK"]));
                    let place = place(Some(INDEX), "GSI1PK", "GSI1SK");
                    add_keys(&mut entity, view, &place, &separator);
                }
            }
        }
        let mut draft = Draft::default().table(table).entity(entity);
        for (at, demand) in self.demands.iter().enumerate() {
            let mut access = demand.alone.clone();
            access.name = Spanned::free(format!("demand {at}"));
            access.index = (role == Role::Index).then(|| Spanned::free(INDEX));
            draft.accesses.push(access);
        }
        draft.writes = self.writes();
        Some(draft)
    }

    /// The writes that write this entity alone.
    fn writes(&self) -> Vec<WriteDraft> {
        let own = |write: &&WriteDraft| {
            matches!(write.entities.as_slice(), [only] if only.value == self.entity.name)
                && write.expression.is_none()
        };
        self.draft.writes.iter().filter(own).cloned().collect()
    }

    fn price(&self, demand: &Demand, plan: &Plan) -> Option<Price> {
        if !plan.is_proven() || plan.verdict == Verdict::Refused {
            return None;
        }
        let keyable = |test: &Test| {
            matches!(test, Test::Equal(_) | Test::In(_) | Test::Range { .. } | Test::BeginsWith(_))
        };
        let mut filtered = plan.reads.iter().flat_map(|read| &read.filter);
        let wasteful =
            filtered.any(|term| keyable(&term.test) && can_be_key(self.entity, &term.field));
        if wasteful && !demand.filters {
            return None;
        }
        let calls = plan.first_calls().unwrap_or(30.0);
        let work = match plan.verdict {
            Verdict::Get | Verdict::Batch => 0.0,
            Verdict::Query => 1.0,
            Verdict::FanOut => 2.0 + calls,
            Verdict::TwoStep => 4.0,
            Verdict::Filter | Verdict::Refused => 20.0,
        };
        // Without a declared rate, the units of one call stand for the cost.
        let units = plan.estimate.read_units.unwrap_or(0.0);
        let money = plan.estimate.money.map_or(0.0, |money| money.on_demand);
        Some(Price { money, effort: work + units })
    }

    /// Storage of the index and the writes that it takes.
    fn upkeep(&self, design: &Design) -> f64 {
        let writes: Vec<_> =
            design.writes().iter().map(|write| plan_write(design, write, self.prices)).collect();
        let bill = bill(design, &[], &writes, self.prices);
        let lines = bill.indexes.iter().chain(&bill.writes);
        lines.map(|line| line.money.on_demand).sum()
    }
}
