//! JSON values as YAML text: block style, every text quoted, so that nothing is taken for a number or a date.

use std::fmt::Write as _;

use serde_json::Value as Json;

pub(super) fn yaml(value: &Json) -> String {
    let mut out = String::new();
    write(&mut out, value, 0);
    out
}

fn write(out: &mut String, value: &Json, depth: usize) {
    match value {
        Json::Object(map) => {
            for (name, value) in map {
                let _ = write!(out, "{}{name}:", "  ".repeat(depth));
                nested(out, value, depth + 1);
            }
        }
        Json::Array(list) => {
            for value in list {
                let _ = write!(out, "{}-", "  ".repeat(depth));
                item(out, value, depth);
            }
        }
        scalar => {
            let _ = writeln!(out, "{}{scalar}", "  ".repeat(depth));
        }
    }
}

/// What follows `name:`.
fn nested(out: &mut String, value: &Json, depth: usize) {
    if is_block(value) {
        out.push('\n');
        write(out, value, depth);
    } else {
        let _ = writeln!(out, " {}", inline(value));
    }
}

/// What follows `-`: the first entry of a map stands on the same line.
fn item(out: &mut String, value: &Json, depth: usize) {
    if !is_block(value) {
        let _ = writeln!(out, " {}", inline(value));
        return;
    }
    let mut inner = String::new();
    write(&mut inner, value, depth + 1);
    out.push(' ');
    out.push_str(inner.trim_start());
}

fn is_block(value: &Json) -> bool {
    match value {
        Json::Object(map) => !map.is_empty(),
        Json::Array(list) => !list.is_empty(),
        _ => false,
    }
}

fn inline(value: &Json) -> String {
    // JSON is YAML, so quoted texts, numbers and empty collections need no translation.
    value.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn maps_and_lists_nest() {
        let value = json!({ "A": { "B": ["x", { "C": 1, "D": [] }] }, "E": true });
        assert_eq!(yaml(&value), "A:\n  B:\n    - \"x\"\n    - C: 1\n      D: []\nE: true\n");
    }
}
