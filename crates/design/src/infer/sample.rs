//! A bounded sample of a table: some items of every shape of primary key, each standing for as many as it was drawn from.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use keyloom_core::hash::SplitMix64;
use keyloom_core::size::item_size;
use keyloom_core::{AttributeValue, Item};

/// How many items are kept in all, and how many of one shape at first.
const MAX_KEPT: usize = 20_000;
const MAX_OF_A_SHAPE: usize = 2_000;
/// How many of a shape are kept however many shapes there are.
const MIN_OF_A_SHAPE: usize = 4;
/// How many shapes are told apart; the words of keys are disregarded beyond.
const MAX_SHAPES: usize = 4_096;
/// How many bytes the kept items may have together.
const MAX_BYTES: usize = 64 << 20;
/// Texts and binaries are kept up to this length: no key is longer, and no type is told by more.
const MAX_VALUE_BYTES: usize = 2_048;
/// How many members of sets, lists and maps are kept.
const MAX_MEMBERS: usize = 4;

/// An item of the sample.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The item, long values cut.
    pub item: Item,
    /// Its size as it was.
    pub bytes: usize,
    /// How many items it stands for.
    pub weight: f64,
}

/// The items of a table that are looked at.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The items that were kept.
    pub items: Vec<Kept>,
    /// How many were read.
    pub read: u64,
    /// The size of the largest one.
    pub largest: usize,
}

/// Collects a sample while items stream by; memory is bounded whatever comes.
#[derive(Debug)]
pub struct Sampler {
    keys: Vec<String>,
    shapes: HashMap<u64, Shape>,
    random: SplitMix64,
    of_a_shape: usize,
    kept: usize,
    kept_bytes: usize,
    read: u64,
    largest: usize,
}

#[derive(Debug, Default)]
struct Shape {
    seen: u64,
    kept: Vec<(Item, usize)>,
}

impl Sampler {
    /// A sampler for a table with these primary key attributes.
    pub fn new(keys: &[String]) -> Self {
        Self {
            keys: keys.to_vec(),
            shapes: HashMap::new(),
            random: SplitMix64::new(0x006b_6579_6c6f_6f6d),
            of_a_shape: MAX_OF_A_SHAPE,
            kept: 0,
            kept_bytes: 0,
            read: 0,
            largest: 0,
        }
    }

    /// One more item of the table.
    pub fn add(&mut self, item: &Item) {
        self.read += 1;
        let bytes = item_size(item);
        self.largest = self.largest.max(bytes);
        let mut shape = shape_of(&self.keys, item, true);
        if !self.shapes.contains_key(&shape) && self.shapes.len() >= MAX_SHAPES {
            shape = shape_of(&self.keys, item, false);
        }
        let group = self.shapes.entry(shape).or_default();
        group.seen += 1;
        // A reservoir: each item of a shape is kept with the same probability.
        if group.kept.len() < self.of_a_shape {
            let kept = cut_item(item);
            self.kept += 1;
            self.kept_bytes += item_size(&kept);
            group.kept.push((kept, bytes));
        } else {
            let at = (self.random.draw() % group.seen) as usize;
            if let Some(place) = group.kept.get_mut(at) {
                let kept = cut_item(item);
                self.kept_bytes = self.kept_bytes + item_size(&kept) - item_size(&place.0);
                *place = (kept, bytes);
            }
        }
        while (self.kept > MAX_KEPT || self.kept_bytes > MAX_BYTES)
            && self.of_a_shape > MIN_OF_A_SHAPE
        {
            self.halve();
        }
    }

    /// Keeps half as many of each shape, chosen at random.
    fn halve(&mut self) {
        self.of_a_shape = (self.of_a_shape / 2).max(MIN_OF_A_SHAPE);
        for group in self.shapes.values_mut() {
            while group.kept.len() > self.of_a_shape {
                let at = self.random.below(group.kept.len());
                let (gone, _) = group.kept.swap_remove(at);
                self.kept -= 1;
                self.kept_bytes = self.kept_bytes.saturating_sub(item_size(&gone));
            }
        }
    }

    /// How many items were read.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// The sample of what was added.
    pub fn finish(self) -> Sample {
        let mut shapes: Vec<(u64, Shape)> = self.shapes.into_iter().collect();
        shapes.sort_by_key(|(shape, _)| *shape);
        let items = shapes.into_iter().flat_map(|(_, shape)| {
            let weight = shape.seen as f64 / shape.kept.len().max(1) as f64;
            shape.kept.into_iter().map(move |(item, bytes)| Kept { item, bytes, weight })
        });
        Sample { items: items.collect(), read: self.read, largest: self.largest }
    }
}

/// The shape of a primary key: its first words, and where letters and other characters stand.
fn shape_of(keys: &[String], item: &Item, with_words: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    for name in keys {
        let value = item.get(name);
        value.map(AttributeValue::attribute_type).hash(&mut hasher);
        let Some(text) = value.and_then(AttributeValue::as_s) else { continue };
        let word = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
        if with_words && word.is_some_and(|word| !word.bytes().any(|b| b.is_ascii_digit())) {
            word.hash(&mut hasher);
        }
        let mut in_word = false;
        for c in text.chars().take(96) {
            let is_word = c.is_alphanumeric();
            if !is_word {
                c.hash(&mut hasher);
            } else if !in_word {
                'x'.hash(&mut hasher);
            }
            in_word = is_word;
        }
    }
    hasher.finish()
}

fn cut_item(item: &Item) -> Item {
    item.iter().map(|(name, value)| (name.clone(), cut(value, 2))).collect()
}

/// A value without what no type is told by.
fn cut(value: &AttributeValue, depth: usize) -> AttributeValue {
    match value {
        AttributeValue::S(text) if text.len() > MAX_VALUE_BYTES => {
            let mut end = MAX_VALUE_BYTES;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            AttributeValue::from(text.get(..end).unwrap_or_default())
        }
        AttributeValue::B(bytes) => {
            AttributeValue::B(bytes.iter().copied().take(MAX_VALUE_BYTES).collect())
        }
        AttributeValue::Ss(set) => {
            AttributeValue::Ss(set.iter().take(MAX_MEMBERS).cloned().collect())
        }
        AttributeValue::Ns(set) => {
            AttributeValue::Ns(set.iter().take(MAX_MEMBERS).copied().collect())
        }
        AttributeValue::Bs(set) => {
            AttributeValue::Bs(set.iter().take(MAX_MEMBERS).cloned().collect())
        }
        AttributeValue::L(list) if depth > 0 => AttributeValue::L(
            list.iter().take(MAX_MEMBERS).map(|value| cut(value, depth - 1)).collect(),
        ),
        AttributeValue::M(map) if depth > 0 => AttributeValue::M(
            map.iter()
                .take(MAX_MEMBERS)
                .map(|(name, value)| (name.clone(), cut(value, depth - 1)))
                .collect(),
        ),
        AttributeValue::L(_) => AttributeValue::L(Vec::new()),
        AttributeValue::M(_) => AttributeValue::M(Item::new()),
        other => other.clone(),
    }
}
