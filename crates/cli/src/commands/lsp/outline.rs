//! Sections, keys and values of a design file, found line by line: it works while the file is half written, when it is no
//! TOML yet.

use std::ops::Range;

/// A word of the file and its place, without quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) span: Range<usize>,
}

/// `key = value`.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Word,
    /// The value as it is written, without the comment behind it.
    pub(super) value: Range<usize>,
}

/// What stands under one header; the first section has no header.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    pub(super) path: Vec<Word>,
    pub(super) header: Range<usize>,
    pub(super) entries: Vec<Entry>,
}

impl Section {
    /// The names of its path: `["entity", "Task", "fields"]`.
    pub(super) fn names(&self) -> Vec<&str> {
        self.path.iter().map(|word| word.text.as_str()).collect()
    }

    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key.text == key)
    }
}

/// The sections of a file.
pub(super) struct Outline<'t> {
    pub(super) text: &'t str,
    pub(super) sections: Vec<Section>,
}

/// What stands at a place.
pub(super) enum Spot<'o> {
    /// In a header; the name that it is on, if any.
    Header(&'o Section, Option<&'o Word>),
    /// At a key, or where one could stand.
    Key(&'o Section, Option<&'o Entry>),
    /// In a value.
    Value(&'o Section, &'o Entry),
}

impl<'t> Outline<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut sections = vec![Section::default()];
        let mut at = 0;
        while at < text.len() {
            let end = line_end(text, at);
            let line = text.get(at..end).unwrap_or_default();
            let start = at + line.len() - line.trim_start().len();
            let body = line.trim();
            at = end + 1;
            if body.starts_with('[') {
                sections.push(header(body, start));
            } else if let Some((key, value)) =
                assignment(body, start).filter(|_| !body.starts_with('#'))
            {
                let value = value..value_end(text, value, end);
                at = line_end(text, value.end) + 1;
                if let Some(section) = sections.last_mut() {
                    section.entries.push(Entry { key, value });
                }
            }
        }
        Self { text, sections }
    }

    /// What stands at a byte.
    pub(super) fn spot(&self, offset: usize) -> Spot<'_> {
        let at = self.sections.iter().rposition(|section| section.header.start <= offset);
        let root = self.sections.first();
        let Some(section) = at.and_then(|at| self.sections.get(at)).or(root) else {
            return Spot::Key(ROOT, None);
        };
        if !section.path.is_empty() && offset <= section.header.end {
            let word = section.path.iter().find(|word| touches(&word.span, offset));
            return Spot::Header(section, word);
        }
        let entry = section.entries.iter().rfind(|entry| entry.key.span.start <= offset);
        match entry {
            Some(entry) if offset <= entry.key.span.end => Spot::Key(section, Some(entry)),
            Some(entry) if self.is_in_value(entry, offset) => Spot::Value(section, entry),
            _ => Spot::Key(section, None),
        }
    }

    /// Whether a byte is in the value of an entry, or behind it on its last line.
    fn is_in_value(&self, entry: &Entry, offset: usize) -> bool {
        offset <= line_end(self.text, entry.value.end)
    }

    pub(super) fn value(&self, entry: &Entry) -> &'t str {
        self.text.get(entry.value.clone()).unwrap_or_default()
    }

    /// The texts in quotes of a value: one, or those of a list.
    pub(super) fn texts(&self, entry: &Entry) -> Vec<Word> {
        let mut words = Vec::new();
        let mut open: Option<(char, usize)> = None;
        for (at, c) in self.value(entry).char_indices() {
            let place = entry.value.start + at;
            match open {
                Some((quote, start)) if c == quote => {
                    let text = self.text.get(start..place).unwrap_or_default().to_owned();
                    words.push(Word { text, span: start..place });
                    open = None;
                }
                None if c == '"' || c == '\'' => open = Some((c, place + 1)),
                _ => {}
            }
        }
        words
    }

    /// The word at a byte: letters, digits, `_` and `-`.
    pub(super) fn word(&self, offset: usize) -> Word {
        let inside = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let before = self.text.get(..offset).unwrap_or_default();
        let after = self.text.get(offset..).unwrap_or_default();
        let start: usize = before.chars().rev().take_while(inside).map(char::len_utf8).sum();
        let end: usize = after.chars().take_while(inside).map(char::len_utf8).sum();
        let span = offset - start..offset + end;
        Word { text: self.text.get(span.clone()).unwrap_or_default().to_owned(), span }
    }
}

const ROOT: &Section = &Section { path: Vec::new(), header: 0..0, entries: Vec::new() };

pub(super) fn touches(span: &Range<usize>, offset: usize) -> bool {
    span.start <= offset && offset <= span.end
}

fn line_end(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |length| from + length)
}

/// `[entity.Task.fields]`, `[access."tasks in a project"]`, `[[allow]]`.
fn header(body: &str, start: usize) -> Section {
    let mut path = Vec::new();
    let mut name: Option<Word> = None;
    let mut quote = None;
    for (at, c) in body.char_indices() {
        let place = start + at;
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                let span = place + 1..place + 1;
                name.get_or_insert(Word { text: String::new(), span });
            }
            (None, '[') => {}
            (None, '.') => path.extend(name.take()),
            (None, ']' | '#') => break,
            (None, c) if c.is_whitespace() => {}
            _ => {
                let word =
                    name.get_or_insert_with(|| Word { text: String::new(), span: place..place });
                word.text.push(c);
                word.span.end = place + c.len_utf8();
            }
        }
    }
    path.extend(name);
    Section { path, header: start..start + body.len(), entries: Vec::new() }
}

/// The key of a line, and where its value begins.
fn assignment(body: &str, start: usize) -> Option<(Word, usize)> {
    let mut quote = None;
    let equals = body.char_indices().find_map(|(at, c)| match (quote, c) {
        (Some(open), _) => {
            if c == open {
                quote = None;
            }
            None
        }
        (None, '"' | '\'') => {
            quote = Some(c);
            None
        }
        (None, '=') => Some(at),
        _ => None,
    })?;
    let (key, rest) = body.split_at_checked(equals)?;
    let key = key.trim_end();
    let rest = rest.get(1..)?;
    let value = start + equals + 1 + rest.len() - rest.trim_start().len();
    let text = key.trim_matches(['"', '\'']).to_owned();
    Some((Word { text, span: start..start + key.len() }, value))
}

/// Where a value ends that begins at a byte: with its line, before a comment, or where its list is closed.
fn value_end(text: &str, start: usize, line: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let opened = rest.trim_start().starts_with(['[', '{']);
    let (mut depth, mut quote, mut comment) = (0_usize, None, false);
    let mut end = start;
    for (at, c) in rest.char_indices() {
        let place = start + at;
        // Behind its own line only a list goes on, and never into the next section.
        let new_line = place > line && text.get(..place).is_some_and(|t| t.ends_with('\n'));
        if place >= line && depth == 0 || new_line && c == '[' {
            break;
        }
        match (quote, c) {
            (_, '\n') => (quote, comment) = (None, false),
            _ if comment => continue,
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => comment = true,
            (None, '[' | '{') if opened => depth += 1,
            (None, ']' | '}') if opened => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !comment && !c.is_whitespace() {
            end = place + c.len_utf8();
        }
        if opened && depth == 0 && !comment {
            break;
        }
    }
    // A list that is never closed ends with its line.
    if depth > 0 && end > line { line } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[entity.Task]\nPK = \"A#{a}\" # key = x\nGSI1PK = { template = \"B#{b}\", when = \"b = 'x'\" }\n\
         [access.\"a = b.c\"]\nfind = [ # both\n  \"Task\",\n  'Other', ]\nwhe\n[[allow]]\nrule = [\n[x]\ny = 1\n";

    #[test]
    fn sections_keys_and_values_are_found() {
        let outline = Outline::of(TEXT);
        let names: Vec<Vec<&str>> = outline.sections.iter().map(Section::names).collect();
        assert_eq!(
            names,
            [vec![], vec!["entity", "Task"], vec!["access", "a = b.c"], vec!["allow"], vec!["x"]]
        );
        let shown: Vec<(String, &str)> = outline
            .sections
            .iter()
            .flat_map(|section| &section.entries)
            .map(|entry| (entry.key.text.clone(), outline.value(entry)))
            .collect();
        let shown: Vec<(&str, &str)> =
            shown.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        assert_eq!(
            shown,
            [
                ("PK", "\"A#{a}\""),
                ("GSI1PK", "{ template = \"B#{b}\", when = \"b = 'x'\" }"),
                ("find", "[ # both\n  \"Task\",\n  'Other', ]"),
                ("rule", "["),
                ("y", "1"),
            ]
        );
        let access = outline.sections.get(2).and_then(|section| section.entry("find"));
        let texts: Vec<String> = access
            .map(|entry| outline.texts(entry))
            .unwrap_or_default()
            .into_iter()
            .map(|w| w.text)
            .collect();
        assert_eq!(texts, ["Task", "Other"]);
    }

    #[test]
    fn spots_are_told_apart() {
        let outline = Outline::of(TEXT);
        let at = |needle: &str| TEXT.find(needle).unwrap_or_default();
        assert!(
            matches!(outline.spot(at("Task]")), Spot::Header(_, Some(word)) if word.text == "Task")
        );
        assert!(
            matches!(outline.spot(at("PK =")), Spot::Key(_, Some(entry)) if entry.key.text == "PK")
        );
        assert!(matches!(outline.spot(at("{a}")), Spot::Value(_, entry) if entry.key.text == "PK"));
        assert!(
            matches!(outline.spot(at("'Other'")), Spot::Value(_, entry) if entry.key.text == "find")
        );
        assert!(
            matches!(outline.spot(at("whe\n") + 3), Spot::Key(section, None) if section.names() == ["access", "a = b.c"])
        );
        assert_eq!(outline.word(at("{a}") + 1).text, "a");
        assert!(matches!(Outline::of("").spot(0), Spot::Key(_, None)));
        assert!(matches!(Outline::of("").spot(10), Spot::Key(_, None)));
    }
}
