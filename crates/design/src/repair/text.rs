//! Changes of TOML text, line by line.

/// The line that a byte stands in, as the bytes where it begins and ends.
fn line_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let end = text.get(at..)?.find('\n').map_or(text.len(), |n| at + n);
    Some((start, end))
}

/// A new line after the header in which a name stands.
pub(crate) fn after_header(text: &str, name: usize, line: &str) -> Option<String> {
    let (start, end) = line_at(text, name)?;
    let header = text.get(start..end)?.trim_start().starts_with('[');
    let (head, tail) = text.split_at_checked(end)?;
    header.then(|| format!("{head}\n{line}{tail}"))
}

/// The line from a byte on, with one thing replaced by another.
pub(crate) fn in_line(text: &str, at: usize, from: &str, to: &str) -> Option<String> {
    let (_, end) = line_at(text, at)?;
    let place = at + text.get(at..end)?.find(from)?;
    let (head, tail) = (text.get(..place)?, text.get(place + from.len()..)?);
    Some(format!("{head}{to}{tail}"))
}

/// The section whose header has a name, with a line that begins so taken out.
pub(super) fn without_line(text: &str, name: usize, key: &str) -> Option<String> {
    let (start, end) = section(text, name)?;
    let body = text.get(start..end)?;
    let is_it = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let found = body.split_inclusive('\n').find(|line| is_it(line))?;
    Some(format!("{}{}{}", text.get(..start)?, body.replacen(found, "", 1), text.get(end..)?))
}

/// Where the section begins and ends in whose header a byte stands.
fn section(text: &str, name: usize) -> Option<(usize, usize)> {
    let (start, end) = line_at(text, name)?;
    let next = text.get(end..)?.find("\n[").map_or(text.len(), |n| end + n + 1);
    Some((start, next))
}

/// The text without the section in whose header a byte stands.
pub(super) fn without_section(text: &str, name: usize) -> Option<String> {
    let (start, end) = section(text, name)?;
    Some(format!("{}{}", text.get(..start)?, text.get(end..)?))
}

/// The text with one thing in a section replaced by another.
pub(super) fn in_section(text: &str, name: usize, from: &str, to: &str) -> Option<String> {
    let (start, end) = section(text, name)?;
    let body = text.get(start..end)?;
    body.contains(from).then_some(())?;
    Some(format!("{}{}{}", text.get(..start)?, body.replacen(from, to, 1), text.get(end..)?))
}

/// The text with another template for a key, whose attribute stands at a byte.
pub(super) fn template(text: &str, key: usize, old: &str, new: &str) -> Option<String> {
    ['"', '\''].iter().find_map(|quote| {
        in_line(text, key, &format!("{quote}{old}{quote}"), &format!("{quote}{new}{quote}"))
    })
}

/// The lines of a text that another did not have.
pub(super) fn added(old: &str, new: &str) -> String {
    let mut had: Vec<&str> = old.lines().collect();
    let mut lines: Vec<&str> = Vec::new();
    for line in new.lines() {
        match had.iter().position(|known| *known == line) {
            Some(at) => drop(had.swap_remove(at)),
            None => lines.push(line.trim()),
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}
