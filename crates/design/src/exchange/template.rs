//! Templates of other tools, as designs write them.

/// The separators that templates are looked at for.
const SEPARATORS: [&str; 6] = ["#", "::", "|", "/", ":", "~"];

/// A piece of another tool's template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Literal(String),
    /// A field with what stands after its name.
    Field(String, Option<String>),
}

/// Reads a template with fields between marks, such as `${` and `}`.
pub(super) fn parts(text: &str, open: &str, close: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let Some((field, behind)) = after.split_once(close) else { break };
        if !before.is_empty() {
            parts.push(Part::Literal(before.to_owned()));
        }
        let (name, options) = match field.split_once(':') {
            Some((name, options)) => (name, Some(options.to_owned())),
            None => (field, None),
        };
        parts.push(Part::Field(field_name(name), options));
        rest = behind;
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest.to_owned()));
    }
    parts
}

/// A name that a template can have.
pub(super) fn field_name(name: &str) -> String {
    let clean: String = name
        .trim()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' })
        .collect();
    if clean.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        clean
    } else {
        format!("f_{clean}")
    }
}

/// The template as a design has it; a field that stands twice is `name_2` the second time.
pub(super) fn written(parts: &[Part]) -> String {
    let mut text = String::new();
    let mut seen: Vec<&str> = Vec::new();
    for part in parts {
        match part {
            Part::Literal(literal) => text.push_str(&literal.replace('{', "{{").replace('}', "}}")),
            Part::Field(name, _) => {
                let again = seen.iter().filter(|known| *known == name).count();
                seen.push(name);
                match again {
                    0 => text.extend(["{", name, "}"]),
                    count => text.extend(["{", name, "_", &(count + 1).to_string(), "}"]),
                }
            }
        }
    }
    text
}

/// The names of the fields, as [`written`] has them.
pub(super) fn names(parts: &[Part]) -> Vec<String> {
    let template = written(parts);
    let inner = template.split('{').skip(1).filter_map(|part| part.split_once('}'));
    inner.map(|(field, _)| field.to_owned()).collect()
}

/// The separator of templates: what stands between their fields most often.
pub(super) fn separator<'t>(templates: impl Iterator<Item = &'t str>) -> Option<&'static str> {
    let all: Vec<&str> = templates.collect();
    let count =
        |separator: &str| all.iter().map(|text| text.matches(separator).count()).sum::<usize>();
    let best =
        SEPARATORS.iter().map(|separator| count(separator)).max().filter(|best| *best > 0)?;
    SEPARATORS.into_iter().find(|separator| count(separator) == best)
}
