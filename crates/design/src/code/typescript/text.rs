//! Source text in the shape that prettier gives it.

use super::super::node::Node;
use super::super::quotes::{self, is_unusual};

/// The longest line.
pub(super) const WIDTH: usize = 80;

/// Whether a name can stand without quotes.
pub(super) fn is_identifier(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$');
    first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}

/// A name as the key of an object.
pub(super) fn key(name: &str) -> String {
    if is_identifier(name) { name.to_owned() } else { quoted(name) }
}

/// A text as a literal: in the quotes that need fewer escapes.
pub(super) fn quoted(text: &str) -> String {
    let ends_lines = |c: char| c == '\u{2028}' || c == '\u{2029}';
    quotes::quoted(text, |c| {
        (is_unusual(c) || ends_lines(c)).then(|| format!("\\u{{{:X}}}", u32::from(c)))
    })
}

/// A comment above what follows.
pub(super) fn doc(lines: &[String], indent: usize) -> String {
    let space = " ".repeat(indent);
    let safe = |line: &String| line.replace("*/", "* /").replace(['\n', '\r'], " ");
    match lines {
        [one] => format!("{space}/** {} */\n", safe(one)),
        several => {
            let line = |line: &String| format!("{space} * {}", safe(line)).trim_end().to_owned();
            let body: Vec<String> = several.iter().map(line).collect();
            format!("{space}/**\n{}\n{space} */\n", body.join("\n"))
        }
    }
}

/// A call or a head with parameters: in one line if it fits, else one line for each.
pub(super) fn signature(indent: usize, head: &str, parameters: &[String], tail: &str) -> String {
    let space = " ".repeat(indent);
    let line = format!("{space}{head}{}{tail}", parameters.join(", "));
    if width(&line) <= WIDTH || parameters.is_empty() {
        return line;
    }
    let between = format!(",\n{space}  ");
    format!("{space}{head}\n{space}  {},\n{space}{tail}", parameters.join(&between))
}

/// A statement that calls something.
pub(super) fn statement(word: &str, call: &str) -> String {
    let (head, rest) = call.split_once('(').unwrap_or((call, ")"));
    let arguments = rest.strip_suffix(')').unwrap_or(rest);
    let arguments: Vec<String> = arguments.split(", ").map(str::to_owned).collect();
    format!("{}\n", signature(4, &format!("{word}{head}("), &arguments, ");"))
}

/// A union type, one member to a line if it is long.
pub(super) fn union(head: &str, members: &[String]) -> String {
    let line = format!("{head} {};\n", members.join(" | "));
    if width(&line) <= WIDTH + 1 {
        return line;
    }
    let second = format!("  {};\n", members.join(" | "));
    if width(&second) <= WIDTH + 1 {
        return format!("{head}\n{second}");
    }
    let body: Vec<String> = members.iter().map(|one| format!("\n  | {one}")).collect();
    format!("{head}{};\n", body.join(""))
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// A literal at an indentation; `column` is how much of its first line is taken, all that follows it included.
pub(super) fn literal(
    node: &Node,
    entity: &dyn Fn(&str) -> String,
    indent: usize,
    column: usize,
) -> String {
    let printer = Printer { entity };
    printer.node(node, indent, column)
}

struct Printer<'p> {
    entity: &'p dyn Fn(&str) -> String,
}

impl Printer<'_> {
    fn node(&self, node: &Node, indent: usize, column: usize) -> String {
        let flat = self.flat(node);
        if !must_break(node) && column.saturating_add(width(&flat)) <= WIDTH {
            return flat;
        }
        let space = " ".repeat(indent + 2);
        let end = " ".repeat(indent);
        match node {
            Node::List(list) if !list.is_empty() => {
                let element = |one: &Node| {
                    // Behind it stands a comma.
                    format!("{space}{},\n", self.node(one, indent + 2, indent + 3))
                };
                format!("[\n{}{end}]", list.iter().map(element).collect::<String>())
            }
            Node::Record(members) if !members.is_empty() => {
                let member = |(name, one): &(String, Node)| {
                    let head = format!("{space}{}: ", key(name));
                    let value = self.node(one, indent + 2, width(&head) + 1);
                    if one.is_leaf() && width(&head) + width(&value) >= WIDTH && !is_code(one) {
                        return format!("{}\n{space}  {value},\n", head.trim_end());
                    }
                    format!("{head}{value},\n")
                };
                format!("{{\n{}{end}}}", members.iter().map(member).collect::<String>())
            }
            _ => flat,
        }
    }

    fn flat(&self, node: &Node) -> String {
        match node {
            Node::Text(text) => quoted(text),
            Node::Number(number) => number.to_string(),
            Node::Flag(flag) => flag.to_string(),
            Node::Input(name) if is_identifier(name) => format!("input.{name}"),
            Node::Input(name) => format!("input[{}]", quoted(name)),
            Node::Entity(name) => (self.entity)(name),
            Node::Code(code) => code.clone(),
            Node::List(list) => {
                let list: Vec<String> = list.iter().map(|one| self.flat(one)).collect();
                format!("[{}]", list.join(", "))
            }
            Node::Record(members) if members.is_empty() => "{}".to_owned(),
            Node::Record(members) => {
                let member =
                    |(name, one): &(String, Node)| format!("{}: {}", key(name), self.flat(one));
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{ {} }}", members.join(", "))
            }
        }
    }
}

fn is_code(node: &Node) -> bool {
    matches!(node, Node::Code(_))
}

/// Whether it never goes into one line: records with more than leaves in them, and what holds such a one.
fn must_break(node: &Node) -> bool {
    match node {
        Node::Record(members) => members.iter().any(|(_, one)| {
            matches!(one, Node::Record(inner) if !inner.is_empty()) || must_break(one)
        }),
        Node::List(list) => {
            let large = |one: &Node| matches!(one, Node::Record(members) if members.len() > 1);
            list.iter().any(must_break) || (list.len() > 1 && list.iter().all(large))
        }
        _ => false,
    }
}
