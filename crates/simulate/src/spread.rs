//! How load is shared among the values of a partition key.

use keyloom_core::hash::{fraction, partition_hash};
use keyloom_core::key::encode_key_values;
use keyloom_core::value::AttributeValue;

/// Why a hot item collection stays on one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSplit {
    /// It is one item, or all its load goes to one.
    OneItem,
    /// The table has a local index.
    LocalIndex,
    /// Its sort key only grows: every new item goes to the end.
    MovingSortKey,
    /// It is read by ranges, which begin at the same item each time.
    Ranges,
}

impl NoSplit {
    /// Why, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OneItem => "all its load goes to one item",
            Self::LocalIndex => "the table has a local index",
            Self::MovingSortKey => "its sort key only grows, so all new items go to the end",
            Self::Ranges => "it is read by ranges that begin at the same item",
        }
    }
}

/// Key values that get load of their own; more of them are even enough to be one mass.
const MAX_HOT: usize = 256;

/// The values of one partition key template in one table or index, and how load is shared among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The template, as people see it.
    pub label: String,
    /// The shares of the busiest values, in falling order.
    pub hot: Vec<f64>,
    /// What those values are, as far as they were observed.
    pub names: Vec<String>,
    /// How many other values there are; they share the rest evenly. Infinite where nothing is known.
    pub others: f64,
    /// What those others share.
    pub rest: f64,
    /// Whether the design says how many values there are.
    pub is_known: bool,
    /// Why a collection under one value cannot be split, if it cannot.
    pub no_split: Option<NoSplit>,
    /// The fields of the template, as far as it is known how many values each has.
    pub fields: Vec<KeyField>,
    /// The ranks of the listed values among those of each field; none where they were observed.
    pub ranks: Vec<Vec<usize>>,
}

/// A field of a partition key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyField {
    /// The name in the design.
    pub name: String,
    /// How many values it has.
    pub values: f64,
    /// What the busiest of them has of the load; they are even if absent.
    pub top: Option<f64>,
}

impl KeyField {
    /// The share of each value, by rank; those beyond so many are one group.
    pub(crate) fn shares(&self, most: usize) -> Vec<f64> {
        let values = self.values.max(1.0).round();
        let top = self.top.filter(|top| most > 1 && values > 1.0 && *top > 1.0 / values);
        let others = (1.0 - top.unwrap_or(0.0)).max(0.0);
        let single = usize::from(top.is_some());
        let count = values - single as f64;
        let (groups, each) = if count <= (most.saturating_sub(single)) as f64 {
            (count as usize, others / count)
        } else {
            (1, others)
        };
        top.into_iter().chain(std::iter::repeat_n(each, groups)).collect()
    }
}

impl Spread {
    /// So many values, of which the busiest has this share. The others are even, or follow Zipf's law.
    pub fn new(label: String, values: Option<f64>, top: Option<f64>, zipf: Option<f64>) -> Self {
        let Some(values) = values.map(|values| values.max(1.0)) else {
            let hot: Vec<f64> = top.into_iter().collect();
            let (rest, is_known) = (1.0 - top.unwrap_or(0.0), top.is_some());
            return Self {
                label,
                hot,
                names: Vec::new(),
                others: f64::INFINITY,
                rest,
                is_known,
                no_split: None,
                fields: Vec::new(),
                ranks: Vec::new(),
            };
        };
        match (top, zipf) {
            (Some(top), _) if top > 1.0 / values => Self::of(label, Values::new(values, Some(top))),
            (_, Some(exponent)) => {
                let listed = (values as usize).clamp(1, MAX_HOT);
                let hot = zipf_shares(exponent, values, listed);
                Self::listed(label, hot, values - listed as f64)
            }
            _ => Self::of(label, Values::new(values, None)),
        }
    }

    /// The values of a key of several fields: name, number of values, share of the busiest.
    pub fn of_fields(label: String, fields: &[(&str, f64, Option<f64>)]) -> Self {
        let values = fields.iter().map(|(_, values, top)| Values::new(*values, *top));
        let values = values.reduce(|all, field| all.and(&field));
        let named = fields.iter().map(|(name, values, top)| KeyField {
            name: (*name).to_owned(),
            values: *values,
            top: *top,
        });
        let one = || Values(vec![Group { share: 1.0, count: 1.0, ranks: Vec::new() }]);
        Self { fields: named.collect(), ..Self::of(label, values.unwrap_or_else(one)) }
    }

    /// Values of which it is known how they share the load.
    fn of(label: String, values: Values) -> Self {
        let count = values.count();
        let (mut hot, mut ranks): (Vec<f64>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
        // Many even values are a mass; single ones would only slow things down.
        if !values.is_even() || count <= MAX_HOT as f64 {
            for group in values.0 {
                if hot.len() as f64 + group.count > MAX_HOT as f64 {
                    break;
                }
                hot.extend(std::iter::repeat_n(group.share, group.count as usize));
                ranks.extend(group.values());
            }
        }
        let others = count - hot.len() as f64;
        Self { ranks, ..Self::listed(label, hot, others) }
    }

    /// The rank of a listed value among those of one of its fields.
    pub(crate) fn rank(&self, value: usize, field: &str) -> Option<usize> {
        let at = self.fields.iter().position(|it| it.name == field)?;
        self.ranks.get(value)?.get(at).copied()
    }

    /// The values that were observed: the busiest with their shares, and how many there are in all.
    #[must_use]
    pub fn observed(&self, mut keys: Vec<(String, f64)>, values: f64) -> Self {
        keys.sort_by(|a, b| b.1.total_cmp(&a.1));
        keys.truncate(MAX_HOT);
        let sum: f64 = keys.iter().map(|(_, share)| share).sum::<f64>().max(1.0);
        let (names, hot): (Vec<String>, Vec<f64>) =
            keys.into_iter().map(|(name, share)| (name, share / sum)).unzip();
        let others = (values - hot.len() as f64).max(0.0);
        Self { names, no_split: self.no_split, ..Self::listed(self.label.clone(), hot, others) }
    }

    fn listed(label: String, hot: Vec<f64>, others: f64) -> Self {
        let rest = if others < 0.5 { 0.0 } else { (1.0 - hot.iter().sum::<f64>()).max(0.0) };
        Self {
            label,
            hot,
            names: Vec::new(),
            others: others.max(0.0),
            rest,
            is_known: true,
            no_split: None,
            fields: Vec::new(),
            ranks: Vec::new(),
        }
    }

    /// Where a listed value lies among all hashes, from 0 to 1.
    pub fn position(&self, value: usize, seed: u64) -> f64 {
        fraction(partition_hash(&self.key(value, seed)))
    }

    /// The bytes that stand for a listed value: its own if it is known.
    pub fn key(&self, value: usize, seed: u64) -> Vec<u8> {
        let known = self
            .names
            .get(value)
            .and_then(|name| encode_key_values([&AttributeValue::S(name.as_str().into())]).ok());
        known.unwrap_or_else(|| format!("{seed}/{}/{value}", self.label).into_bytes())
    }

    /// The name of a listed value.
    pub fn name(&self, value: usize) -> String {
        match value {
            _ if self.names.get(value).is_some_and(|name| !name.is_empty()) => {
                self.names.get(value).cloned().unwrap_or_default()
            }
            _ if self.hot.len() == 1 && self.others <= 0.0 => self.label.clone(),
            0 => format!("the busiest value of {}", self.label),
            _ => format!("value {} of {}", value + 1, self.label),
        }
    }
}

/// How values share the load, in groups with falling shares.
#[derive(Clone, Debug, PartialEq)]
struct Values(Vec<Group>);

/// Values with the same share.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    /// The share of each.
    share: f64,
    count: f64,
    /// Of each field the first rank, and how many ranks.
    ranks: Vec<(usize, usize)>,
}

impl Group {
    /// The ranks of each value, in order.
    fn values(&self) -> Vec<Vec<usize>> {
        self.ranks.iter().fold(vec![Vec::new()], |values, (first, count)| {
            let longer = values.iter().flat_map(|value| {
                (*first..first + count)
                    .map(move |rank| value.iter().copied().chain([rank]).collect())
            });
            longer.collect()
        })
    }
}

impl Values {
    /// So many, of which the busiest has this share; the others are even.
    fn new(values: f64, top: Option<f64>) -> Self {
        let values = values.max(1.0).round();
        let group = |share: f64, first: usize, count: f64| Group {
            share,
            count,
            ranks: vec![(first, count as usize)],
        };
        match top.filter(|top| *top > 1.0 / values && values > 1.0) {
            Some(top) => {
                let others = (1.0 - top).max(0.0) / (values - 1.0);
                Self(vec![group(top, 0, 1.0), group(others, 1, values - 1.0)])
            }
            None => Self(vec![group(1.0 / values, 0, values)]),
        }
    }

    /// Pairs of these values and those of another field that has nothing to do with this one.
    fn and(&self, other: &Self) -> Self {
        let pairs = self.0.iter().flat_map(|own| {
            other.0.iter().map(move |its| Group {
                share: own.share * its.share,
                count: own.count * its.count,
                ranks: own.ranks.iter().chain(&its.ranks).copied().collect(),
            })
        });
        let mut pairs: Vec<Group> = pairs.collect();
        pairs.sort_by(|a, b| b.share.total_cmp(&a.share));
        Self(pairs)
    }

    fn count(&self) -> f64 {
        self.0.iter().map(|group| group.count).sum()
    }

    fn is_even(&self) -> bool {
        let even = 1.0 / self.count();
        self.0.iter().all(|group| group.share <= even * (1.0 + 1e-9))
    }
}

/// Shares by rank, as `1 / rank^exponent`.
fn zipf_shares(exponent: f64, values: f64, listed: usize) -> Vec<f64> {
    let weight = |rank: usize| (rank as f64).powf(-exponent);
    let head: f64 = (1..=listed).map(weight).sum();
    // The sum over the other ranks, as an integral.
    let (from, to) = (listed as f64 + 0.5, values + 0.5);
    let tail = if values <= listed as f64 {
        0.0
    } else if (exponent - 1.0).abs() < 1e-9 {
        (to / from).ln()
    } else {
        (to.powf(1.0 - exponent) - from.powf(1.0 - exponent)) / (1.0 - exponent)
    };
    (1..=listed).map(|rank| weight(rank) / (head + tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: Option<f64>, top: Option<f64>, zipf: Option<f64>) -> Spread {
        Spread::new("K#{k}".to_owned(), values, top, zipf)
    }

    #[test]
    fn shares_sum_to_one() {
        for (values, top, zipf) in [
            (Some(1.0), None, None),
            (Some(10.0), None, None),
            (Some(10.0), Some(0.4), None),
            (Some(1e6), Some(0.4), None),
            (Some(1e6), None, Some(1.0)),
            (Some(1e6), None, Some(0.7)),
            (Some(50.0), None, Some(1.2)),
            (Some(1e6), None, None),
            (None, None, None),
        ] {
            let spread = spread(values, top, zipf);
            let sum = spread.hot.iter().sum::<f64>() + spread.rest;
            assert!((sum - 1.0).abs() < 1e-3, "{values:?} {top:?} {zipf:?}: {sum}");
        }
    }

    #[test]
    fn few_values_are_listed_and_many_even_ones_are_not() {
        assert_eq!(spread(Some(10.0), None, None).hot.len(), 10);
        assert_eq!(spread(Some(1e6), None, None).hot.len(), 0);
        assert_eq!(spread(Some(1e6), Some(0.1), None).hot, [0.1]);
    }

    #[test]
    fn values_of_several_fields_share_as_their_products_do() {
        let (uneven, even) = (("a", 1000.0, Some(0.6)), ("b", 3.0, None));
        let both = Spread::of_fields("K#{a}#{b}".to_owned(), &[uneven, even]);
        // The busiest of the one is as busy under each of the other.
        assert_eq!(both.ranks, [[0, 0], [0, 1], [0, 2]]);
        assert!(both.hot.iter().all(|share| (share - 0.2).abs() < 1e-12), "{:?}", both.hot);
        assert!((both.rest - 0.4).abs() < 1e-9 && (both.others - 2997.0).abs() < 1e-9);
        let fields = [("a", 4.0, Some(0.7)), ("b", 4.0, Some(0.4))];
        let few = Spread::of_fields("K#{a}#{b}".to_owned(), &fields);
        assert_eq!((few.hot.len(), few.ranks.len()), (16, 16));
        assert!((few.hot.iter().sum::<f64>() - 1.0).abs() < 1e-9 && few.rest <= 0.0);
        for (share, ranks) in few.hot.iter().zip(&few.ranks) {
            let own = |rank: usize, top: f64| if rank == 0 { top } else { (1.0 - top) / 3.0 };
            let expected = ranks.iter().zip([0.7, 0.4]).map(|(rank, top)| own(*rank, top));
            assert!((share - expected.product::<f64>()).abs() < 1e-12, "{ranks:?}");
        }
    }

    #[test]
    fn values_beyond_so_many_are_one_group() {
        let field = |values, top| KeyField { name: "a".to_owned(), values, top };
        assert_eq!(field(4.0, None).shares(10), [0.25; 4]);
        assert_eq!(field(4.0, Some(0.5)).shares(2), [0.5, 0.5]);
        assert_eq!(field(1e9, None).shares(64), [1.0]);
        assert_eq!(field(1.0, Some(0.5)).shares(1), [1.0]);
        assert_eq!(field(3.0, Some(0.5)).shares(3), [0.5, 0.25, 0.25]);
        assert_eq!(field(1e9, Some(0.5)).shares(2), [0.5, 0.5]);
        // Where there is room for one group, all are in it.
        assert_eq!(field(4.0, Some(0.5)).shares(1), [1.0]);
    }

    #[test]
    fn observed_values_have_their_names() {
        let keys = vec![("K#1".to_owned(), 0.1), ("K#2".to_owned(), 0.5)];
        let seen = spread(None, None, None).observed(keys, 10.0);
        assert_eq!((seen.name(0), seen.name(1)), ("K#2".to_owned(), "K#1".to_owned()));
        assert!((seen.rest - 0.4).abs() < 1e-12 && (seen.others - 8.0).abs() < 1e-12);
        // Estimates may sum to more than everything.
        let keys = vec![("K#1".to_owned(), 0.9), ("K#2".to_owned(), 0.6)];
        let seen = spread(None, None, None).observed(keys, 1.0);
        assert!((seen.hot.iter().sum::<f64>() - 1.0).abs() < 1e-12 && seen.rest <= 0.0);
    }

    #[test]
    fn positions_are_spread_and_repeat() {
        let spread = spread(Some(200.0), None, None);
        let places: Vec<f64> = (0..200).map(|value| spread.position(value, 7)).collect();
        let mean = places.iter().sum::<f64>() / 200.0;
        assert!((0.4..0.6).contains(&mean), "{mean}");
        assert!((spread.position(3, 7) - places[3]).abs() < 1e-15);
    }
}
