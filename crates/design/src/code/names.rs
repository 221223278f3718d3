//! Names in the style of a language.

/// The words of a name: `tasks in a project` and `tasksInAProject` have the same.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = ' ';
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() {
            previous = ' ';
            continue;
        }
        let begins = !previous.is_ascii_alphanumeric()
            || (c.is_ascii_uppercase() && !previous.is_ascii_uppercase());
        match words.last_mut() {
            Some(word) if !begins => word.push(c),
            _ => words.push(c.to_string()),
        }
        previous = c;
    }
    words
}

/// `tasks in a project` is `TasksInAProject`.
pub(super) fn pascal(text: &str) -> String {
    let capital = |word: &String| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    let name: String = words(text).iter().map(capital).collect();
    begun(name, "Pattern")
}

/// `tasks in a project` is `tasksInAProject`.
pub(super) fn camel(text: &str) -> String {
    let mut words = words(text).into_iter();
    let first = words.next().unwrap_or_default().to_lowercase();
    let rest: Vec<String> = words.collect();
    let rest = if rest.is_empty() { String::new() } else { pascal(&rest.join(" ")) };
    begun(format!("{first}{rest}"), "pattern")
}

/// A name begins with a letter.
fn begun(name: String, with: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("{with}{name}") }
}

/// The names that a runtime declares or imports: an entity of the same name gets another one.
pub(super) fn declared<'t>(sources: impl IntoIterator<Item = &'t str>) -> Vec<&'t str> {
    const WORDS: [&str; 9] = [
        "export ",
        "abstract ",
        "class ",
        "interface ",
        "type ",
        "function ",
        "const ",
        "def ",
        "async ",
    ];
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = Vec::new();
    for line in sources.into_iter().flat_map(str::lines) {
        if line.starts_with("import ") || line.starts_with("from ") || line.starts_with("  ") {
            // Members of an import stand alone in their lines, or behind the word.
            let list = line.rsplit_once("import ").map_or(line, |(_, list)| list);
            let words = list.split(|c| !is_name(c)).filter(|word| !word.is_empty());
            let is_import = !line.starts_with(' ') || line.trim_end().ends_with(',');
            names.extend(words.filter(|_| is_import));
            continue;
        }
        let mut rest = line;
        while let Some(word) = WORDS.iter().find(|word| rest.starts_with(**word)) {
            rest = rest.get(word.len()..).unwrap_or_default();
        }
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        names.extend(rest.get(..end).filter(|name| !name.is_empty()));
    }
    names
}

/// `TasksInAProject` is `tasks_in_a_project`.
pub(super) fn snake(text: &str) -> String {
    begun(words(text).join("_").to_lowercase(), "pattern_")
}

/// Names of which none is given twice.
pub(super) struct Taken(Vec<String>);

impl Taken {
    pub(super) fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self(names.into_iter().map(str::to_owned).collect())
    }

    /// The name, with the suffix as often as it takes for it to be new.
    pub(super) fn take(&mut self, mut name: String, suffix: &str) -> String {
        while self.0.contains(&name) {
            name.push_str(suffix);
        }
        self.0.push(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_words() {
        assert_eq!(pascal("tasks in a project"), "TasksInAProject");
        assert_eq!(camel("Tasks in a project"), "tasksInAProject");
        assert_eq!(camel("UserEmail"), "userEmail");
        assert_eq!(camel("GSI1 rows"), "gsi1Rows");
        assert_eq!(camel("10 newest"), "pattern10Newest");
        let mut taken = Taken::new(["get"]);
        assert_eq!(taken.take("get".into(), "Pattern"), "getPattern");
        assert_eq!(taken.take("get".into(), "Pattern"), "getPatternPattern");
    }
}
