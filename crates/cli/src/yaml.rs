//! YAML as JSON: templates of CloudFormation, with its tags in their long form (`!Ref x` is `{"Ref": "x"}`).

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value as Json};

/// The most values of a document, aliases written out.
const MAX_VALUES: usize = 1_000_000;
/// How deeply lists and maps may be nested, as in JSON.
const MAX_DEPTH: usize = 100;
/// What a key is called when it is written as `<<`.
const MERGE: &str = "<<";

/// A list or map that has not ended yet.
enum Open {
    List(Vec<Json>),
    /// With the key whose value comes next, and the maps that `<<` takes over.
    Map(Map<String, Json>, Option<String>, Vec<Json>),
}

/// A value that has not ended yet, with its anchor and its tag.
struct Level {
    open: Open,
    anchor: usize,
    function: Option<String>,
    line: usize,
}

/// Reads the first document.
#[derive(Default)]
struct Reader {
    levels: Vec<Level>,
    /// Anchored values and how many values each has in all.
    anchors: HashMap<usize, (Json, usize)>,
    values: usize,
    root: Option<Json>,
}

/// The first document of a text in YAML.
pub(crate) fn read(text: &str) -> Result<Json, String> {
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| format!("line {}: {}", error.marker().line(), error.info()))?;
        let line = span.start.line();
        reader.take(event, line).map_err(|reason| format!("line {line}: {reason}"))?;
        if reader.root.is_some() {
            break;
        }
    }
    reader.root.ok_or_else(|| "it is empty".to_owned())
}

impl Reader {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let function = function(tag.as_deref());
                let is_text = style != ScalarStyle::Plain
                    || tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
                let value = if is_text || function.is_some() || self.wants_key() {
                    Json::from(text.as_ref())
                } else {
                    plain(&text)
                };
                self.finish(with_function(value, function), anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.open(Open::List(Vec::new()), anchor, tag.as_deref(), line)
            }
            Event::MappingStart(anchor, tag) => {
                self.open(Open::Map(Map::new(), None, Vec::new()), anchor, tag.as_deref(), line)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(level) = self.levels.pop() else { return Ok(()) };
                let value = match level.open {
                    Open::List(list) => Json::from(list),
                    Open::Map(mut map, _, sources) => {
                        merge(&mut map, sources)?;
                        Json::from(map)
                    }
                };
                self.finish(with_function(value, level.function), level.anchor)
            }
            Event::Alias(anchor) => {
                let Some((value, size)) = self.anchors.get(&anchor).cloned() else {
                    return Err("an alias is used inside the value that it stands for".to_owned());
                };
                self.values += size;
                self.finish(value, 0)
            }
            _ => Ok(()),
        }
    }

    fn open(
        &mut self,
        open: Open,
        anchor: usize,
        tag: Option<&Tag>,
        line: usize,
    ) -> Result<(), String> {
        if self.wants_key() {
            return Err("a list or map is used as a key".to_owned());
        }
        if self.levels.len() >= MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} lists and maps inside each other"));
        }
        self.levels.push(Level { open, anchor, function: function(tag), line });
        Ok(())
    }

    /// Whether what comes next is the key of a map.
    fn wants_key(&self) -> bool {
        matches!(self.levels.last(), Some(Level { open: Open::Map(_, None, _), .. }))
    }

    /// Puts a value where it belongs.
    fn finish(&mut self, value: Json, anchor: usize) -> Result<(), String> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(format!("it has more than {MAX_VALUES} values, aliases counted"));
        }
        if anchor > 0 {
            let size = size_of(&value);
            self.anchors.insert(anchor, (value.clone(), size));
        }
        let Some(level) = self.levels.last_mut() else {
            self.root = Some(value);
            return Ok(());
        };
        match &mut level.open {
            Open::List(list) => list.push(value),
            Open::Map(map, key, sources) => match key.take() {
                None => *key = Some(key_text(value)?),
                Some(name) if name == MERGE => match value {
                    Json::Array(list) => sources.extend(list),
                    one => sources.push(one),
                },
                Some(name) => {
                    if map.insert(name.clone(), value).is_some() {
                        return Err(format!("`{name}` is twice in the map of line {}", level.line));
                    }
                }
            },
        }
        Ok(())
    }
}

fn key_text(value: Json) -> Result<String, String> {
    match value {
        Json::String(text) => Ok(text),
        _ => Err("a tagged value is used as a key".to_owned()),
    }
}

/// Takes over what a map does not have itself from the maps behind `<<`.
fn merge(map: &mut Map<String, Json>, sources: Vec<Json>) -> Result<(), String> {
    for source in sources {
        let Json::Object(source) = source else {
            return Err("`<<` takes maps".to_owned());
        };
        for (name, value) in source {
            map.entry(name).or_insert(value);
        }
    }
    Ok(())
}

fn size_of(value: &Json) -> usize {
    1 + match value {
        Json::Array(list) => list.iter().map(size_of).sum(),
        Json::Object(map) => map.values().map(size_of).sum(),
        _ => 0,
    }
}

/// The function that a tag is short for: `Fn::Sub` of `!Sub`.
fn function(tag: Option<&Tag>) -> Option<String> {
    let tag = tag.filter(|tag| tag.handle == "!" && !tag.suffix.is_empty())?;
    Some(match tag.suffix.as_str() {
        "Ref" | "Condition" => tag.suffix.clone(),
        name => format!("Fn::{name}"),
    })
}

fn with_function(value: Json, function: Option<String>) -> Json {
    let Some(name) = function else { return value };
    let value = match (name.as_str(), &value) {
        // `!GetAtt Table.Arn` is short for a list.
        ("Fn::GetAtt", Json::String(text)) => {
            let (resource, attribute) = text.split_once('.').unwrap_or((text, ""));
            Json::from(vec![resource, attribute])
        }
        _ => value,
    };
    Json::Object(Map::from_iter([(name, value)]))
}

/// A scalar without quotes, by the core schema.
fn plain(text: &str) -> Json {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Json::Null,
        "true" | "True" | "TRUE" => Json::Bool(true),
        "false" | "False" | "FALSE" => Json::Bool(false),
        _ => {
            let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
                // What begins with a zero is an account or an id.
                && (text.len() == 1 || !text.starts_with('0') || text.starts_with("0."));
            let number = is_number.then(|| serde_json::from_str(text).ok()).flatten();
            number.filter(Json::is_number).unwrap_or_else(|| Json::from(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::json;

    use super::read;

    #[test]
    fn templates_are_read_with_their_tags() {
        let text = "
# A comment.
Resources:
  Orders: # behind a key
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub '${AWS::StackName}-orders'
      BillingMode: !If [IsProd, PROVISIONED, PAY_PER_REQUEST]
      Arn: !GetAtt Other.Arn
      Role: !Ref Role
      Deep: !Select
        - 0
        - !Split [',', 'a,b']
      Numbers: [1, -2, 0.5, 007, '8', true, 'true', ~, 2010-09-09]
      Text: |
        two
        lines
";
        let found = read(text).unwrap();
        assert_eq!(
            found["Resources"]["Orders"]["Properties"],
            json!({
                "TableName": { "Fn::Sub": "${AWS::StackName}-orders" },
                "BillingMode": { "Fn::If": ["IsProd", "PROVISIONED", "PAY_PER_REQUEST"] },
                "Arn": { "Fn::GetAtt": ["Other", "Arn"] },
                "Role": { "Ref": "Role" },
                "Deep": { "Fn::Select": [0, { "Fn::Split": [",", "a,b"] }] },
                "Numbers": [1, -2, 0.5, "007", "8", true, "true", null, "2010-09-09"],
                "Text": "two\nlines\n",
            })
        );
    }

    #[test]
    fn anchors_are_written_out_and_merged() {
        let found = read("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a\n").unwrap();
        assert_eq!(
            found,
            json!({ "a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}, "c": {"x": 1, "y": 2} })
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let bomb = {
            let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
            for level in 1..12 {
                let before = format!("*a{}, ", level - 1).repeat(10);
                let _ = writeln!(text, "a{level}: &a{level} [{before}]");
            }
            text
        };
        let deep = "[".repeat(1_000);
        for (text, expected) in [
            ("a: 1\nb: [1\n", "line "),
            ("a: 1\na: 2\n", "`a` is twice"),
            ("? [a]\n: 1\n", "used as a key"),
            ("", "it is empty"),
            (bomb.as_str(), "more than 1000000 values"),
            (deep.as_str(), "line 1"),
            ("a: &a [*a]\n", "alias"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(expected), "{text:.40}: {said}");
        }
    }
}
