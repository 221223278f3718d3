//! Whether a recorded run kept what was claimed for it.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;

use super::answer::{Answer, Hit, order_of, sorted_by};
use super::record::Known;
use super::returned::{Returned, is_data};
use crate::model::Access;

/// What is claimed about every run of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Every row that is asked for comes, up to the limit.
    pub rows: bool,
    /// No other row comes.
    pub purity: bool,
    /// Rows come in the order asked for.
    pub order: bool,
    /// Exactly the first rows come, as many as the limit says.
    pub limit: bool,
    /// Every field asked for comes along.
    pub coverage: bool,
    /// The run sees the latest write.
    pub consistency: bool,
    /// The first step takes so many requests at most, further pages apart.
    pub requests: Option<u64>,
}

/// What happened when a pattern was run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'r> {
    /// What came back, in order.
    pub returned: &'r [Returned],
    /// The requests of the first step, further pages apart.
    pub requests: u64,
    /// Whether every request was strongly consistent.
    pub strong: bool,
}

/// A claim that a run has broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// A row that is asked for does not come.
    Missing {
        /// Its position in the population.
        record: usize,
    },
    /// A row comes that is not asked for; without a position, it is no record at all.
    Foreign {
        /// Its position in the population.
        record: Option<usize>,
    },
    /// A row comes more often than it is asked for.
    Twice {
        /// Its position in the population.
        record: usize,
    },
    /// A row comes after one that should follow it.
    Disordered {
        /// Its position in the population.
        record: usize,
    },
    /// The limit does not take the first rows.
    WrongFirst {
        /// How many come.
        returned: usize,
        /// How many should.
        wanted: usize,
        /// A row that should have come instead of the last one.
        record: Option<usize>,
    },
    /// A field is not in the response, or has another value.
    Uncovered {
        /// The number of the row.
        record: usize,
        /// The name of the field.
        field: String,
    },
    /// A request may see old data.
    Stale,
    /// It took more requests than were claimed.
    Requests {
        /// How many were claimed.
        claimed: u64,
        /// How many were made.
        made: u64,
    },
}

impl Contradiction {
    /// The claim that is broken, in one word.
    pub fn claim(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "rows",
            Self::Foreign { .. } | Self::Twice { .. } => "purity",
            Self::Disordered { .. } => "order",
            Self::WrongFirst { .. } => "limit",
            Self::Uncovered { .. } => "coverage",
            Self::Stale => "consistency",
            Self::Requests { .. } => "requests",
        }
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { record } => write!(f, "row {record} is asked for and does not come"),
            Self::Foreign { record: Some(record) } => {
                write!(f, "row {record} comes and is not asked for")
            }
            Self::Foreign { record: None } => f.write_str("an item comes that nobody wrote"),
            Self::Twice { record } => {
                write!(f, "row {record} comes more often than it is asked for")
            }
            Self::Disordered { record } => write!(f, "row {record} comes too late in the order"),
            Self::WrongFirst { returned, wanted, record } => {
                write!(f, "the limit takes {returned} rows of {wanted}")?;
                record.map_or(Ok(()), |record| write!(f, ", and row {record} should be among them"))
            }
            Self::Uncovered { record, field } => {
                write!(f, "`{field}` of row {record} does not come")
            }
            Self::Stale => f.write_str("a request is eventually consistent"),
            Self::Requests { claimed, made } => {
                write!(f, "it takes {made} requests instead of {claimed}")
            }
        }
    }
}

/// Every claim that the run breaks.
pub fn judge<K: Known>(
    access: &Access,
    answer: &Answer,
    population: &[K],
    claims: &Claims,
    run: &Run,
) -> Vec<Contradiction> {
    let judge = Judge { access, answer, population, returned: run.returned };
    let mut broken = Vec::new();
    if claims.purity {
        broken.extend(judge.foreign());
    }
    if claims.rows {
        broken.extend(judge.missing());
    }
    if claims.order {
        broken.extend(judge.disorder());
    }
    if claims.limit {
        broken.extend(judge.wrong_first());
    }
    if claims.coverage {
        broken.extend(judge.uncovered());
    }
    if claims.consistency && !run.strong {
        broken.push(Contradiction::Stale);
    }
    if let Some(claimed) = claims.requests.filter(|claimed| run.requests > *claimed) {
        broken.push(Contradiction::Requests { claimed, made: run.requests });
    }
    broken
}

struct Judge<'a, K> {
    access: &'a Access,
    answer: &'a Answer,
    population: &'a [K],
    returned: &'a [Returned],
}

impl<K: Known> Judge<'_, K> {
    /// How often each record is asked for: several links may lead to one.
    fn asked(&self) -> HashMap<usize, usize> {
        let mut counts = HashMap::new();
        for hit in &self.answer.hits {
            *counts.entry(hit.record).or_insert(0) += 1;
        }
        counts
    }

    fn foreign(&self) -> Option<Contradiction> {
        let mut left = self.asked();
        for row in self.returned {
            match row.record.and_then(|record| left.get_mut(&record)) {
                None => return Some(Contradiction::Foreign { record: row.record }),
                Some(0) => return row.record.map(|record| Contradiction::Twice { record }),
                Some(count) => *count -= 1,
            }
        }
        None
    }

    /// A row that should come and does not. With a limit, rows may be missing once enough have come.
    fn missing(&self) -> Option<Contradiction> {
        let mut left = self.asked();
        let mut right = 0;
        for row in self.returned {
            if let Some(count) = row.record.and_then(|record| left.get_mut(&record))
                && *count > 0
            {
                *count -= 1;
                right += 1;
            }
        }
        if self.access.limit.is_some_and(|limit| self.returned.len() as u64 >= limit) {
            return None;
        }
        let enough = right >= self.answer.hits.len();
        let missing = self.answer.hits.iter().find(|hit| left.get(&hit.record) != Some(&0));
        missing.filter(|_| !enough).map(|hit| Contradiction::Missing { record: hit.record })
    }

    /// The rows that are asked for, as they came, with the link that fits their place best.
    fn hits(&self) -> Vec<Hit> {
        let mut left: HashMap<usize, Vec<Hit>> = HashMap::new();
        // Links to one row are used up in the order of the answer.
        for hit in self.answer.hits.iter().rev() {
            left.entry(hit.record).or_default().push(*hit);
        }
        let rows = self.returned.iter();
        rows.filter_map(|row| left.get_mut(&row.record?).and_then(Vec::pop)).collect()
    }

    fn order(&self, a: &Hit, b: &Hit) -> Option<Ordering> {
        let by = &self.access.order;
        order_of(by, sorted_by(a, self.population), sorted_by(b, self.population))
    }

    fn disorder(&self) -> Option<Contradiction> {
        let hits = self.hits();
        let placed = hits.iter().filter(|hit| {
            let own = sorted_by(hit, self.population);
            order_of(&self.access.order, own, own).is_some()
        });
        let placed: Vec<&Hit> = placed.collect();
        placed.array_windows::<2>().find_map(|[a, b]| {
            let order = self.order(a, b);
            (order == Some(Ordering::Greater))
                .then_some(Contradiction::Disordered { record: b.record })
        })
    }

    /// The rows must be the first of the answer; those that tie with the last one may stand in for it.
    fn wrong_first(&self) -> Option<Contradiction> {
        let limit = self.access.limit? as usize;
        let wanted = self.answer.hits.len().min(limit);
        let hits = self.hits();
        let wrong = |record| {
            Some(Contradiction::WrongFirst { returned: self.returned.len(), wanted, record })
        };
        if self.returned.len() != wanted || hits.len() != wanted {
            return wrong(None);
        }
        if !self.answer.ordered || self.access.order.is_empty() {
            return None;
        }
        let last = hits.last()?;
        let skipped = self.answer.hits.iter().find(|hit| {
            let before = self.order(hit, last) == Some(Ordering::Less);
            before && !hits.contains(hit)
        });
        skipped.and_then(|hit| wrong(Some(hit.record)))
    }

    fn uncovered(&self) -> Option<Contradiction> {
        self.returned.iter().find_map(|row| {
            let at = row.record?;
            let record = self.population.get(at)?;
            let kind = self.access.find.iter().find(|kind| kind.name == record.entity().name)?;
            let wanted = kind.fields.iter().filter(|field| match self.access.returns.as_slice() {
                [] => is_data(field),
                names => names.contains(&field.name),
            });
            let mut missing = wanted.filter(|field| !row.has(record, field));
            let field = missing.next()?.name.clone();
            Some(Contradiction::Uncovered { record: at, field })
        })
    }
}
