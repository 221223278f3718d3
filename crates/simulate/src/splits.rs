//! Where partitions are cut: for size and growth in the middle of their hashes, for heat in the middle of their load.

use crate::asked::ByValue;
use crate::bucket::Bucket;
use crate::partitions::{Part, Piece, of_piece};
use crate::spread::{NoSplit, Spread};

/// Keys with less of a partition's load than this do not count when it is split: of the 64 requests that the server keeps to
/// find the place, it is as likely as not that one is for them.
const TRACE: f64 = std::f64::consts::LN_2 / 64.0;

/// Where every listed key lies among all hashes, by spread and value.
#[derive(Clone, Debug)]
pub(crate) struct Positions(Vec<Vec<f64>>);

impl Positions {
    pub(crate) fn new(spreads: &[Spread], seed: u64) -> Self {
        let of =
            |spread: &Spread| (0..spread.hot.len()).map(|it| spread.position(it, seed)).collect();
        Self(spreads.iter().map(of).collect())
    }

    fn of(&self, piece: &Piece) -> f64 {
        let spread = self.0.get(piece.spread);
        spread.and_then(|values| values.get(piece.value)).copied().unwrap_or(0.0)
    }

    pub(crate) fn in_order(&self) -> Vec<(f64, Piece)> {
        let keys = self.0.iter().enumerate().flat_map(|(spread, values)| {
            let piece = move |value| Piece { spread, value, fraction: 1.0 };
            values.iter().enumerate().map(move |(value, position)| (*position, piece(value)))
        });
        let mut keys: Vec<(f64, Piece)> = keys.collect();
        keys.sort_by(|a, b| a.0.total_cmp(&b.0));
        keys
    }
}

/// Equal partitions over all hashes: those with listed keys each for itself, the others as one.
pub(crate) fn apart(all: &Part, keys: &[(f64, Piece)]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (position, piece) in keys {
        let start = (position / all.width).floor() * all.width;
        match parts.last_mut().filter(|part| (part.start - start).abs() < 1e-12) {
            Some(part) => part.pieces.push(*piece),
            None => parts.push(Part { count: 1.0, start, pieces: vec![*piece], ..all.clone() }),
        }
    }
    let empty = all.count - parts.len() as f64;
    if empty > 0.0 {
        parts.push(Part { count: empty, ..all.clone() });
    }
    parts
}

/// The halves of a part that is cut at a hash; several equal ones are all cut in the middle.
pub(crate) fn halves(part: &Part, cut: f64, keys: &Positions) -> Vec<Part> {
    let half = |start: f64, width: f64| Part {
        start,
        width,
        pieces: Vec::new(),
        asked: part.asked.map(|asked| asked / 2.0),
        hot_minutes: 0,
        no_split: None,
        ..part.clone()
    };
    if part.pieces.is_empty() {
        return vec![Part { count: part.count * 2.0, ..half(part.start, part.width / 2.0) }];
    }
    let (mut left, mut right) =
        (half(part.start, cut - part.start), half(cut, part.start + part.width - cut));
    (left.pieces, right.pieces) = part.pieces.iter().partition(|piece| keys.of(piece) < cut);
    vec![left, right]
}

/// Splits a hot part in the middle of its load, if that helps.
pub(crate) fn split(
    part: &Part,
    rates: &[ByValue],
    spreads: &[Spread],
    keys: &Positions,
) -> Result<Vec<Part>, NoSplit> {
    let saved = |mut parts: Vec<Part>| {
        for half in &mut parts {
            half.buckets = half.buckets.map(|it| Bucket { level: it.level / 2.0, ..it });
        }
        parts
    };
    let rest: f64 = rates.iter().map(|it| it.rest).sum::<f64>() * part.width;
    let loads: Vec<f64> = part.pieces.iter().map(|piece| of_piece(piece, rates)).collect();
    let total = rest + loads.iter().sum::<f64>();
    let most = loads.iter().copied().fold(0.0, f64::max);
    if total - most < total * TRACE {
        let heaviest = part.pieces.iter().zip(&loads).max_by(|a, b| a.1.total_cmp(b.1));
        let Some((piece, _)) = heaviest else { return Err(NoSplit::OneItem) };
        return split_collection(part, piece, spreads).map(saved);
    }
    let cut = middle(part, rest, total, &loads, keys);
    Ok(saved(halves(part, cut, keys)))
}

/// Splits the collection of the one key that a part is hot for.
fn split_collection(part: &Part, piece: &Piece, spreads: &[Spread]) -> Result<Vec<Part>, NoSplit> {
    if let Some(reason) = spreads.get(piece.spread).and_then(|spread| spread.no_split) {
        return Err(reason);
    }
    let half = Piece { fraction: piece.fraction / 2.0, ..*piece };
    if part.width <= 0.0 && part.pieces.len() == 1 {
        // Parts of one collection cannot be told apart.
        let asked = part.asked.map(|asked| asked / 2.0);
        let count = part.count * 2.0;
        return Ok(vec![Part { count, pieces: vec![half], asked, hot_minutes: 0, ..part.clone() }]);
    }
    let mut first = Part { hot_minutes: 0, ..part.clone() };
    for own in &mut first.pieces {
        if own == piece {
            own.fraction /= 2.0;
        }
    }
    first.asked = part.asked.map(|asked| asked / 2.0);
    let second = Part { width: 0.0, pieces: vec![half], ..first.clone() };
    Ok(vec![first, second])
}

/// The hash with half of a part's load on each side. Collections stay whole.
fn middle(part: &Part, rest: f64, total: f64, loads: &[f64], keys: &Positions) -> f64 {
    let mut at: Vec<(f64, f64)> =
        part.pieces.iter().map(|piece| keys.of(piece)).zip(loads.iter().copied()).collect();
    at.sort_by(|a, b| a.0.total_cmp(&b.0));
    let density = if part.width > 0.0 { rest / part.width } else { 0.0 };
    let (mut sum, mut from) = (0.0, part.start);
    for (position, load) in at {
        let before = sum + density * (position - from);
        if before >= total / 2.0 {
            return from + (total / 2.0 - sum) / density.max(1e-300);
        }
        if before + load >= total / 2.0 {
            // A key with half of the load is cut off: on its left, or, if there is nothing, on its right.
            return if before < total * TRACE { position + 1e-15 } else { position };
        }
        (sum, from) = (before + load, position);
    }
    (from + (total / 2.0 - sum) / density.max(1e-300)).min(part.start + part.width)
}
