//! Applies updates to items.
//!
//! All right-hand sides are evaluated against the original item. Then values are set, lists are
//! extended in index order, and removals come last, so that every index refers to the original
//! item's element.

use std::cmp::Reverse;

use super::path::{Path, Step};
use super::update::{Action, Change, SetValue, Update};
use crate::error::message::{expression, legacy, partiql};
use crate::error::{Error, Result};
use crate::limits::MAX_NESTING;
use crate::number::{Number, NumberError};
use crate::value::{AttributeValue, Item};

impl Update {
    /// The item after the update. If there was none, it starts as `key`.
    pub fn apply(&self, existing: Option<&Item>, key: &Item) -> Result<Item> {
        let original = existing.unwrap_or(key);
        let mut edits = Edits::default();
        for action in self.actions() {
            edits.plan(action, original)?;
        }
        edits.make(original.clone(), existing.is_some())
    }
}

impl SetValue {
    fn evaluate(&self, item: &Item) -> Result<AttributeValue> {
        match self {
            Self::Path(path) => {
                path.get(item).cloned().ok_or_else(expression::update_reads_missing_attribute)
            }
            Self::Value(value) => Ok(AttributeValue::clone(value)),
            Self::IfNotExists(path, otherwise) => match path.get(item) {
                Some(value) => Ok(value.clone()),
                None => otherwise.evaluate(item),
            },
            Self::ListAppend(front, back) => match (front.evaluate(item)?, back.evaluate(item)?) {
                (AttributeValue::L(mut list), AttributeValue::L(more)) => {
                    list.extend(more);
                    Ok(AttributeValue::L(list))
                }
                _ => Err(expression::update_operand_type()),
            },
            Self::Plus(a, b) => match (a.evaluate(item)?, b.evaluate(item)?) {
                (AttributeValue::N(a), AttributeValue::N(b)) => number(a.add(&b)),
                _ => Err(expression::update_operand_type()),
            },
            Self::Minus(a, b) => match (a.evaluate(item)?, b.evaluate(item)?) {
                (AttributeValue::N(a), AttributeValue::N(b)) => number(a.sub(&b)),
                _ => Err(expression::update_operand_type()),
            },
        }
    }
}

fn number(result: Result<Number, NumberError>) -> Result<AttributeValue> {
    result.map(AttributeValue::N).map_err(Error::from)
}

/// The writes and removals of an update for one item.
#[derive(Default)]
struct Edits<'a> {
    writes: Vec<(&'a Path, AttributeValue)>,
    removals: Vec<&'a Path>,
}

impl<'a> Edits<'a> {
    fn plan(&mut self, action: &'a Action, item: &Item) -> Result<()> {
        let path = &action.path;
        match &action.change {
            Change::Set(value) => self.writes.push((path, value.evaluate(item)?)),
            Change::Remove => self.removals.push(path),
            Change::Add(value) => {
                let sum = add(path.get(item), value, false)?
                    .ok_or_else(expression::update_operand_type)?;
                self.writes.push((path, sum));
            }
            Change::LegacyAdd(value) => {
                let sum =
                    add(path.get(item), value, true)?.ok_or_else(legacy::update_type_mismatch)?;
                self.writes.push((path, sum));
            }
            Change::Delete(value) | Change::LegacyDelete(value) => {
                // If there is no value, the removal only checks that the path is valid.
                let rest = path.get(item).map_or(Rest::Nothing, |old| Rest::of(old, value));
                let by_legacy = matches!(action.change, Change::LegacyDelete(_));
                match rest {
                    Rest::Set(rest) => self.writes.push((path, rest)),
                    Rest::Nothing => self.removals.push(path),
                    Rest::TypeMismatch if by_legacy => return Err(legacy::update_type_mismatch()),
                    Rest::TypeMismatch => return Err(expression::update_operand_type()),
                }
            }
        }
        Ok(())
    }

    fn make(mut self, mut item: Item, existed: bool) -> Result<Item> {
        // List elements beyond the end are appended in index order. Deeper paths come first, so
        // that none of them leads into a just appended element.
        self.writes.sort_by_key(|(path, _)| match path.steps.last() {
            Some(Step::Index(index)) => (Reverse(path.steps.len()), *index),
            _ => (Reverse(path.steps.len()), 0),
        });
        for (path, value) in self.writes {
            write(&mut item, path, value)?;
        }
        // From the back, so that no removal shifts an element that another one refers to.
        self.removals.sort_by_key(|path| Reverse((&path.attribute, &path.steps)));
        for path in self.removals {
            match remove(&mut item, path) {
                Ok(()) => {}
                // AWS ignores invalid paths only if there is no item at all.
                Err(_) if !existed => {}
                Err(error) => return Err(error),
            }
        }
        Ok(item)
    }
}

/// The parent of a nested path's target, and the last step.
fn parent<'a, 'p>(
    item: &'a mut Item,
    path: &'p Path,
) -> Result<Option<(&'a mut AttributeValue, &'p Step)>> {
    let Some((last, before)) = path.steps.split_last() else { return Ok(None) };
    let top = item.get_mut(&path.attribute).ok_or_else(expression::update_path_invalid)?;
    let parent = before
        .iter()
        .try_fold(top, |value, step| step.get_mut(value))
        .ok_or_else(expression::update_path_invalid)?;
    Ok(Some((parent, last)))
}

fn write(item: &mut Item, path: &Path, value: AttributeValue) -> Result<()> {
    if path.is_nested() && path.steps.len() + levels(&value) >= MAX_NESTING {
        return Err(Error::validation(partiql::NESTING));
    }
    match parent(item, path)? {
        None => {
            item.insert(path.attribute.clone(), value);
        }
        Some((AttributeValue::M(map), Step::Key(key))) => {
            map.insert(key.clone(), value);
        }
        Some((AttributeValue::L(list), Step::Index(index))) => match list.get_mut(*index) {
            Some(element) => *element = value,
            None => list.push(value),
        },
        Some(_) => return Err(expression::update_path_invalid()),
    }
    Ok(())
}

/// The nesting depth of a value.
fn levels(value: &AttributeValue) -> usize {
    let below = match value {
        AttributeValue::L(list) => list.iter().map(levels).max(),
        AttributeValue::M(map) => map.values().map(levels).max(),
        _ => None,
    };
    below.map_or(0, |below| below + 1)
}

fn remove(item: &mut Item, path: &Path) -> Result<()> {
    match parent(item, path)? {
        None => {
            item.remove(&path.attribute);
        }
        Some((AttributeValue::M(map), Step::Key(key))) => {
            map.remove(key);
        }
        Some((AttributeValue::L(list), Step::Index(index))) => {
            if *index < list.len() {
                list.remove(*index);
            }
        }
        Some(_) => return Err(expression::update_path_invalid()),
    }
    Ok(())
}

/// `old` with `more` added; `None` if their types do not match.
fn add(
    old: Option<&AttributeValue>,
    more: &AttributeValue,
    lists: bool,
) -> Result<Option<AttributeValue>> {
    use AttributeValue::{Bs, L, N, Ns, Ss};
    let Some(old) = old else { return Ok(Some(more.clone())) };
    Ok(Some(match (old, more) {
        (N(a), N(b)) => number(a.add(b))?,
        (Ss(a), Ss(b)) => AttributeValue::string_set(union(a, b)),
        (Ns(a), Ns(b)) => AttributeValue::number_set(union(a, b)),
        (Bs(a), Bs(b)) => AttributeValue::binary_set(union(a, b)),
        (L(a), L(b)) if lists => L(a.iter().chain(b).cloned().collect()),
        _ => return Ok(None),
    }))
}

/// The result of removing members from a set.
enum Rest {
    Set(AttributeValue),
    Nothing,
    /// The values are not sets of one type.
    TypeMismatch,
}

impl Rest {
    fn of(old: &AttributeValue, members: &AttributeValue) -> Self {
        use AttributeValue::{Bs, Ns, Ss};
        let rest = match (old, members) {
            (Ss(a), Ss(b)) => difference(a, b).map(Ss),
            (Ns(a), Ns(b)) => difference(a, b).map(Ns),
            (Bs(a), Bs(b)) => difference(a, b).map(Bs),
            _ => return Self::TypeMismatch,
        };
        rest.map_or(Self::Nothing, Self::Set)
    }
}

fn union<T: Clone + Ord>(a: &[T], b: &[T]) -> Vec<T> {
    let present = sorted(a);
    let new = b.iter().filter(|member| present.binary_search(member).is_err());
    a.iter().chain(new).cloned().collect()
}

fn difference<T: Clone + Ord>(a: &[T], b: &[T]) -> Option<Vec<T>> {
    let gone = sorted(b);
    let rest: Vec<T> =
        a.iter().filter(|member| gone.binary_search(member).is_err()).cloned().collect();
    (!rest.is_empty()).then_some(rest)
}

fn sorted<T: Ord>(members: &[T]) -> Vec<&T> {
    let mut members: Vec<&T> = members.iter().collect();
    members.sort();
    members
}
