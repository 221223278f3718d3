//! Projections: the requested parts of an item.

use std::collections::BTreeMap;

use super::path::{self, Path, Step};
use crate::error::message::expression::Problem;
use crate::value::{AttributeValue, Item, Str};

/// Paths to keep, without overlaps or conflicts.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Projection {
    paths: Vec<Path>,
    attributes: BTreeMap<Str, Part>,
}

/// The part of a value to keep.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    All,
    Keys(BTreeMap<Str, Part>),
    Elements(BTreeMap<usize, Part>),
}

impl Projection {
    /// A projection to these paths; refused if they overlap or conflict.
    pub fn of(paths: Vec<Path>) -> Result<Self, Problem> {
        path::check_distinct(&paths.iter().collect::<Vec<_>>())?;
        Ok(Self::new(paths))
    }

    /// A projection to these paths, which must not overlap (the binder and the legacy parameters
    /// ensure that; of overlapping paths the later one wins).
    pub(crate) fn new(paths: Vec<Path>) -> Self {
        let mut attributes = BTreeMap::new();
        for path in &paths {
            let part = attributes.entry(path.attribute.clone()).or_insert(Part::All);
            part.add(&path.steps);
        }
        Self { paths, attributes }
    }

    /// The paths, in source order.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The top-level attributes that the paths start with, sorted.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.attributes.keys().map(Str::as_str)
    }

    /// The parts of `item` at the paths.
    ///
    /// Enclosing maps and lists are kept; lists contain only the requested elements, in order.
    pub fn apply(&self, item: &Item) -> Item {
        select(&self.attributes, item)
    }
}

fn select(parts: &BTreeMap<Str, Part>, map: &Item) -> Item {
    let kept = parts.iter().filter_map(|(name, part)| {
        let value = part.apply(map.get(name)?)?;
        Some((name.clone(), value))
    });
    Item::from_sorted(kept.collect())
}

impl Part {
    /// Adds `steps` to this part.
    fn add(&mut self, steps: &[Step]) {
        let mut part = self;
        for step in steps {
            part = match step {
                Step::Key(key) => {
                    if !matches!(part, Self::Keys(_)) {
                        *part = Self::Keys(BTreeMap::new());
                    }
                    let Self::Keys(keys) = part else { return };
                    keys.entry(key.clone()).or_insert(Self::All)
                }
                Step::Index(index) => {
                    if !matches!(part, Self::Elements(_)) {
                        *part = Self::Elements(BTreeMap::new());
                    }
                    let Self::Elements(elements) = part else { return };
                    elements.entry(*index).or_insert(Self::All)
                }
            };
        }
    }

    /// The part of `value` to keep, if any.
    fn apply(&self, value: &AttributeValue) -> Option<AttributeValue> {
        match (self, value) {
            (Self::All, value) => Some(value.clone()),
            (Self::Keys(parts), AttributeValue::M(map)) => {
                let map = select(parts, map);
                (!map.is_empty()).then_some(AttributeValue::M(map))
            }
            (Self::Elements(parts), AttributeValue::L(list)) => {
                let kept = parts.iter().filter_map(|(index, part)| part.apply(list.get(*index)?));
                let kept: Vec<AttributeValue> = kept.collect();
                (!kept.is_empty()).then_some(AttributeValue::L(kept))
            }
            _ => None,
        }
    }
}
