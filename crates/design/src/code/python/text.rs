//! Source text in the shape that black gives it.

use super::super::node::Node;
use super::super::quotes::{self, is_unusual};

/// The longest line.
pub(super) const WIDTH: usize = 88;

/// Words of the language, and names that annotations of fields use.
const TAKEN: [&str; 48] = [
    "Any", "Decimal", "False", "Literal", "None", "True", "and", "as", "assert", "async", "await",
    "bool", "break", "bytes", "class", "continue", "def", "del", "dict", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "int", "is", "lambda", "list",
    "match", "nonlocal", "not", "or", "pass", "raise", "return", "self", "set", "str", "try",
    "type", "while", "with", "yield",
];

/// A name as Python takes it.
pub(super) fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut own: String = name.chars().map(plain).collect();
    if !own.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        own.insert_str(0, "f_");
    }
    // Two of them before a name change it inside of classes.
    let own = own.trim_start_matches('_').to_owned();
    let own = if own.is_empty() { "f_".to_owned() } else { own };
    if TAKEN.contains(&own.as_str()) { format!("{own}_") } else { own }
}

/// A text as a literal: in the quotes that need fewer escapes.
pub(super) fn quoted(text: &str) -> String {
    quotes::quoted(text, |c| is_unusual(c).then(|| format!("\\U{:08x}", u32::from(c))))
}

/// Lines as a docstring.
pub(super) fn doc(lines: &[String], indent: usize) -> String {
    let space = " ".repeat(indent);
    let safe = |line: &String| {
        line.replace('\\', "\\\\").replace("\"\"\"", "'''").replace(['\n', '\r'], " ")
    };
    let lines: Vec<String> = lines.iter().map(|line| safe(line).trim().to_owned()).collect();
    let Some((first, rest)) = lines.split_first() else { return String::new() };
    let end = if first.ends_with('"') { " " } else { "" };
    if rest.is_empty() {
        return format!("{space}\"\"\"{first}{end}\"\"\"\n");
    }
    let body = rest.join(&format!("\n{space}"));
    format!("{space}\"\"\"{first}\n\n{space}{body}\n{space}\"\"\"\n")
}

/// A type with its arguments in brackets, at an indentation: `head[a, b]`.
pub(super) fn choices(head: &str, values: &[String], indent: usize, column: usize) -> String {
    let line = format!("{head}[{}]", values.join(", "));
    if column + line.chars().count() <= WIDTH {
        return line;
    }
    let space = " ".repeat(indent);
    format!("{head}[\n{space}    {},\n{space}]", values.join(&format!(",\n{space}    ")))
}

/// A literal at an indentation; `column` is how much of its first line is taken, all that follows it included.
pub(super) fn literal(
    node: &Node,
    entity: &dyn Fn(&str) -> String,
    indent: usize,
    column: usize,
) -> String {
    Printer { entity }.node(node, indent, column)
}

struct Printer<'p> {
    entity: &'p dyn Fn(&str) -> String,
}

impl Printer<'_> {
    fn node(&self, node: &Node, indent: usize, column: usize) -> String {
        let flat = self.flat(node);
        if column.saturating_add(flat.chars().count()) <= WIDTH {
            return flat;
        }
        let space = " ".repeat(indent + 4);
        let end = " ".repeat(indent);
        match node {
            Node::List(list) if !list.is_empty() => {
                let element = |one: &Node| self.node(one, indent + 4, indent + 5);
                let list: Vec<String> = list.iter().map(element).collect();
                format!("[\n{space}{},\n{end}]", list.join(&format!(",\n{space}")))
            }
            Node::Record(members) if !members.is_empty() => {
                let member = |(name, one): &(String, Node)| {
                    let head = format!("{}: ", quoted(name));
                    let taken = indent + 5 + head.chars().count();
                    format!("{head}{}", self.node(one, indent + 4, taken))
                };
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{\n{space}{},\n{end}}}", members.join(&format!(",\n{space}")))
            }
            _ => flat,
        }
    }

    fn flat(&self, node: &Node) -> String {
        match node {
            Node::Text(text) => quoted(text),
            Node::Number(number) => number.to_string(),
            Node::Flag(flag) => if *flag { "True" } else { "False" }.to_owned(),
            Node::Input(name) => identifier(name),
            Node::Entity(name) => (self.entity)(name),
            Node::Code(code) => code.clone(),
            Node::List(list) => {
                let list: Vec<String> = list.iter().map(|one| self.flat(one)).collect();
                format!("[{}]", list.join(", "))
            }
            Node::Record(members) => {
                let member =
                    |(name, one): &(String, Node)| format!("{}: {}", quoted(name), self.flat(one));
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(", "))
            }
        }
    }
}
