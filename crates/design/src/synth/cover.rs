//! Covers: the fewest views of an entity that serve all its demands, found by branch and bound.
//!
//! One view is the table's own keys, the others are indexes. The search is exact: it takes the demand with the fewest
//! views that serve it, tries each of them, and gives up a branch that cannot be better than what is known. What it has
//! excluded is the certificate.

use std::time::Instant;

/// A view in a role, as the search sees it.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// What it costs to have.
    pub(super) upkeep: f64,
    /// What each demand costs on it, if it serves the demand.
    pub(super) reads: Vec<Option<f64>>,
    /// What views with one partition key share.
    pub(super) group: u64,
}

/// What is to be covered, and with what.
#[derive(Clone, Debug, Default)]
pub(super) struct Problem {
    /// How many demands there are.
    pub(super) demands: usize,
    /// What may be the table's own keys.
    pub(super) tables: Vec<Item>,
    /// What may be an index.
    pub(super) indexes: Vec<Item>,
    /// Indexes that are there whatever is chosen.
    pub(super) given: Vec<usize>,
    /// Whether indexes under the table's own partition key are preferred: they can be local.
    pub(super) prefers_local: bool,
}

/// A way to serve every demand.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cover {
    /// The position in `tables`.
    pub(super) table: usize,
    /// Positions in `indexes`, given ones included.
    pub(super) indexes: Vec<usize>,
    /// What it costs in all.
    pub(super) cost: f64,
}

/// What the search found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// The best covers, cheapest first.
    pub(super) covers: Vec<Cover>,
    /// Branches looked at.
    pub(super) steps: u64,
    /// Whether it was searched to the end.
    pub(super) is_complete: bool,
}

/// What a local index is worth where they are wished for: more than the effort of reads, less than money.
const LOCAL_WORTH: f64 = 1.0;

/// How many covers are remembered.
const REMEMBERED: usize = 4;

impl Item {
    pub(super) fn serves(&self, demand: usize) -> bool {
        self.reads.get(demand).is_some_and(Option::is_some)
    }
}

impl Problem {
    /// The cheapest covers with at most so many indexes.
    pub(super) fn covers(&self, most: usize, deadline: Instant) -> Found {
        let mut search = Search {
            problem: self,
            most,
            deadline,
            found: Found { is_complete: true, ..Found::default() },
        };
        for table in 0..self.tables.len() {
            let mut chosen = self.given.clone();
            search.branch(table, &mut chosen);
        }
        let mut found = search.found;
        if !found.is_complete && found.covers.is_empty() {
            found.covers.extend(self.greedy());
        }
        found
    }

    /// Some cover, found without a search: always the index that serves the most of what is left.
    pub(super) fn greedy(&self) -> Option<Cover> {
        let covers = (0..self.tables.len()).filter_map(|table| {
            let own = self.tables.get(table)?;
            let mut indexes = self.given.clone();
            let mut left: Vec<usize> = (0..self.demands).collect();
            left.retain(|&demand| {
                let given = indexes.iter().filter_map(|&at| self.item(at));
                !own.serves(demand) && !given.into_iter().any(|item| item.serves(demand))
            });
            while !left.is_empty() {
                let serves = |at: &usize| {
                    let item = self.item(*at);
                    item.map_or(0, |item| left.iter().filter(|&&it| item.serves(it)).count())
                };
                let best = (0..self.indexes.len()).max_by_key(|at| serves(at))?;
                let item = self.item(best).filter(|_| serves(&best) > 0)?;
                left.retain(|&demand| !item.serves(demand));
                indexes.push(best);
            }
            let cost = self.cost(table, &indexes)?;
            Some(Cover { table, indexes, cost })
        });
        covers.min_by(|a, b| {
            (a.indexes.len(), a.cost)
                .partial_cmp(&(b.indexes.len(), b.cost))
                .unwrap_or(std::cmp::Ordering::Equal)
        })
    }

    /// The fewest indexes that some cover has, and the branches that show it; nothing if the demands cannot all be served.
    /// The flag is false if time ended the search, and then the number is a lower bound.
    pub(super) fn fewest(&self, deadline: Instant) -> (Option<usize>, u64, bool) {
        let mut steps = 0;
        for most in self.given.len()..=self.given.len() + self.demands {
            let found = self.covers(most, deadline);
            steps += found.steps;
            // One less was excluded to the end, so one cover of this size is enough.
            if found.covers.iter().any(|cover| cover.indexes.len() <= most) {
                return (Some(most), steps, true);
            }
            if !found.is_complete {
                return (Some(most), steps, false);
            }
        }
        (None, steps, true)
    }

    /// Demands of which no view serves two, so that each needs a view of its own: as many as are found one by one.
    pub(super) fn apart(&self) -> Vec<usize> {
        let together = |a: usize, b: usize| {
            self.tables.iter().chain(&self.indexes).any(|item| item.serves(a) && item.serves(b))
        };
        let mut best: Vec<usize> = Vec::new();
        for first in 0..self.demands {
            let mut chosen = vec![first];
            for other in 0..self.demands {
                if other != first && chosen.iter().all(|&one| !together(one, other)) {
                    chosen.push(other);
                }
            }
            if chosen.len() > best.len() {
                best = chosen;
            }
        }
        best
    }

    fn item(&self, index: usize) -> Option<&Item> {
        self.indexes.get(index)
    }

    /// What a choice costs: its views, and each demand where it is cheapest. Nothing if a demand is not served.
    fn cost(&self, table: usize, chosen: &[usize]) -> Option<f64> {
        let own = self.tables.get(table)?;
        let items: Vec<&Item> =
            std::iter::once(own).chain(chosen.iter().filter_map(|&at| self.item(at))).collect();
        let mut cost: f64 = items.iter().map(|item| item.upkeep).sum();
        if self.prefers_local {
            let local = items.iter().skip(1).filter(|item| item.group == own.group);
            cost -= LOCAL_WORTH * local.count() as f64;
        }
        for demand in 0..self.demands {
            let reads = items.iter().filter_map(|item| item.reads.get(demand).copied().flatten());
            cost += reads.min_by(f64::total_cmp)?;
        }
        Some(cost)
    }
}

struct Search<'a> {
    problem: &'a Problem,
    most: usize,
    deadline: Instant,
    found: Found,
}

impl Search<'_> {
    fn branch(&mut self, table: usize, chosen: &mut Vec<usize>) {
        self.found.steps += 1;
        if self.found.steps.is_multiple_of(1024) && Instant::now() > self.deadline {
            self.found.is_complete = false;
        }
        if !self.found.is_complete {
            return;
        }
        let Some(next) = self.hardest(table, chosen) else {
            self.keep(table, chosen);
            return;
        };
        if chosen.len() >= self.most {
            return;
        }
        for at in 0..self.problem.indexes.len() {
            if self.problem.item(at).is_some_and(|item| item.serves(next)) {
                chosen.push(at);
                self.branch(table, chosen);
                chosen.pop();
            }
        }
    }

    /// The demand not yet served that the fewest indexes serve.
    fn hardest(&self, table: usize, chosen: &[usize]) -> Option<usize> {
        let problem = self.problem;
        let served = |demand: usize| {
            problem.tables.get(table).is_some_and(|item| item.serves(demand))
                || chosen.iter().any(|&at| problem.item(at).is_some_and(|item| item.serves(demand)))
        };
        let choices =
            |demand: usize| problem.indexes.iter().filter(|item| item.serves(demand)).count();
        (0..problem.demands).filter(|&demand| !served(demand)).min_by_key(|&demand| choices(demand))
    }

    /// Remembers a cover, and with room for one more index those that pay for it by cheaper reads.
    fn keep(&mut self, table: usize, chosen: &mut Vec<usize>) {
        let Some(cost) = self.problem.cost(table, chosen) else { return };
        self.remember(table, chosen, cost);
        if chosen.len() >= self.most {
            return;
        }
        for at in 0..self.problem.indexes.len() {
            if chosen.contains(&at) {
                continue;
            }
            chosen.push(at);
            if let Some(more) = self.problem.cost(table, chosen)
                && more < cost - 1e-3
            {
                self.remember(table, chosen, more);
            }
            chosen.pop();
        }
    }

    fn remember(&mut self, table: usize, chosen: &[usize], cost: f64) {
        let mut indexes = chosen.to_vec();
        indexes.sort_unstable();
        let covers = &mut self.found.covers;
        if covers.iter().any(|known| known.table == table && known.indexes == indexes) {
            return;
        }
        let at = covers
            .partition_point(|known| (known.cost, known.indexes.len()) <= (cost, indexes.len()));
        covers.insert(at, Cover { table, indexes, cost });
        covers.truncate(REMEMBERED);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// All choices of indexes, one after the other: the fewest that serve everything.
    fn exhaustive(problem: &Problem) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64)> = None;
        for table in 0..problem.tables.len() {
            for bits in 0_u32..1 << problem.indexes.len() {
                let chosen: Vec<usize> =
                    (0..problem.indexes.len()).filter(|at| bits >> at & 1 == 1).collect();
                let Some(cost) = problem.cost(table, &chosen) else { continue };
                let found = (chosen.len(), cost);
                if best.is_none_or(|best| found < best) {
                    best = Some(found);
                }
            }
        }
        best
    }

    fn random(seed: &mut u64) -> u64 {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    }

    #[test]
    fn the_fewest_are_those_of_an_exhaustive_search() {
        let deadline = Instant::now() + Duration::from_mins(1);
        let mut seed = 88_172_645_463_325_252;
        let (mut solvable, mut unsolvable) = (0, 0);
        for _ in 0..2_000 {
            let demands = 1 + (random(&mut seed) % 6) as usize;
            let item = |seed: &mut u64| Item {
                upkeep: (random(seed) % 50) as f64,
                group: 0,
                reads: (0..demands)
                    .map(|_| random(seed).is_multiple_of(3).then(|| (random(seed) % 20) as f64))
                    .collect(),
            };
            let tables = (0..=random(&mut seed) % 3).map(|_| item(&mut seed)).collect();
            let indexes = (0..random(&mut seed) % 9).map(|_| item(&mut seed)).collect();
            let problem = Problem { demands, tables, indexes, ..Problem::default() };
            let (fewest, _, complete) = problem.fewest(deadline);
            assert!(complete);
            match exhaustive(&problem) {
                None => {
                    assert_eq!(fewest, None, "{problem:?}");
                    assert_eq!(problem.greedy(), None, "{problem:?}");
                    unsolvable += 1;
                }
                Some((least, cost)) => {
                    assert_eq!(fewest, Some(least), "{problem:?}");
                    let best = problem.covers(least, deadline).covers.remove(0);
                    assert!((best.cost - cost).abs() < 1e-9, "{problem:?}");
                    assert!(problem.apart().len() <= least + 1, "{problem:?}");
                    let greedy = problem.greedy().unwrap();
                    assert!(greedy.indexes.len() >= least, "{problem:?}");
                    solvable += 1;
                }
            }
        }
        assert!(solvable > 300 && unsolvable > 300, "{solvable} {unsolvable}");
    }

    #[test]
    fn without_time_a_bound_is_all_that_is_said() {
        let item = |serves: usize| Item {
            upkeep: 0.0,
            group: 0,
            reads: (0..12).map(|demand| (demand == serves).then_some(0.0)).collect(),
        };
        let indexes: Vec<Item> = (0..12).flat_map(|n| vec![item(n); 4]).collect();
        let problem = Problem { demands: 12, tables: vec![item(0)], indexes, ..Problem::default() };
        let past = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        let (bound, _, complete) = problem.fewest(past);
        assert!(!complete && bound.is_some_and(|bound| bound < 11), "{bound:?}");
        assert_eq!(problem.apart().len(), 12);
        let covers = problem.covers(11, past).covers;
        assert_eq!(covers.first().map(|cover| cover.indexes.len()), Some(11), "{covers:?}");
    }
}
