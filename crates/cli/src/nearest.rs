//! "Did you mean": the nearest known name.

/// The end of a sentence about an unknown name: the name that was probably meant, or all there are.
pub(crate) fn nearest(written: &str, known: &[&str]) -> String {
    let close = known
        .iter()
        .map(|name| (distance(written, name), *name))
        .filter(|(distance, name)| *distance <= name.chars().count().max(3) / 3)
        .min();
    match (close, known) {
        (Some((_, name)), _) => format!("; did you mean {name:?}?"),
        (None, []) => String::new(),
        (None, _) => {
            let list: Vec<String> = known.iter().map(|name| format!("{name:?}")).collect();
            format!("; there are {}", list.join(", "))
        }
    }
}

/// How many characters must be changed, added or left out, letters of either case being alike.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, x) in a.chars().enumerate() {
        let mut next = vec![at + 1];
        for ((y, above), before) in b.iter().zip(row.iter().skip(1)).zip(&row) {
            let left = next.last().copied().unwrap_or(0);
            next.push((before + usize::from(x != *y)).min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_named() {
        assert_eq!(nearest("taks", &["tasks", "teams"]), "; did you mean \"tasks\"?");
        assert_eq!(nearest("TASKS", &["tasks", "teams"]), "; did you mean \"tasks\"?");
        assert_eq!(nearest("zebra", &["tasks", "teams"]), "; there are \"tasks\", \"teams\"");
        assert_eq!(nearest("zebra", &[]), "");
    }
}
