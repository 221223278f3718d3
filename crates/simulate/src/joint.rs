//! Which values one request asks for together. A write whose keys share a field asks for the same value of it everywhere: what
//! the table refuses of a hot value, its index need not.

use crate::asked::ByValue;
use crate::spread::Spread;
use crate::workload::{Flow, Place};

/// Values of a shared field that are told apart; of more, only those that a design names.
const MOST_VALUES: usize = 64;
/// Combinations of values that are told apart.
const MOST_CLASSES: usize = 1024;

/// The requests of a flow by the values that they ask for.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    /// By touch: the values that are asked for together.
    cells: Vec<Cells>,
    /// The share of the requests, and the cell of each touch.
    classes: Vec<(f64, Vec<usize>)>,
}

/// The values of one touch, in cells.
#[derive(Clone, Debug)]
struct Cells {
    /// The cell of each listed value.
    of_hot: Vec<usize>,
    /// The shares of the others by cell; they sum to one.
    of_rest: Vec<f64>,
    /// What each cell has of all requests.
    weights: Vec<f64>,
}

/// What becomes of the requests of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate {
    /// The share that everything admits.
    pub(crate) admitted: f64,
    /// By touch: what all others admit of the requests for each value.
    pub(crate) others: Vec<ByValue>,
    /// By touch: what those before it admit.
    pub(crate) earlier: Vec<ByValue>,
}

impl Joint {
    pub(crate) fn new(flow: &Flow, places: &[Place]) -> Self {
        let spreads: Vec<Option<&Spread>> = flow
            .touches
            .iter()
            .map(|touch| places.get(touch.place).and_then(|it| it.spreads.get(touch.spread)))
            .collect();
        let shared = Shared::of(&spreads);
        let cells: Vec<Cells> = spreads.iter().map(|spread| shared.cells(*spread)).collect();
        let classes = shared.classes(&spreads);
        Self { cells, classes }
    }

    /// What becomes of the requests if these shares of each touch's values are admitted.
    pub(crate) fn fate(&self, shares: &[ByValue], spreads: &[&Spread]) -> Fate {
        let cells: Vec<Vec<f64>> = self
            .cells
            .iter()
            .zip(shares)
            .zip(spreads)
            .map(|((cells, shares), spread)| cells.admitted(shares, spread))
            .collect();
        let mut others: Vec<Vec<f64>> = cells.iter().map(|it| vec![0.0; it.len()]).collect();
        let mut earlier = others.clone();
        let mut admitted = 0.0;
        for (weight, at) in &self.classes {
            let own: Vec<f64> = cells
                .iter()
                .zip(at)
                .map(|(cells, cell)| cells.get(*cell).copied().unwrap_or(1.0))
                .collect();
            let mut before = 1.0;
            for (touch, (cell, share)) in at.iter().zip(&own).enumerate() {
                let besides = own.iter().enumerate().filter(|(other, _)| *other != touch);
                let besides: f64 = besides.map(|(_, share)| share).product();
                add(&mut others, touch, *cell, weight * besides);
                add(&mut earlier, touch, *cell, weight * before);
                before *= share;
            }
            admitted += weight * before;
        }
        let by_value = |sums: &[Vec<f64>]| {
            let touches = self.cells.iter().zip(sums);
            touches.map(|(cells, sums)| cells.by_value(sums)).collect()
        };
        Fate { admitted, others: by_value(&others), earlier: by_value(&earlier) }
    }
}

fn add(sums: &mut [Vec<f64>], touch: usize, cell: usize, weight: f64) {
    if let Some(sum) = sums.get_mut(touch).and_then(|it| it.get_mut(cell)) {
        *sum += weight;
    }
}

impl Cells {
    /// The share of each cell that is admitted.
    fn admitted(&self, shares: &ByValue, spread: &Spread) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.weights.len()];
        for ((cell, hot), share) in self.of_hot.iter().zip(&spread.hot).zip(&shares.hot) {
            if let Some((sum, whole)) = sums.get_mut(*cell) {
                *sum += hot * share;
                *whole += hot;
            }
        }
        for ((sum, whole), part) in sums.iter_mut().zip(&self.of_rest) {
            *sum += spread.rest * part * shares.rest;
            *whole += spread.rest * part;
        }
        sums.into_iter().map(|(sum, whole)| if whole > 0.0 { sum / whole } else { 1.0 }).collect()
    }

    /// Sums by cell as shares of the values in it.
    fn by_value(&self, sums: &[f64]) -> ByValue {
        let share = |cell: usize| {
            let weight = self.weights.get(cell).copied().unwrap_or(0.0);
            sums.get(cell).filter(|_| weight > 0.0).map_or(1.0, |sum| sum / weight)
        };
        let hot = self.of_hot.iter().map(|cell| share(*cell)).collect();
        let rest = self.of_rest.iter().enumerate().map(|(cell, part)| part * share(cell)).sum();
        ByValue { hot, rest }
    }
}

/// The fields that several touches share, with the values of each that are told apart.
struct Shared {
    /// The name, and the share of each value or group of values; ranks from the last one on are one group.
    fields: Vec<(String, Vec<f64>)>,
}

impl Shared {
    fn of(spreads: &[Option<&Spread>]) -> Self {
        let mut fields: Vec<(String, Vec<f64>)> = Vec::new();
        let mut classes = 1;
        for (at, spread) in spreads.iter().enumerate() {
            for field in spread.iter().flat_map(|it| &it.fields) {
                let later = spreads.iter().skip(at + 1).flatten();
                let mut named = later.flat_map(|it| &it.fields).filter(|it| it.name == field.name);
                let is_new = fields.iter().all(|(name, _)| *name != field.name);
                if !is_new || named.next().is_none() {
                    continue;
                }
                let room = MOST_VALUES.min(MOST_CLASSES / classes);
                let shares = field.shares(room);
                classes *= shares.len();
                fields.push((field.name.clone(), shares));
            }
        }
        Self { fields }
    }

    /// Every combination of values, with its share and the cells of it.
    fn classes(&self, spreads: &[Option<&Spread>]) -> Vec<(f64, Vec<usize>)> {
        let mut classes = vec![(1.0, Vec::new())];
        for (_, shares) in &self.fields {
            classes = classes
                .into_iter()
                .flat_map(|(share, ranks): (f64, Vec<usize>)| {
                    shares.iter().enumerate().map(move |(rank, own)| {
                        let ranks: Vec<usize> = ranks.iter().copied().chain([rank]).collect();
                        (share * own, ranks)
                    })
                })
                .collect();
        }
        let cell = |spread: Option<&Spread>, ranks: &[usize]| {
            let own = self.fields.iter().zip(ranks).filter(|((name, _), _)| has(spread, name));
            own.fold(0, |cell, ((_, shares), rank)| cell * shares.len() + rank)
        };
        classes
            .into_iter()
            .map(|(share, ranks)| {
                (share, spreads.iter().map(|spread| cell(*spread, &ranks)).collect())
            })
            .collect()
    }

    fn cells(&self, spread: Option<&Spread>) -> Cells {
        let own: Vec<&(String, Vec<f64>)> =
            self.fields.iter().filter(|(name, _)| has(spread, name)).collect();
        let mut weights = vec![1.0];
        for (_, shares) in &own {
            weights = weights
                .into_iter()
                .flat_map(|weight: f64| shares.iter().map(move |share| weight * share))
                .collect();
        }
        let Some(spread) = spread else {
            return Cells { of_hot: Vec::new(), of_rest: weights.clone(), weights };
        };
        let cell = |value: usize| {
            own.iter().fold(0, |cell, (name, shares)| {
                let rank = spread.rank(value, name).unwrap_or(usize::MAX);
                cell * shares.len() + rank.min(shares.len() - 1)
            })
        };
        let of_hot: Vec<usize> = (0..spread.hot.len()).map(cell).collect();
        // What is not listed of each cell.
        let mut left = weights.clone();
        for (cell, share) in of_hot.iter().zip(&spread.hot) {
            if let Some(left) = left.get_mut(*cell) {
                *left -= share;
            }
        }
        let sum: f64 = left.iter().map(|it| it.max(0.0)).sum();
        let even = 1.0 / weights.len() as f64;
        let part = |left: f64| if sum > 1e-9 { left.max(0.0) / sum } else { even };
        Cells { of_hot, of_rest: left.into_iter().map(part).collect(), weights }
    }
}

fn has(spread: Option<&Spread>, name: &str) -> bool {
    spread.is_some_and(|it| it.fields.iter().any(|field| field.name == name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Touch;
    use keyloom_design::model::{Billing, TableClass};

    fn place(spread: Spread) -> Place {
        Place {
            table: "t".to_owned(),
            index: None,
            stock: Vec::new(),
            billing: Billing::OnDemand,
            class: TableClass::Standard,
            spreads: vec![spread],
        }
    }

    fn fate(fields: [&[(&str, f64, Option<f64>)]; 2], shares: [f64; 2]) -> Fate {
        let places = fields.map(|fields| place(Spread::of_fields("K".to_owned(), fields)));
        let touch = |place| Touch { place, spread: 0, units: 1.0, is_range: false };
        let flow = Flow {
            name: "f".to_owned(),
            is_write: true,
            average: 1.0,
            peak: 1.0,
            touches: vec![touch(0), touch(1)],
        };
        let joint = Joint::new(&flow, &places);
        let spreads: Vec<&Spread> = places.iter().flat_map(|it| &it.spreads).collect();
        // Only the busiest values are refused.
        let shares: Vec<ByValue> = spreads
            .iter()
            .zip(shares)
            .map(|(spread, share)| {
                let mut all = ByValue::all(spread, 1.0);
                all.hot.iter_mut().take(1).for_each(|it| *it = share);
                all
            })
            .collect();
        joint.fate(&shares, &spreads)
    }

    #[test]
    fn keys_that_share_a_field_are_hot_together() {
        let (a, b) = (("a", 4.0, Some(0.6)), ("b", 4.0, Some(0.6)));
        let same = fate([&[a][..], &[a][..]], [0.5, 0.5]);
        assert!((same.admitted - (0.6 * 0.25 + 0.4)).abs() < 1e-12, "{same:?}");
        assert!(same.others.iter().all(|it| (it.of(0) - 0.5).abs() < 1e-12), "{same:?}");
        assert!(same.others.iter().all(|it| (it.of(1) - 1.0).abs() < 1e-12), "{same:?}");
        assert!(same.earlier.first().is_some_and(|it| (it.of(0) - 1.0).abs() < 1e-12), "{same:?}");
        let apart = fate([&[a][..], &[b][..]], [0.5, 0.5]);
        assert!((apart.admitted - 0.7 * 0.7).abs() < 1e-12, "{apart:?}");
        // A longer key holds the field, too: 0.36 of the requests are for the busiest pair.
        let longer = fate([&[a][..], &[a, b][..]], [0.5, 0.0]);
        assert!((longer.admitted - (0.24 * 0.5 + 0.4)).abs() < 1e-12, "{longer:?}");
    }

    #[test]
    fn many_values_are_grouped_and_nothing_is_lost() {
        let (many, few) = (("a", 5_000.0, Some(0.3)), ("b", 40.0, None));
        for fields in [
            [&[many][..], &[many, few][..]],
            [&[few, many][..], &[few][..]],
            [&[few][..], &[few][..]],
        ] {
            let all = fate(fields, [1.0, 1.0]);
            assert!((all.admitted - 1.0).abs() < 1e-9, "{all:?}");
            for shares in all.others.iter().chain(&all.earlier) {
                assert!(shares.hot.iter().all(|it| (it - 1.0).abs() < 1e-9), "{all:?}");
            }
        }
    }
}
