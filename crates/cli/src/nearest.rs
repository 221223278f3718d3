//! "Did you mean": the nearest known name.

/// The end of a sentence about an unknown name: the name that was probably meant, or all there are.
pub(crate) fn nearest(written: &str, known: &[&str]) -> String {
    match (keyloom_design::nearest(written, known.iter().copied()), known) {
        (Some(name), _) => format!("; did you mean {name:?}?"),
        (None, []) => String::new(),
        (None, _) => {
            let list: Vec<String> = known.iter().map(|name| format!("{name:?}")).collect();
            format!("; there are {}", list.join(", "))
        }
    }
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
