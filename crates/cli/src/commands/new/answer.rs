//! Answers: one line says an entity, a pattern or a write; together they are a design file without keys.

use std::fmt::Write as _;

/// The answers so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    entities: Vec<EntityAnswer>,
    sections: Vec<String>,
}

#[derive(Clone, Debug)]
struct EntityAnswer {
    name: String,
    identity: Vec<String>,
    fields: Vec<(String, String)>,
    volume: Option<String>,
}

impl Answers {
    /// Whether there is no entity yet.
    pub(super) fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Takes `Order: order_id ulid, customer ulid; 1M of 1 KB`. Returns the entity's name, and whether its volume is known.
    pub(super) fn entity(&mut self, line: &str) -> Result<(String, bool), String> {
        let (said, volume) = line.split_once(';').map_or((line, None), |(a, b)| (a, Some(b)));
        let (name, fields) = said.split_once(':').ok_or(
            "an entity is NAME: FIELD TYPE, FIELD TYPE; such as `User: user_id ulid, name string`",
        )?;
        let name = identifier(name)?;
        if self.entities.iter().any(|known| known.name == name) {
            return Err(format!("there is a `{name}` already"));
        }
        let mut entity =
            EntityAnswer { name, identity: Vec::new(), fields: Vec::new(), volume: None };
        for field in split_fields(fields) {
            entity.add(&field)?;
        }
        let Some((first, _)) = entity.fields.first() else {
            return Err(format!(
                "`{}` has no field: the first one tells its items apart",
                entity.name
            ));
        };
        if entity.identity.is_empty() {
            entity.identity.push(first.clone());
        }
        entity.volume = volume.map(volume_text).transpose()?;
        let told = (entity.name.clone(), volume.is_some());
        self.entities.push(entity);
        Ok(told)
    }

    /// Takes `1M of 1 KB` for the entity that was said last; an empty line leaves it open.
    pub(super) fn volume(&mut self, line: &str) -> Result<(), String> {
        let text = volume_text(line)?;
        if let Some(last) = self.entities.last_mut() {
            last.volume = Some(text);
        }
        Ok(())
    }

    /// Takes `orders of a customer: Order where customer = ? order placed_at desc limit 20 rate 300/s`.
    pub(super) fn pattern(&mut self, line: &str) -> Result<String, String> {
        let (name, rest) = line.split_once(':').ok_or(
            "a pattern is NAME: ENTITY where CONDITION order FIELD limit N rate N/s; all but the entity may be missing",
        )?;
        let name = title(name)?;
        let parts = parts(rest, &["where", "order", "limit", "rate"]);
        let mut text = format!("[access.{}]\n", quoted(name));
        for (word, value) in parts {
            match word {
                "" => {
                    let found: Vec<String> = value.split(',').map(|it| quoted(it.trim())).collect();
                    let found = match found.as_slice() {
                        [only] => only.clone(),
                        many => format!("[{}]", many.join(", ")),
                    };
                    let _ = writeln!(text, "find  = {found}");
                }
                "where" => {
                    let _ = writeln!(text, "where = {}", quoted(&value));
                }
                "order" => {
                    let by = value.strip_prefix("by ").unwrap_or(&value);
                    let _ = writeln!(text, "order = {}", quoted(by));
                }
                "limit" => {
                    let number: u64 =
                        value.parse().map_err(|_| format!("limit `{value}` is not a number"))?;
                    let _ = writeln!(text, "limit = {number}");
                }
                _ => {
                    let _ = writeln!(text, "rate  = {}", quoted(&value));
                }
            }
        }
        self.sections.push(text);
        Ok(name.to_owned())
    }

    /// Takes `place an order: Order 100/s`.
    pub(super) fn write(&mut self, line: &str) -> Result<String, String> {
        let (name, rest) = line
            .split_once(':')
            .ok_or("a write is NAME: ENTITY N/s, such as `sign up: User 5/s`")?;
        let name = title(name)?;
        let mut words = rest.split_whitespace();
        let entity = words.next().ok_or("which entity does it write?")?;
        let rate: Vec<&str> = words.filter(|word| *word != "rate").collect();
        let mut text = format!("[write.{}]\nentity = {}\n", quoted(name), quoted(entity));
        if !rate.is_empty() {
            let _ = writeln!(text, "rate   = {}", quoted(&rate.join(" ")));
        }
        self.sections.push(text);
        Ok(name.to_owned())
    }

    /// The design file, without tables and keys.
    pub(super) fn text(&self) -> String {
        let mut sections: Vec<String> = self.entities.iter().map(EntityAnswer::text).collect();
        sections.extend(self.sections.iter().cloned());
        sections.join("\n")
    }
}

impl EntityAnswer {
    /// Takes `name type`, `name? type`, `name* type`, `status string(open|done)`, `title string<=200`.
    fn add(&mut self, said: &str) -> Result<(), String> {
        let (name, kind) = said.split_once(char::is_whitespace).ok_or_else(|| {
            format!(
                "`{said}` has no type: say `{said} ulid`, or token, string, datetime, date, u32, number, bool, list, map"
            )
        })?;
        let bare = name.trim_end_matches(['*', '?']);
        let field = identifier(bare)?;
        if self.fields.iter().any(|(known, _)| *known == field) {
            return Err(format!("`{field}` is there twice"));
        }
        if name.contains('*') {
            self.identity.push(field.clone());
        }
        self.fields.push((field, field_text(kind.trim(), name.contains('?'))?));
        Ok(())
    }

    fn text(&self) -> String {
        let names: Vec<String> = self.identity.iter().map(|name| quoted(name)).collect();
        let mut text = format!("[entity.{}]\nidentity = [{}]\n", self.name, names.join(", "));
        text.push_str(self.volume.as_deref().unwrap_or_default());
        let _ = write!(text, "\n[entity.{}.fields]\n", self.name);
        let width = self.fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, kind) in &self.fields {
            let _ = writeln!(text, "{name:width$} = {kind}");
        }
        text
    }
}

/// Fields between commas; those in brackets are values.
fn split_fields(text: &str) -> Vec<String> {
    let (mut fields, mut depth) = (vec![String::new()], 0_u32);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match fields.last_mut() {
            Some(last) if c != ',' || depth > 0 => last.push(c),
            _ => fields.push(String::new()),
        }
    }
    fields.iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

/// A field as the design file has it.
fn field_text(kind: &str, optional: bool) -> Result<String, String> {
    let mut more = String::new();
    let mut name = kind;
    if let Some((before, values)) = kind.split_once('(') {
        let values = values.trim_end().strip_suffix(')').ok_or("a `)` is missing")?;
        let values: Vec<String> = values.split(['|', ',']).map(|it| quoted(it.trim())).collect();
        let _ = write!(more, ", values = [{}]", values.join(", "));
        name = before;
    } else if let Some((before, max)) = kind.split_once("<=") {
        let max: u64 =
            max.trim().parse().map_err(|_| format!("`{max}` is not a number of bytes"))?;
        let _ = write!(more, ", max = {max}");
        name = before;
    }
    if optional {
        more.push_str(", optional = true");
    }
    let name = quoted(name.trim());
    Ok(if more.is_empty() { name } else { format!("{{ type = {name}{more} }}") })
}

/// `1M of 1 KB` as lines of the file.
fn volume_text(said: &str) -> Result<String, String> {
    let said = said.trim();
    if said.is_empty() {
        return Ok(String::new());
    }
    let (count, size) = said.split_once(" of ").map_or((said, None), |(a, b)| (a, Some(b)));
    if !count.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("`{count}` is not a number: say `1M of 1 KB`, `2_000`, or nothing"));
    }
    let mut text = format!("count = {}\n", quoted(count.trim()));
    if let Some(size) = size {
        let _ = writeln!(text, "size = {}", quoted(size.trim()));
    }
    Ok(text)
}

/// The parts of a line that follow each of some words, outside quotes; what stands before them has no word. `Order` is an
/// entity, `order` a word.
fn parts<'a>(line: &str, words: &[&'a str]) -> Vec<(&'a str, String)> {
    let mut found: Vec<(&str, Vec<&str>)> = vec![("", Vec::new())];
    let mut quoted = false;
    for piece in line.split_whitespace() {
        let word = words.iter().find(|word| !quoted && piece == **word);
        match (word, found.last_mut()) {
            (Some(word), _) => found.push((word, Vec::new())),
            (None, Some((_, pieces))) => pieces.push(piece),
            (None, None) => {}
        }
        quoted ^= piece.matches('\'').count() % 2 == 1;
    }
    found.into_iter().map(|(word, pieces)| (word, pieces.join(" "))).collect()
}

fn identifier(text: &str) -> Result<String, String> {
    let text = text.trim();
    let legal = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if legal {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is no name: letters, digits and _, a letter first"))
    }
}

fn title(text: &str) -> Result<&str, String> {
    let text = text.trim();
    if text.is_empty() { Err("it has no name before the colon".to_owned()) } else { Ok(text) }
}

fn quoted(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' => safe.extend(['\\', c]),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    format!("\"{safe}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_entity_with_its_fields() {
        let mut answers = Answers::default();
        let line = "Order: order_id ulid, status string(open|paid), note? string<=200; 1M of 1 KB";
        assert_eq!(answers.entity(line), Ok(("Order".to_owned(), true)));
        assert_eq!(
            answers.text(),
            "[entity.Order]\nidentity = [\"order_id\"]\ncount = \"1M\"\nsize = \"1 KB\"\n\n[entity.Order.fields]\n\
             order_id = \"ulid\"\nstatus   = { type = \"string\", values = [\"open\", \"paid\"] }\n\
             note     = { type = \"string\", max = 200, optional = true }\n"
        );
        assert_eq!(
            answers.entity("Line: order_id* ulid, line* u32"),
            Ok(("Line".to_owned(), false))
        );
        assert!(answers.text().contains("identity = [\"order_id\", \"line\"]"));
        for (wrong, words) in [
            ("Order", "an entity is NAME"),
            ("Order: a ulid", "already"),
            ("Bad name: a ulid", "is no name"),
            ("X:", "has no field"),
            ("X: a", "has no type"),
            ("X: a ulid, a ulid", "twice"),
            ("X: a ulid; many", "is not a number"),
        ] {
            let told = answers.entity(wrong).unwrap_err();
            assert!(told.contains(words), "{wrong}: {told}");
        }
    }

    #[test]
    fn a_line_is_a_pattern_or_a_write() {
        let mut answers = Answers::default();
        let line = "late: Order, Refund where state = 'in order' and at > ? order by at desc limit 5 rate 3/s";
        assert_eq!(answers.pattern(line).as_deref(), Ok("late"));
        assert_eq!(
            answers.text(),
            "[access.\"late\"]\nfind  = [\"Order\", \"Refund\"]\nwhere = \"state = 'in order' and at > ?\"\n\
             order = \"at desc\"\nlimit = 5\nrate  = \"3/s\"\n"
        );
        assert!(answers.pattern("x: Order limit many").unwrap_err().contains("not a number"));
        assert!(answers.pattern("Order").unwrap_err().contains("a pattern is"));
        assert_eq!(answers.write("place: Order 100/s").as_deref(), Ok("place"));
        assert!(
            answers.text().ends_with("[write.\"place\"]\nentity = \"Order\"\nrate   = \"100/s\"\n")
        );
        assert!(answers.write("place:").unwrap_err().contains("which entity"));
    }
}
