//! "Did you mean": the known name nearest to what was written.

/// The longest name that is compared: comparing takes time by the product of the lengths.
const MAX_CHARS: usize = 200;

/// The candidate that differs from `written` by the fewest edits (insertions, deletions, substitutions and swaps of
/// neighbours, in any case), if it is near enough to be meant.
pub fn nearest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if written.chars().nth(MAX_CHARS).is_some() {
        return None;
    }
    let folded = written.to_lowercase();
    let length = folded.chars().count();
    let allowed = match length {
        0..=2 => 1,
        3..=8 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .filter(|candidate| candidate.chars().take(length + 5).count().abs_diff(length) <= allowed)
        .map(|candidate| (strsim::osa_distance(&folded, &candidate.to_lowercase()), candidate))
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
        assert_eq!(nearest("writes", ["items", "kinds"]), None, "half of it is other letters");
        let long = "x".repeat(100_000);
        assert_eq!(nearest(&long, [long.as_str(), "ttl"]), None, "too long to be compared");
    }

    #[test]
    fn with_nothing_near_the_known_names_are_listed() {
        assert_eq!(
            did_you_mean("x9", ["get", "put"]).unwrap(),
            "the names known here are `get`, `put`"
        );
    }
}
