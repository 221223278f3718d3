//! A limit that is sent along with a filter: it counts rows that the filter then throws away.

use std::rc::Rc;

use super::{Case, CounterExample, distinct, pool, stranger};
use keyloom_core::hash::SplitMix64;

use crate::evaluate::{Inputs, Row};
use crate::model::FieldKind;
use crate::plan::concrete::ConcreteRead;
use crate::plan::simulate::{Entries, Entry};

/// Rows are made up to this number before the search for a crowd is given up.
const MAX_ROWS: u64 = 5000;

/// Strangers are put into so many reads of a fan.
const MAX_READS: usize = 16;

/// How many rows are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// As few as can be enough.
    Few,
    /// Many, all in one shard.
    Together,
    /// Many, in any shard.
    Anywhere,
}

/// One row more than the limit counts inside one read: a wanted one last, unwanted ones before it.
pub(super) fn crowd(case: &Case, inputs: &Inputs) -> Option<CounterExample> {
    let limit = case.access.limit?;
    let reads = case.reads(inputs)?;
    let few = candidates(case, inputs, &reads, limit, Effort::Few);
    if let Some(found) = crowd_of(case, inputs, &reads, &distinct(few), limit as usize) {
        return Some(found);
    }
    [Effort::Together, Effort::Anywhere].into_iter().find_map(|effort| {
        let mut rows = candidates(case, inputs, &reads, limit, effort);
        // Of rows with one key only one can be there: where there are few keys, which of them it is decides.
        let tries = if rows.len() < 400 { 6 } else { 1 };
        (0..tries).find_map(|seed| {
            let found = crowd_of(case, inputs, &reads, &distinct(rows.clone()), limit as usize);
            shuffle(&mut rows, seed);
            found
        })
    })
}

fn crowd_of(
    case: &Case,
    inputs: &Inputs,
    reads: &[ConcreteRead],
    rows: &[Row],
    limit: usize,
) -> Option<CounterExample> {
    let mut entries = Entries::new(rows);
    reads.iter().find_map(|read| {
        let endless = ConcreteRead { limit: None, ..read.clone() };
        let found = entries.evaluated(&endless);
        let is_lost = |entry: &Entry| !entry.is_kept(read) || case.is_stranger(entry.row);
        let chosen = choose(&found, limit, &is_lost)?;
        let mut chosen: Vec<Row> = chosen.iter().map(|entry| entry.row.clone()).collect();
        let targets = case.targets(&chosen);
        if !targets.is_empty() {
            chosen.extend(targets);
            chosen = distinct(chosen);
        }
        case.example(inputs, reads, chosen)
    })
}

fn shuffle(rows: &mut [Row], seed: u64) {
    let mut random = SplitMix64::new(seed);
    for at in (1..rows.len()).rev() {
        rows.swap(at, random.below(at + 1));
    }
}

/// Many rows, wanted and unwanted; all of them in one shard, or in any.
fn candidates(
    case: &Case,
    inputs: &Inputs,
    reads: &[ConcreteRead],
    limit: u64,
    effort: Effort,
) -> Vec<Row> {
    let enough = limit + 1;
    let (most, least, cap) = match effort {
        Effort::Few => (enough + 2, 8, enough + 2),
        _ => (6 * enough + 40, 6 * enough + 40, (enough * 3).clamp(60, MAX_ROWS)),
    };
    let together = effort != Effort::Anywhere;
    let mut rows = Vec::new();
    for entity in case.asked() {
        let pool = pool::Pool::new(case, entity, inputs);
        let first = pool.wanted(0);
        let shards: Vec<(&str, &crate::model::Shards)> = entity
            .fields
            .iter()
            .filter_map(|field| match &field.kind {
                FieldKind::Shard(shards) => Some((field.name.as_str(), shards)),
                _ => None,
            })
            .collect();
        let spread: u64 = shards.iter().map(|(_, shards)| u64::from(shards.count)).product();
        let (mut wanted, mut unwanted) = (0, 0);
        // Different numbers, so that wanted and unwanted rows do not have the same key.
        for n in 0..2 * (cap * spread.max(1)).min(MAX_ROWS) as u32 {
            let is_wanted = n % 2 == 1;
            let (count, most) =
                if is_wanted { (&mut wanted, least) } else { (&mut unwanted, most) };
            if *count >= most {
                continue;
            }
            let mut row = if is_wanted { pool.wanted(n) } else { pool.unwanted(n) };
            // A random shard may be any; a calculated one decides.
            let same = shards.iter().all(|(name, shards)| {
                if shards.by.is_empty() {
                    let value = keyloom_keys::Value::from(0_u32);
                    row.values.insert((*name).to_owned(), value);
                    return true;
                }
                !together || row.values.get(*name) == first.values.get(*name)
            });
            if same {
                *count += 1;
                rows.push(row);
            }
        }
    }
    let model = rows.first().cloned();
    for other in &case.strangers {
        for read in reads.iter().take(MAX_READS) {
            let Some(row) = stranger::row_in(other, read, model.as_ref()) else { continue };
            rows.extend(stranger::varied(&row, read, enough as usize));
        }
    }
    rows
}

/// So many rows of a read and one more: the last one wanted, as many lost ones as there are before it.
fn choose<'e, 'r>(
    found: &'e [Rc<Entry<'r>>],
    limit: usize,
    is_lost: &dyn Fn(&Entry) -> bool,
) -> Option<Vec<&'e Rc<Entry<'r>>>> {
    let last = found.iter().rposition(|entry| !is_lost(entry))?;
    let before = found.get(..last)?;
    let (lost, kept): (Vec<_>, Vec<_>) = before.iter().partition(|entry| is_lost(entry));
    if lost.is_empty() || before.len() < limit {
        return None;
    }
    let mut chosen: Vec<&Rc<Entry>> = lost.into_iter().take(limit).collect();
    let room = limit - chosen.len();
    chosen.extend(kept.into_iter().take(room));
    chosen.extend(found.get(last));
    Some(chosen)
}
