//! Verifies access patterns: patterns that both designs have must return the same items.
//!
//! Inputs are taken from stored items. The old pattern runs on the old form, the new one on the new form; the old
//! results, mapped to the new form, must equal the new results, in the requested order.

use std::sync::Arc;

use keyloom_core::Item;
use keyloom_core::size::item_size;
use keyloom_design::cost::Prices;
use keyloom_design::evaluate::{Inputs, Row, order_of};
use keyloom_design::generate::inputs_for;
use keyloom_design::migration::{ItemMap, MigrationPlan, SharedPattern};
use keyloom_design::plan::{Plan, plan_access};

use super::service::Service;
use super::verify::Companion;
use super::{Problem, key_label};
use crate::error::{Error, Result};
use crate::query::PlanRunner;

/// How often each pattern is asked.
const CALLS: usize = 8;
/// Rows that inputs are taken from.
const SAMPLES: usize = 200;

/// Items that inputs are taken from: a few of each table, evenly spread over what is offered.
#[derive(Default)]
pub(super) struct Sample {
    rows: Vec<Row>,
    offered: u64,
}

impl Sample {
    /// Offers a row, which may replace another one.
    pub(super) fn offer(&mut self, row: impl FnOnce() -> Option<Row>) {
        self.offered += 1;
        let mut random = keyloom_core::hash::SplitMix64::new(self.offered);
        let place = random.below(usize::try_from(self.offered).unwrap_or(usize::MAX));
        if self.rows.len() < SAMPLES {
            self.rows.extend(row());
        } else if let Some(slot) = self.rows.get_mut(place)
            && let Some(row) = row()
        {
            *slot = row;
        }
    }
}

/// Where patterns are asked.
#[derive(Clone, Copy)]
pub(super) struct Place<'m> {
    pub(super) service: &'m Service,
    pub(super) forward: &'m ItemMap,
    /// Whether an item's time to live is over.
    pub(super) is_dead: &'m dyn Fn(&str, &Item) -> bool,
}

/// One call of a pattern that was answered differently.
pub(super) struct Unlike<'p> {
    pattern: Arc<Asked<'p>>,
    inputs: Inputs,
    pub(super) problem: Problem,
}

/// A pattern with its plans in both designs.
pub(super) struct Asked<'p> {
    shared: SharedPattern<'p>,
    old: Plan,
    new: Plan,
}

/// The patterns that can be compared, with their plans.
pub(super) fn asked(plan: &MigrationPlan) -> Vec<Arc<Asked<'_>>> {
    let gap = |name: &str| plan.gaps.iter().any(|gap| gap.pattern == name);
    let planned = plan.shared_patterns().into_iter().filter(|shared| !gap(&shared.old.name));
    planned
        .map(|shared| Asked {
            old: plan_access(plan.old(), shared.old, &Prices::default()),
            new: plan_access(plan.new_design(), shared.new, &Prices::default()),
            shared,
        })
        .filter(|asked| !asked.old.reads.is_empty() && !asked.new.reads.is_empty())
        .map(Arc::new)
        .collect()
}

/// Asks all patterns; returns how many calls were made, and those that were answered differently.
pub(super) fn compare<'p>(
    place: Place<'_>,
    asked: &[Arc<Asked<'p>>],
    sample: &Sample,
    companion: &mut dyn Companion,
) -> Result<(u64, Vec<Unlike<'p>>)> {
    let (mut calls, mut unlike) = (0, Vec::new());
    for (number, pattern) in asked.iter().enumerate() {
        for inputs in inputs_for(pattern.shared.old, &sample.rows, number as u64, CALLS) {
            calls += 1;
            let problem = pattern.ask(place, &inputs)?;
            companion.looked_at(0)?;
            unlike.extend(problem.map(|problem| Unlike {
                pattern: Arc::clone(pattern),
                inputs,
                problem,
            }));
        }
    }
    Ok((calls, unlike))
}

impl Unlike<'_> {
    /// Asks again; none if it is answered alike now.
    pub(super) fn again(self, place: Place<'_>) -> Result<Option<Self>> {
        let problem = self.pattern.ask(place, &self.inputs)?;
        Ok(problem.map(|problem| Self { problem, ..self }))
    }
}

impl Asked<'_> {
    fn ask(&self, place: Place<'_>, inputs: &Inputs) -> Result<Option<Problem>> {
        let service = place.service;
        service.begin("Query")?;
        let runner = PlanRunner::new(&service.backend, &service.retry);
        let renamed = self.shared.inputs(inputs);
        let answers = (
            runner.run(self.shared.old, &self.old, inputs),
            runner.run(self.shared.new, &self.new, &renamed),
        );
        let (old, new) = match answers {
            // A value that one of the designs does not take is asked of neither.
            (Err(Error::Pattern { .. }), _) | (_, Err(Error::Pattern { .. })) => return Ok(None),
            (old, new) => (old?.items, new?.items),
        };
        for answer in [&old, &new] {
            service.pace.read(answer.len(), answer.iter().map(item_size).sum());
        }
        let reason = self.difference(place, old, new);
        Ok(reason.map(|reason| Problem { item: self.describe(inputs), reason }))
    }

    fn difference(
        &self,
        place: Place<'_>,
        mut old: Vec<Item>,
        mut new: Vec<Item>,
    ) -> Option<String> {
        let pattern = self.shared.new;
        let table = &self.shared.old.find.first()?.table.name;
        let new_table = &pattern.find.first()?.table;
        // Each form is removed when its time has come.
        let counts = (old.len(), new.len());
        old.retain(|item| !(place.is_dead)(table, item));
        new.retain(|item| !(place.is_dead)(&new_table.name, item));
        if pattern.limit.is_some() && counts != (old.len(), new.len()) {
            return None;
        }
        let mut wanted = Vec::new();
        for item in old {
            match place.forward.counterpart(table, &item) {
                Ok(Some(mapped)) => wanted.push(mapped),
                // A projection may hold too little to make the other form; the item itself was compared.
                _ => return None,
            }
        }
        let label = |item: &Item| keyloom_design::evaluate::item_label(new_table, item);
        let found: Vec<String> = new.iter().map(label).collect();
        if pattern.limit.is_none() {
            let lost = wanted.iter().find(|mapped| !found.contains(&label(&mapped.item)));
            if let Some(lost) = lost {
                return Some(format!("the new design does not find `{}`", key_label(&lost.key)));
            }
            let known = |found: &String| wanted.iter().any(|mapped| label(&mapped.item) == *found);
            if let Some(more) = found.iter().find(|found| !known(found)) {
                return Some(format!("the new design finds `{more}`, which the old one does not"));
            }
        }
        if wanted.len() != found.len() {
            return Some(format!(
                "{} items in the old design, {} in the new",
                wanted.len(),
                found.len()
            ));
        }
        // Items that tie may stand in any order.
        let row = |item: &Item| {
            let entity = pattern.find.iter().find(|entity| is_of(entity, item))?;
            Some(Row::from_item(entity, item))
        };
        let differs = |(mapped, item): (&keyloom_design::migration::Mapped, &Item)| {
            let (Some(a), Some(b)) = (row(&mapped.item), row(item)) else { return false };
            order_of(&pattern.order, &a, &b).is_ne()
        };
        let at = wanted.iter().zip(&new).position(differs)?;
        Some(format!("the order differs from item {} on", at + 1))
    }

    fn describe(&self, inputs: &Inputs) -> String {
        let values: Vec<String> =
            inputs.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        format!("pattern \"{}\" with {}", self.shared.new.name, values.join(", "))
    }
}

fn is_of(entity: &keyloom_design::model::Entity, item: &Item) -> bool {
    entity.primary_key().parts().all(|part| {
        item.get(&part.attribute).and_then(keyloom_core::AttributeValue::as_s).is_none_or(|text| {
            part.shape.is_native() || part.shape.template().template().matches(text)
        })
    })
}
