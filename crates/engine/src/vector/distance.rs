//! Distance functions of vectors.
//!
//! The floats have 32 bits, the sums 64, as on AWS: products that overflow a float do not overflow
//! the score. Sums run in several lanes, which compile to vector instructions.

use keyloom_core::schema::DistanceFunction;

use super::EntryRef;

/// Independent sums: enough to keep the adders busy while each waits for its last result.
const LANES: usize = 8;

/// The vector that is searched for.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    function: DistanceFunction,
    vector: Vec<f64>,
    squares: f64,
}

impl Query {
    /// A search for this vector.
    pub(crate) fn new(function: DistanceFunction, vector: &[f32]) -> Self {
        let bytes: Vec<u8> = vector.iter().flat_map(|float| float.to_le_bytes()).collect();
        let squares = squares(&bytes);
        Self { function, vector: vector.iter().copied().map(f64::from).collect(), squares }
    }

    /// The score of an entry.
    pub(crate) fn score(&self, entry: &EntryRef<'_>) -> f64 {
        match self.function {
            DistanceFunction::DotProduct => self.dot(entry),
            DistanceFunction::Euclidean => {
                let difference = |a: f64, b: f64| (a - b) * (a - b);
                sum(&self.vector, entry.floats, difference).sqrt()
            }
            DistanceFunction::Cosine => {
                // A vector without direction is as far from all others as a perpendicular one.
                if self.squares == 0.0 || entry.squares == 0.0 {
                    return 1.0;
                }
                // One root of the product, not a product of roots: the distance of a vector from
                // itself is exactly 0 then.
                let cosine = self.dot(entry) / (self.squares * entry.squares).sqrt();
                (1.0 - cosine).clamp(0.0, 2.0)
            }
        }
    }

    /// The order of scores: the least is the best.
    pub(crate) fn rank(&self, score: f64) -> f64 {
        match self.function {
            DistanceFunction::DotProduct => -score,
            DistanceFunction::Cosine | DistanceFunction::Euclidean => score,
        }
    }

    fn dot(&self, entry: &EntryRef<'_>) -> f64 {
        sum(&self.vector, entry.floats, |a, b| a * b)
    }
}

/// A score as it is reported: a 32-bit float, and never infinite.
pub(super) fn reported(score: f64) -> f64 {
    let limit = f64::from(f32::MAX);
    f64::from(score.clamp(-limit, limit) as f32)
}

/// The sum of the squares of stored floats, added up in the same order as a dot product.
pub(super) fn squares(floats: &[u8]) -> f64 {
    let vector: Vec<f64> =
        floats.as_chunks().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect();
    sum(&vector, floats, |a, b| a * b)
}

/// The sum of `term` over both vectors.
fn sum(query: &[f64], floats: &[u8], term: impl Fn(f64, f64) -> f64) -> f64 {
    let stored = |bytes: &[u8; 4]| f64::from(f32::from_le_bytes(*bytes));
    let (query, query_rest) = query.as_chunks::<LANES>();
    let (floats, floats_rest) = floats.as_chunks::<4>().0.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (query, floats) in query.iter().zip(floats) {
        for ((sum, a), b) in sums.iter_mut().zip(query).zip(floats) {
            *sum += term(*a, stored(b));
        }
    }
    let rest: f64 = query_rest.iter().zip(floats_rest).map(|(a, b)| term(*a, stored(b))).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
mod tests {
    use keyloom_core::Item;
    use keyloom_core::schema::VectorEntry;

    use super::super::encode;
    use super::*;

    fn score(function: DistanceFunction, a: &[f32], b: &[f32]) -> f64 {
        let bytes = encode(&VectorEntry { vector: b.to_vec(), rest: Item::new() });
        Query::new(function, a).score(&EntryRef::new(&bytes, b.len()).unwrap())
    }

    #[test]
    fn known_vectors_have_known_scores() {
        use DistanceFunction::{Cosine, DotProduct, Euclidean};
        let query = [1.0, 0.0, 0.0];
        for (vector, cosine, euclidean, dot) in [
            ([1.0, 0.0, 0.0], 0.0, 0.0, 1.0),
            ([0.0, 1.0, 0.0], 1.0, std::f64::consts::SQRT_2, 0.0),
            ([-1.0, 0.0, 0.0], 2.0, 2.0, -1.0),
            ([10.0, 0.0, 0.0], 0.0, 9.0, 10.0),
            ([0.0, 0.0, 0.0], 1.0, 1.0, 0.0),
        ] {
            assert_eq!(score(Cosine, &query, &vector), cosine, "{vector:?}");
            assert_eq!(score(Euclidean, &query, &vector), euclidean, "{vector:?}");
            assert_eq!(score(DotProduct, &query, &vector), dot, "{vector:?}");
        }
    }

    #[test]
    fn a_vector_is_at_distance_zero_from_itself() {
        let vector: Vec<f32> = (0..1023).map(|n| (n as f32 * 0.37).sin() * 1e-20).collect();
        assert_eq!(score(DistanceFunction::Cosine, &vector, &vector), 0.0);
        let opposite: Vec<f32> = vector.iter().map(|float| -float).collect();
        assert_eq!(score(DistanceFunction::Cosine, &vector, &opposite), 2.0);
    }

    #[test]
    fn sums_do_not_overflow_and_scores_are_finite() {
        let huge = [f32::MAX, f32::MAX];
        assert_eq!(score(DistanceFunction::DotProduct, &huge, &[f32::MAX, -f32::MAX]), 0.0);
        let far = score(DistanceFunction::Euclidean, &huge, &[-f32::MAX, -f32::MAX]);
        assert_eq!(reported(far), f64::from(f32::MAX));
        assert_eq!(reported(-1e300), f64::from(-f32::MAX));
        assert_eq!(reported(0.1), f64::from(0.1f32));
    }
}
