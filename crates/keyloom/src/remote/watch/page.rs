//! Pages of Query and Scan.

use std::sync::Arc;

use keyloom_api::queries::Select;
use keyloom_core::capacity::{ConsumedCapacity, READ_UNIT_BYTES, Units, read_units};
use keyloom_core::expr::{Bindings, Condition, KeyConditionTree, ResolvedKeyCondition};
use keyloom_core::key::encode_key_values;
use keyloom_core::observation::Question;
use keyloom_core::size::item_size;
use keyloom_core::{Result, legacy};

use super::described::{Described, Spot};
use super::exchange::{Page, Range, is_projected, mode};
use super::touches::Drawn;

/// A page, understood: its table, its index, its conditions.
pub(super) struct Understood<'a> {
    page: &'a Page<'a>,
    table: Arc<Described>,
    spot: Spot,
    condition: Option<ResolvedKeyCondition>,
    filter: Option<Condition>,
    partition: Vec<u8>,
}

impl<'a> Understood<'a> {
    /// None if the endpoint refused what cannot be understood, or knows an index that it did not describe.
    pub(super) fn new(page: &'a Page<'a>, table: Arc<Described>) -> Option<Self> {
        let spot = table.spot(page.read.index_name.as_deref())?;
        let (condition, filter) = conditions(page, &table, spot).ok()?;
        let hash = condition.iter().flat_map(|condition| &condition.hash);
        let partition = encode_key_values(hash).ok()?;
        Some(Self { page, table, spot, condition, filter, partition })
    }

    pub(super) fn question(&self) -> Question<'_> {
        let Page { read, answer, is_forward, .. } = self.page;
        Question {
            place: self.table.place(self.spot),
            condition: self.condition.as_ref(),
            filter: self.filter.as_ref(),
            limit: read.limit,
            is_forward: *is_forward,
            is_continued: read.exclusive_start_key.is_some(),
            has_more: answer.is_some_and(|page| page.last_key.is_some()),
            scanned: answer.map_or(0, |page| page.scanned_count),
        }
    }

    /// What was read, at the price that the account states.
    pub(super) fn drawn(&self, account: Option<&ConsumedCapacity>) -> Vec<Drawn> {
        let sizes = self.page.answer.map(|page| page.items.iter().map(item_size).sum::<usize>());
        let returned = sizes.unwrap_or(0);
        let Some(account) = account else {
            let nothing = self.page.answer.is_none();
            let guess = read_units(returned, mode(self.page.read.consistent_read));
            return vec![self.touch(if nothing { Units::ZERO } else { guess }, returned)];
        };
        let name = self.page.read.index_name.as_deref();
        let arms = account.local.iter().chain(&account.global);
        let own = arms.filter(|(arm, _)| Some(arm.as_str()) == name).map(|(_, arm)| arm.total);
        let (mut table, mut units) = (account.table.total, own.sum());
        let is_sum = account.local.is_empty() && account.global.is_empty();
        if name.is_none() || is_sum {
            // Where only a sum is stated, it is that of the index that was asked.
            (units, table) = (table, Units::ZERO);
        }
        let mut drawn = vec![self.touch(units, self.evaluated(units, returned))];
        if !table.is_zero() {
            // The base items of a local index's entries.
            drawn.push(Drawn {
                spot: Spot::Table,
                ..self.touch(table, bytes_of(table, self.price()))
            });
        }
        drawn
    }

    /// How many of the items that came back have expired.
    pub(super) fn expired(&self) -> usize {
        self.page.answer.map_or(0, |page| self.table.expired(&page.items))
    }

    fn touch(&self, units: Units, bytes: usize) -> Drawn {
        let partition = self.partition.clone();
        Drawn { units, bytes, ..Drawn::range(&self.table, self.spot, partition) }
    }

    /// The bytes that were evaluated: those returned if that is all, or else what was paid for.
    fn evaluated(&self, units: Units, returned: usize) -> usize {
        let read = self.page.read;
        let is_cut = is_projected(&read.projection) || read.select == Some(Select::Count);
        let is_all = self.page.answer.is_some_and(|page| page.items.len() == page.scanned_count);
        if is_all && !is_cut { returned } else { bytes_of(units, self.price()).max(returned) }
    }

    fn price(&self) -> u64 {
        if self.page.read.consistent_read { 2 } else { 1 }
    }
}

/// The bytes that so many units pay for, at this many halves for each step.
fn bytes_of(units: Units, price: u64) -> usize {
    let steps = usize::try_from(units.as_halves() / price).unwrap_or(usize::MAX);
    steps.saturating_mul(READ_UNIT_BYTES)
}

fn conditions(
    page: &Page<'_>,
    table: &Described,
    spot: Spot,
) -> Result<(Option<ResolvedKeyCondition>, Option<Condition>)> {
    let read = page.read;
    let mut bindings = Bindings::new(read.projection.names.clone(), read.values.clone())?;
    let key = table.place(spot).key;
    let clauses = match page.range {
        Range::All => None,
        Range::Condition(condition) => {
            let condition = condition.map(|one| one.key_condition(&mut bindings)).transpose()?;
            condition.map(KeyConditionTree::into_clauses).transpose()?
        }
        Range::Legacy(conditions) => Some(legacy::key_conditions(conditions.to_vec())?),
    };
    let condition = clauses.map(|clauses| clauses.resolve(&key.hash, &key.range)).transpose()?;
    let filter = match (&read.filter, &read.legacy_filter) {
        (Some(filter), _) => Some(filter.filter(&mut bindings)?),
        (None, Some(conditions)) => legacy::filter(conditions.clone(), read.conditional_operator)?,
        (None, None) => None,
    };
    Ok((condition, filter))
}

/// How many items came back.
pub(super) fn returned(page: &Page<'_>) -> usize {
    page.answer.map_or(0, |page| page.count)
}

#[cfg(test)]
mod tests {
    use keyloom_api::queries::ReadInput;
    use keyloom_core::capacity::Arm;

    use super::*;

    #[test]
    fn a_bare_sum_is_what_the_asked_index_cost() {
        let values = [(":s".into(), "B".into())].into();
        let read = ReadInput {
            table_name: "t".into(),
            index_name: Some("g".into()),
            values: Some(values),
            ..ReadInput::default()
        };
        let text = "sk = :s".into();
        let range = Range::Condition(Some(&text));
        let page = Page { read: &read, range, is_forward: true, answer: None };
        let understood = Understood::new(&page, Described::example()).unwrap();
        let mut account = ConsumedCapacity::new("t");
        account.add_table(Arm::new(Units::whole(3)));
        let drawn = |account: &ConsumedCapacity| -> Vec<(Spot, Units)> {
            let drawn = understood.drawn(Some(account));
            drawn.iter().map(|one| (one.spot, one.units)).collect()
        };
        assert_eq!(drawn(&account), [(Spot::Index(0), Units::whole(3))]);
        account.add_global("g", Arm::new(Units::HALF));
        assert_eq!(
            drawn(&account),
            [(Spot::Index(0), Units::HALF), (Spot::Table, Units::whole(3))]
        );
    }
}
