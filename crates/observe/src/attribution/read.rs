//! A planned read of a design, in a form that requests can be matched with.

use keyloom_core::expr::{KeyOperator, ResolvedKeyCondition};
use keyloom_core::observation::{Place, Question};
use keyloom_core::{AttributeValue, Operation};
use keyloom_design::key::Piece;
use keyloom_design::model::{Access, Entity, Index};
use keyloom_design::plan::{Plan, Read, SortPart};

use super::{Attributed, Part, accept};
use crate::sketch::{hash_of, joined};

/// A read that a pattern makes of one table or index.
#[derive(Debug)]
pub(super) struct ReadForm {
    pattern: String,
    entity: Option<String>,
    hash: Vec<Part>,
    range: Vec<Part>,
    sort: Sort,
    is_forward: bool,
    filters: Vec<String>,
    is_limited: bool,
    /// Whether it is a lookup by primary key.
    is_lookup: bool,
    /// Whether it fetches what a first step found.
    pub(super) is_second_step: bool,
}

/// Which sort keys it selects.
#[derive(Debug)]
enum Sort {
    Whole,
    Exact,
    /// So many attributes are given by `=`; the next one begins with this text.
    Prefix(usize, String),
}

/// The reads of a pattern, each with its table and index.
pub(super) fn forms(access: &Access, plan: &Plan) -> Vec<(String, Option<String>, ReadForm)> {
    let mut all = Vec::new();
    for read in &plan.reads {
        let index = read.index();
        let form = ReadForm::of_read(access, plan, read, index);
        all.extend(form.map(|form| (read.table.name.clone(), index.name.clone(), form)));
    }
    let hydrate = plan.hydrate.iter().flat_map(|step| {
        step.entities.iter().map(|entity| (step.index.clone(), step.batch, entity))
    });
    for (index, is_batch, entity) in hydrate {
        let form = ReadForm::of_step(access, entity, index.as_deref(), is_batch);
        all.extend(form.map(|form| (entity.table.name.clone(), index, form)));
    }
    all
}

impl ReadForm {
    fn of_read(access: &Access, plan: &Plan, read: &Read, index: &Index) -> Option<Self> {
        let entity = &read.range.entity;
        let key = entity.index_key(index)?;
        let literal = |pieces: &[Piece]| match pieces.first() {
            Some(Piece::Literal(text)) => text.clone(),
            _ => String::new(),
        };
        let sort = match &read.range.sort {
            SortPart::Whole => Sort::Whole,
            SortPart::Exact => Sort::Exact,
            SortPart::Common(pieces) => Sort::Prefix(0, literal(pieces)),
            SortPart::Open { attribute, pieces, .. } => {
                let part = key.range.get(*attribute)?;
                let bound = part.shape.template().pieces();
                Sort::Prefix(*attribute, literal(bound.get(..*pieces).unwrap_or(bound)))
            }
        };
        let only = match access.find.as_slice() {
            [only] => Some(only.name.clone()),
            _ => None,
        };
        Some(Self {
            pattern: access.name.clone(),
            entity: access.via.as_ref().map(|via| via.name.clone()).or(only),
            hash: key.hash.iter().map(|part| Part::of(part)).collect(),
            range: key.range.iter().map(|part| Part::of(part)).collect(),
            sort,
            is_forward: read.forward,
            filters: read.filter.iter().map(|question| question.field.clone()).collect(),
            is_limited: read.limit.is_some(),
            is_lookup: plan.is_get(read),
            is_second_step: false,
        })
    }

    fn of_step(
        access: &Access,
        entity: &Entity,
        index: Option<&str>,
        is_batch: bool,
    ) -> Option<Self> {
        let index = match index {
            Some(name) => entity.table.index(name)?,
            None => entity.table.primary(),
        };
        let key = entity.index_key(index)?;
        Some(Self {
            pattern: format!("{}: second step", access.name),
            entity: Some(entity.name.clone()),
            hash: key.hash.iter().map(|part| Part::of(part)).collect(),
            range: key.range.iter().map(|part| Part::of(part)).collect(),
            sort: Sort::Exact,
            is_forward: true,
            filters: Vec::new(),
            is_limited: false,
            is_lookup: is_batch,
            is_second_step: true,
        })
    }

    /// Whether a read by primary key can be this one.
    pub(super) fn is_lookup(&self, hash: &[AttributeValue], range: &[AttributeValue]) -> bool {
        self.is_lookup && accept(&self.hash, hash) && accept(&self.range, range)
    }

    /// How well a Query fits; none if it is another read.
    pub(super) fn fit(&self, question: &Question<'_>) -> Option<u32> {
        let condition = question.condition?;
        if !accept(&self.hash, &condition.hash) {
            return None;
        }
        let filtered: Vec<&str> = question
            .filter
            .map(|filter| filter.paths().into_iter().map(|path| path.attribute.as_str()).collect())
            .unwrap_or_default();
        let same_filter = self.filters.iter().all(|field| filtered.contains(&field.as_str()))
            && filtered.is_empty() == self.filters.is_empty();
        let mut score = 10 * self.fit_sort(condition)?;
        score += if same_filter { 4 } else { 0 };
        score += if self.is_forward == question.is_forward { 3 } else { 0 };
        score += u32::from(self.is_limited == question.limit.is_some());
        Some(score)
    }

    fn fit_sort(&self, condition: &ResolvedKeyCondition) -> Option<u32> {
        let bare = condition.range_prefix.is_empty() && condition.range.is_none();
        match &self.sort {
            Sort::Whole => bare.then_some(2),
            Sort::Exact => accept(&self.range, &condition.range_prefix).then_some(4),
            Sort::Prefix(0, prefix) if prefix.is_empty() && bare => Some(2),
            Sort::Prefix(equal, prefix) => {
                let given = (self.range.get(..*equal)?, condition.range_prefix.get(..*equal)?);
                if !accept(given.0, given.1) {
                    return None;
                }
                let next = condition.range_prefix.get(*equal);
                let next = next.or_else(|| condition.range.as_ref().and_then(lowest));
                let begins = match next {
                    Some(AttributeValue::S(text)) => text.starts_with(prefix.as_str()),
                    Some(_) => prefix.is_empty(),
                    None => prefix.is_empty(),
                };
                begins.then_some(if prefix.is_empty() { 1 } else { 3 })
            }
        }
    }

    pub(super) fn attributed<'a>(
        &'a self,
        place: &Place<'a>,
        operation: Operation,
    ) -> Attributed<'a> {
        let operation = hash_of(operation.name().as_bytes());
        Attributed {
            id: joined(hash_of(self.pattern.as_bytes()), operation),
            name: Some(&self.pattern),
            entity: self.entity.as_deref(),
            place: *place,
        }
    }
}

/// A value that every key of the range is at least, or at most if there is no other.
fn lowest(operator: &KeyOperator) -> Option<&AttributeValue> {
    operator.values().first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_leaves_out_the_first_sort_key_attribute_is_another_one() {
        let form = ReadForm {
            pattern: "of a state, by date".to_owned(),
            entity: None,
            hash: vec![Part::Native],
            range: vec![Part::Native, Part::Native],
            sort: Sort::Prefix(1, String::new()),
            is_forward: true,
            filters: Vec::new(),
            is_limited: false,
            is_lookup: false,
            is_second_step: false,
        };
        let fit = |given: &[&str], begins: Option<&str>| {
            form.fit_sort(&ResolvedKeyCondition {
                hash: vec!["a".into()],
                range_prefix: given.iter().map(|value| AttributeValue::from(*value)).collect(),
                range: begins.map(|text| KeyOperator::BeginsWith(text.into())),
            })
        };
        assert_eq!(fit(&["open"], None), Some(1));
        assert_eq!(fit(&["open"], Some("2024")), Some(1));
        assert_eq!(fit(&[], Some("2024")), None);
        assert_eq!(fit(&[], None), None);
    }
}
