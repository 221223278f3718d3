//! "Did you mean": the known name nearest to what was written.

/// The candidate that differs from `written` by the fewest edits, if it is near enough to be meant.
pub(crate) fn nearest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let folded = written.to_lowercase();
    let allowed = match folded.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .map(|candidate| (edits(&folded, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, candidate)| {
            distance <= allowed && distance < candidate.chars().count().max(2)
        })
        .min_by_key(|&(distance, candidate)| (distance, candidate))
        .map(|(_, candidate)| candidate)
}

/// `fix` text for an unknown name: the nearest one, or all of them when they are few.
pub(crate) fn did_you_mean<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    if let Some(name) = nearest(written, candidates.clone()) {
        return Some(format!("did you mean `{name}`?"));
    }
    let all: Vec<&str> = candidates.into_iter().collect();
    (!all.is_empty() && all.len() <= 20).then(|| {
        format!(
            "the names known here are {}",
            all.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
        )
    })
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        row.push(i + 1);
        for (j, &y) in b.iter().enumerate() {
            let at = |row: &[usize], k: usize| row.get(k).copied().unwrap_or(usize::MAX - 1);
            let mut best =
                (at(&last, j) + usize::from(x != y)).min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(&y) && b.get(j - 1) == Some(&x);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["partition_key", "sort_key", "projection", "ttl"];
        assert_eq!(nearest("partion_key", known), Some("partition_key"));
        assert_eq!(nearest("sortkey", known), Some("sort_key"));
        assert_eq!(nearest("TTL", known), Some("ttl"));
        assert_eq!(nearest("tlt", known), Some("ttl"), "a swap is one edit");
        assert_eq!(nearest("billing", known), None);
    }

    #[test]
    fn with_nothing_near_the_known_names_are_listed() {
        assert_eq!(
            did_you_mean("x9", ["get", "put"]).unwrap(),
            "the names known here are `get`, `put`"
        );
    }
}
