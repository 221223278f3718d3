//! Inputs for the calls of a pattern, taken from rows so that there is something to find.
//!
//! Values of `in` and of the alternatives of `or` come from different rows: from one partition in some calls, from
//! several in others, twice the same, or of no row at all. Merging, order and limit across requests show only then.

use std::collections::HashMap;

use keyloom_core::hash::SplitMix64;
use keyloom_keys::Value;

use crate::evaluate::{Inputs, Places, Row, hash_of, holds, operand_value};
use crate::model::{Access, Entity, Input, InputRole, Question, Test};

/// Inputs for calls of a pattern.
pub fn inputs_for(access: &Access, rows: &[Row], seed: u64, calls: usize) -> Vec<Inputs> {
    let Some(asked) = access.asked() else { return Vec::new() };
    let mut maker = Maker::new(access, asked, rows, seed);
    (0..calls).map(|call| maker.call(call)).collect()
}

/// Where the further values of a call come from, after those of its first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Further {
    /// Rows that agree with the first one in what `=` pins: mostly the same partition.
    Together,
    /// Any rows.
    Anywhere,
    /// The first row again.
    Same,
    /// No row: the values do not occur.
    Nowhere,
}

/// The moods of successive calls; `None` asks for nothing that exists.
const MOODS: [Option<Further>; 8] = [
    Some(Further::Together),
    Some(Further::Anywhere),
    Some(Further::Together),
    Some(Further::Same),
    Some(Further::Anywhere),
    Some(Further::Nowhere),
    Some(Further::Together),
    None,
];

/// The place of an input in the conditions: which alternative, and which of the values of `in`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Place {
    alternative: usize,
    element: usize,
}

struct Maker<'a> {
    access: &'a Access,
    asked: &'a Entity,
    random: SplitMix64,
    /// The rows that the conditions are about.
    mine: Vec<&'a Row>,
    /// Those that satisfy what the conditions say without inputs, in each alternative.
    fitting: Vec<Vec<u32>>,
    /// Rows by the values that `=` pins: in what all alternatives share, then in each of them.
    pinned: Vec<Pinned<'a>>,
    places: HashMap<&'a str, Place>,
}

/// Rows by their values in some fields.
struct Pinned<'a> {
    fields: Vec<&'a str>,
    rows: Places,
}

impl<'a> Pinned<'a> {
    fn new(fields: Vec<&'a str>, rows: &[&Row]) -> Self {
        let numbered = rows.iter().zip(0_u32..);
        let rows = if fields.is_empty() {
            Places::default()
        } else {
            Places::new(numbered.map(|(row, at)| (hash(&fields, row), at)))
        };
        Self { fields, rows }
    }
}

fn hash(fields: &[&str], row: &Row) -> u64 {
    let values: Vec<_> = fields.iter().map(|name| row.values.get(*name)).collect();
    hash_of(&format!("{values:?}"))
}

impl<'a> Maker<'a> {
    fn new(access: &'a Access, asked: &'a Entity, rows: &'a [Row], seed: u64) -> Self {
        let mine: Vec<&Row> = rows.iter().filter(|row| row.entity.name == asked.name).collect();
        let mut alternatives: Vec<&[Question]> =
            access.alternatives.iter().map(Vec::as_slice).collect();
        if alternatives.is_empty() {
            alternatives.push(&[]);
        }
        let fitting = alternatives
            .iter()
            .map(|own| {
                let fits = |row: &Row| access.terms.iter().chain(*own).all(|term| fits(term, row));
                let numbered = mine.iter().zip(0_u32..);
                numbered.filter(|(row, _)| fits(row)).map(|(_, at)| at).collect()
            })
            .collect();
        let shared = pinned_fields(&access.terms);
        let mut pinned = vec![Pinned::new(shared.clone(), &mine)];
        for own in alternatives {
            let fields = shared.iter().copied().chain(pinned_fields(own)).collect();
            pinned.push(Pinned::new(fields, &mine));
        }
        let (random, places) = (SplitMix64::new(seed), places(access));
        Self { access, asked, random, mine, fitting, pinned, places }
    }

    /// The inputs of one call.
    fn call(&mut self, call: usize) -> Inputs {
        let mood = MOODS.get(call % MOODS.len()).copied().flatten();
        let first = self.fitting_row(0);
        let other = self.random.pick(&self.mine).copied();
        let mut rows: HashMap<Place, Option<&'a Row>> = HashMap::new();
        rows.insert(Place::default(), mood.and(first));
        let mut inputs = Inputs::new();
        for (number, input) in self.access.inputs.iter().enumerate() {
            let place = self.places.get(input.name.as_str()).copied().unwrap_or_default();
            let row = if let Some(row) = rows.get(&place) {
                *row
            } else {
                let row = mood.and_then(|further| self.further(place, &rows, further));
                *rows.entry(place).or_insert(row)
            };
            let strange = 30 + (call * self.access.inputs.len() + number) as u32;
            if let Some(value) = value(input, self.asked, row, other, strange) {
                inputs.insert(input.name.clone(), value);
            }
        }
        inputs
    }

    /// A row of which an alternative may hold, as far as its conditions without inputs tell.
    fn fitting_row(&mut self, alternative: usize) -> Option<&'a Row> {
        let fitting = self.fitting.get(alternative).map(Vec::as_slice).unwrap_or_default();
        let found = self.random.pick(fitting).and_then(|at| self.mine.get(*at as usize));
        found.or_else(|| self.random.pick(&self.mine)).copied()
    }

    /// The row for a place that is not the first one.
    fn further(
        &mut self,
        place: Place,
        rows: &HashMap<Place, Option<&'a Row>>,
        further: Further,
    ) -> Option<&'a Row> {
        // Elements of `in` go with the first row of their alternative, alternatives with the first row of all.
        let of_alternative = Place { element: 0, ..place };
        let start = rows.get(&of_alternative).filter(|_| place.element > 0);
        let start = start.or_else(|| rows.get(&Place::default())).copied().flatten();
        match further {
            Further::Same => start,
            Further::Nowhere => None,
            Further::Anywhere => self.fitting_row(place.alternative),
            Further::Together => {
                let pinned = if place.element > 0 { place.alternative + 1 } else { 0 };
                let together = self.together(pinned, start?);
                together.or_else(|| self.fitting_row(place.alternative))
            }
        }
    }

    /// Another row that has the pinned values of this one.
    fn together(&mut self, pinned: usize, row: &Row) -> Option<&'a Row> {
        let Pinned { fields, rows } = self.pinned.get(pinned)?;
        if fields.is_empty() {
            return None;
        }
        let found: Vec<usize> = rows.find(hash(fields, row)).collect();
        let at = self.random.pick(&found)?;
        self.mine.get(*at).copied()
    }
}

/// Whether a row satisfies a condition that has no inputs; one that has them can be satisfied.
fn fits(term: &Question, row: &Row) -> bool {
    if !term.test.inputs().is_empty() {
        return true;
    }
    let Some(field) = row.entity.field(&term.field) else { return false };
    let nothing = Inputs::new();
    let value = row.values.get(&term.field);
    holds(&term.test, field, value, &|operand| operand_value(operand, &nothing))
}

/// The fields that an input pins to one value.
fn pinned_fields(terms: &[Question]) -> Vec<&str> {
    let pins =
        |term: &&Question| matches!(term.test, Test::Equal(_)) && !term.test.inputs().is_empty();
    terms.iter().filter(pins).map(|term| term.field.as_str()).collect()
}

/// Where each input stands first.
fn places(access: &Access) -> HashMap<&str, Place> {
    let mut places = HashMap::new();
    let shared = access.terms.iter().map(|term| (0, term));
    let own = access.alternatives.iter().enumerate();
    let own = own.flat_map(|(at, terms)| terms.iter().map(move |term| (at, term)));
    for (alternative, term) in shared.chain(own) {
        let is_list = matches!(term.test, Test::In(_));
        for (element, name) in term.test.inputs().into_iter().enumerate() {
            let element = if is_list { element } else { 0 };
            places.entry(name).or_insert(Place { alternative, element });
        }
    }
    places
}

/// The value of an input: that of a row, or one that hardly any row has.
fn value(
    input: &Input,
    asked: &Entity,
    row: Option<&Row>,
    other: Option<&Row>,
    strange: u32,
) -> Option<Value<'static>> {
    let field = asked.field(&input.field)?;
    let from = |row: Option<&Row>| row.and_then(|row| row.values.get(&field.name).cloned());
    let fallback = || super::sample(field, strange);
    let own = from(row).unwrap_or_else(fallback);
    Some(match input.role {
        InputRole::Value => own,
        InputRole::Low | InputRole::High => {
            let other = from(other).unwrap_or_else(fallback);
            let is_first = crate::key::compare(&own, &other).is_le();
            if is_first == (input.role == InputRole::Low) { own } else { other }
        }
        InputRole::Prefix => {
            let text = own.to_string();
            let count = (text.chars().count() / 2).max(1);
            Value::Text(text.chars().take(count).collect::<String>().into())
        }
    })
}
