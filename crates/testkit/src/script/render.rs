//! Replies as text: on one line if they fit, else as many members per line as do.

use std::collections::BTreeMap;

use serde_json::Value;

const WIDTH: usize = 100;
const INDENT: usize = 2;
/// The room that the status takes on the first line.
const STATUS_WIDTH: usize = 4;

/// JSON with sorted members, on as few lines as the width allows.
pub(super) fn render(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, STATUS_WIDTH, &mut text);
    text
}

/// `column` is how much of the line is taken already.
fn write(value: &Value, indent: usize, column: usize, out: &mut String) {
    let short = on_one_line(value);
    if column + short.len() <= WIDTH || !is_breakable(value) {
        out.push_str(&short);
        return;
    }
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(members) => sorted(members)
            .into_iter()
            .map(|(name, value)| (format!("{}: ", Value::from(name.as_str())), value))
            .collect(),
        Value::Array(elements) => elements.iter().map(|value| (String::new(), value)).collect(),
        _ => Vec::new(),
    };
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    out.push(open);
    write_parts(&parts, indent + INDENT, out);
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
    out.push(close);
}

/// Writes members or elements, as many on a line as fit.
fn write_parts(parts: &[(String, &Value)], indent: usize, out: &mut String) {
    let mut column = usize::MAX;
    for (position, (label, value)) in parts.iter().enumerate() {
        let comma = if position + 1 < parts.len() { "," } else { "" };
        let width = label.len() + on_one_line(value).len() + comma.len();
        if column.saturating_add(1 + width) <= WIDTH {
            out.push(' ');
            column += 1;
        } else {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        }
        out.push_str(label);
        write(value, indent, column + label.len() + comma.len(), out);
        out.push_str(comma);
        // What took several lines ends its last one.
        column = if column + width <= WIDTH { column + width } else { usize::MAX };
    }
}

fn sorted(members: &serde_json::Map<String, Value>) -> BTreeMap<&String, &Value> {
    members.iter().collect()
}

fn is_breakable(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        _ => false,
    }
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = sorted(members)
                .into_iter()
                .map(|(name, value)| {
                    format!("{}: {}", Value::from(name.as_str()), on_one_line(value))
                })
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(on_one_line).collect();
            format!("[{}]", elements.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn short_values_stay_on_one_line_and_long_ones_break() {
        assert_eq!(render(&json!({"b": [1, {}], "a": 1.0})), r#"{"a": 1.0, "b": [1, {}]}"#);
        let long = "x".repeat(60);
        assert_eq!(
            render(&json!({"a": {"S": long}, "b": {"S": long}})),
            format!("{{\n  \"a\": {{\"S\": \"{long}\"}},\n  \"b\": {{\"S\": \"{long}\"}}\n}}")
        );
    }
}
