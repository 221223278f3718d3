//! Requests that violate the constraints of the model, generated from it: alone, and two at a time.
//!
//! What AWS answers is worked out from the model and the request, without our tables. Where AWS is known to depart
//! from the model that it publishes, a comment here says so.

use keyloom_api::{Body, Operation};
use serde_json::{Map, Value, json};

use crate::aws::{Model, models};
use crate::wrong_types::{Site, Step, sites};

/// Operations on items and streams check constraints while they decode, by rules of their own.
const OTHERS: [&str; 14] = [
    "BatchExecuteStatement",
    "BatchGetItem",
    "BatchWriteItem",
    "DeleteItem",
    "ExecuteStatement",
    "ExecuteTransaction",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "SearchVectors",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateItem",
];

/// A text that violates every pattern but one, whatever its length.
const BAD: &str = "\u{1}\"$!";

/// The limits of a shape at a place of a request, as AWS is known to apply them.
#[derive(Clone)]
struct Limits {
    min: Option<i64>,
    max: Option<i64>,
    pattern: Option<String>,
    names: Option<Vec<String>>,
    /// Whether it is the name or ARN of a table.
    is_table: bool,
}

impl Limits {
    fn of(model: &Model, shape: &str, owner: &str, member: &str) -> Self {
        // The name of a new table is never an ARN. Recorded: "Value 'ab' at 'tableName' failed to satisfy
        // constraint: Member must have length greater than or equal to 3".
        let is_new = (owner, member) == ("CreateTableInput", "TableName");
        let shape = model.shape(if is_new { "TableName" } else { shape });
        let names = shape["enum"].as_array().map(|names| {
            names.iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        });
        let mut limits = Self {
            min: shape["min"].as_i64(),
            max: shape["max"].as_i64(),
            pattern: shape["pattern"].as_str().map(str::to_owned),
            names: names.map(recorded_order),
            is_table: shape == model.shape("TableArn"),
        };
        // Only global indexes may have keys of more than two attributes; recorded for tables.
        let is_simple_key = ["CreateTableInput", "LocalSecondaryIndex", "TableCreationParameters"];
        if member == "KeySchema" && is_simple_key.contains(&owner) {
            limits.max = Some(2);
        }
        // The model has no lower limit; pages of nothing would never end.
        if (owner, member) == ("ListContributorInsightsInput", "MaxResults") {
            limits.min = Some(1);
        }
        limits
    }

    fn is_none(&self) -> bool {
        self.min.is_none() && self.max.is_none() && self.pattern.is_none() && self.names.is_none()
    }
}

/// AWS lists some enumerations in another order than the model: recorded.
fn recorded_order(names: Vec<String>) -> Vec<String> {
    let recorded: &[&str] = match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["S", "N", "B"] => &["B", "N", "S"],
        ["ALL", "KEYS_ONLY", "INCLUDE"] => &["ALL", "INCLUDE", "KEYS_ONLY"],
        _ => return names,
    };
    recorded.iter().map(|name| (*name).to_owned()).collect()
}

/// The members that a structure must have. The model no longer demands keys of CreateTable, since a new replica of a
/// global table takes them from its source; AWS demands them of any other table: recorded.
fn required<'m>(model: &'m Model, structure: &str) -> Vec<&'m str> {
    let mut required = model.required(structure);
    if structure == "CreateTableInput" {
        required.extend(["AttributeDefinitions", "KeySchema"]);
    }
    required
}

/// A text of this length that fits the pattern; none if the pattern forbids the length.
fn fitting(pattern: Option<&str>, length: usize) -> Option<String> {
    match pattern {
        Some("[,;:|\\t ]") => (length == 1).then(|| ",".into()),
        Some("[0-9]{12}") => (length == 12).then(|| "7".repeat(12)),
        Some("([0-9a-f]{16})+") => Some("a".repeat(length.next_multiple_of(16))),
        _ => Some("a".repeat(length)),
    }
}

/// A value that violates nothing.
fn valid(model: &Model, shape: &str, owner: &str, member: &str) -> Value {
    let limits = Limits::of(model, shape, owner, member);
    match model.kind(shape) {
        "string" => {
            let least = usize::try_from(limits.min.unwrap_or(0)).unwrap().max(2);
            let text = |length| fitting(limits.pattern.as_deref(), length);
            let name = limits.names.as_ref().map(|names| names[0].clone());
            json!(name.or_else(|| [least, 1, 12].into_iter().find_map(text)).unwrap())
        }
        "boolean" => json!(true),
        "list" => json!([valid(model, model.element(shape), "", "")]),
        "map" => json!({"key": valid(model, model.element(shape), "", "")}),
        "structure" if shape == "AttributeValue" => json!({"S": "text"}),
        "structure" => Value::Object(complete(model, shape)),
        _ => json!(limits.min.unwrap_or(1)),
    }
}

/// A structure with the members that it must have.
fn complete(model: &Model, structure: &str) -> Map<String, Value> {
    let required = required(model, structure);
    let members = model.members(structure).into_iter();
    members
        .filter(|(name, _)| required.contains(name))
        .map(|(name, shape)| (name.to_owned(), valid(model, shape, structure, name)))
        .collect()
}

/// Values that violate the limits of a place, each in another way; null stands for a missing member.
fn invalid(model: &Model, site: &Site<'_>) -> Vec<Value> {
    let (owner, member) = match site.steps.last().unwrap() {
        Step::Member(owner, member) => (*owner, *member),
        Step::Entry | Step::Element => ("", ""),
    };
    let limits = Limits::of(model, site.shape, owner, member);
    let mut values = Vec::new();
    if !owner.is_empty() && required(model, owner).contains(&member) {
        values.push(Value::Null);
    }
    let length = |limit: i64| usize::try_from(limit).unwrap();
    match model.kind(site.shape) {
        "string" if limits.names.is_some() => values.push(json!("NONESUCH")),
        "string" => {
            let pattern = limits.pattern.as_deref();
            if limits.is_table {
                values.extend([json!("a".repeat(256)), json!(format!("arn:{}", "a".repeat(1021)))]);
            } else if let Some(max) = limits.max {
                values.extend(fitting(pattern, length(max) + 1).map(Value::String));
            }
            if limits.min.is_some_and(|min| min > 0) {
                values.push(json!(""));
            }
            match pattern {
                Some("[,;:|\\t ]") => values.push(json!("x")),
                Some(_) => values.push(json!(BAD.repeat(length(limits.min.unwrap_or(1)).max(3)))),
                None if limits.is_table => values.push(json!(BAD)),
                None => {}
            }
        }
        "integer" | "long" => {
            values.extend(limits.min.map(|min| json!(min - 1)));
            values.extend(limits.max.map(|max| json!(max + 1)));
        }
        "list" => {
            if limits.min.is_some_and(|min| min > 0) {
                values.push(json!([]));
            }
            let element = || valid(model, model.element(site.shape), "", "");
            values.extend(limits.max.map(|max| json!(vec![element(); length(max) + 1])));
        }
        _ => assert!(limits.is_none(), "{} has limits", site.shape),
    }
    values
}

/// Puts a value at a place, with all that is required on the way there.
fn put(model: &Model, at: &mut Value, steps: &[Step<'_>], value: &Value) {
    let Some((step, rest)) = steps.split_first() else {
        *at = value.clone();
        return;
    };
    let inner = match step {
        Step::Element => {
            if at.as_array().is_none_or(Vec::is_empty) {
                *at = json!([{}]);
            }
            &mut at[0]
        }
        Step::Entry => &mut at["key"],
        Step::Member(_, member) => &mut at[*member],
    };
    if let Some(Step::Member(structure, _)) = rest.first()
        && inner.as_object().is_none_or(Map::is_empty)
    {
        *inner = Value::Object(complete(model, structure));
    }
    put(model, inner, rest, value);
}

/// A member's name in paths.
fn spelled(name: &str) -> String {
    name[..1].to_lowercase() + &name[1..]
}

/// All violations of a value, in the order of the model.
fn violations(
    model: &Model,
    (shape, owner, member): (&str, &str, &str),
    value: &Value,
    path: &str,
    found: &mut Vec<String>,
) {
    let limits = Limits::of(model, shape, owner, member);
    let shown = java(model, shape, value);
    let own = own_violations(&limits, value).into_iter();
    found.extend(own.map(|must| {
        format!("Value '{shown}' at '{path}' failed to satisfy constraint: Member must {must}")
    }));
    match (value, model.kind(shape)) {
        (Value::Array(elements), _) => {
            for (position, one) in elements.iter().enumerate() {
                let path = format!("{path}.{}.member", position + 1);
                violations(model, (model.element(shape), "", ""), one, &path, found);
            }
        }
        (Value::Object(entries), "map") => {
            for (name, one) in entries {
                let path = format!("{path}.{name}.member");
                violations(model, (model.element(shape), "", ""), one, &path, found);
            }
        }
        (Value::Object(object), "structure") if shape != "AttributeValue" => {
            let required = required(model, shape);
            for (name, inner) in model.members(shape) {
                let dot = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{dot}{}", spelled(name));
                match object.get(name).filter(|value| !value.is_null()) {
                    Some(value) => violations(model, (inner, shape, name), value, &path, found),
                    None if required.contains(&name) => found.push(format!(
                        "Value null at '{path}' failed to satisfy constraint: Member must not be null"
                    )),
                    None => {}
                }
            }
        }
        _ => {}
    }
}

/// What a value must and does not, apart from what is inside it.
fn own_violations(limits: &Limits, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let (min, mut max) = (limits.min.unwrap_or(i64::MIN), limits.max.unwrap_or(i64::MAX));
    let (size, noun) = match value {
        Value::String(text) => {
            if let Some(names) = &limits.names {
                let set = format!("satisfy enum value set: [{}]", names.join(", "));
                return if names.contains(text) { Vec::new() } else { vec![set] };
            }
            let mut pattern = limits.pattern.as_deref();
            if limits.is_table && !text.starts_with("arn:") {
                (pattern, max) = (Some("[a-zA-Z0-9_.-]+"), 255);
            }
            if let Some(pattern) = pattern.filter(|_| text.contains(BAD) || text == "x") {
                found.push(format!("satisfy regular expression pattern: {pattern}"));
            }
            (text.chars().count() as i64, "length")
        }
        Value::Array(elements) => (elements.len() as i64, "length"),
        Value::Number(number) => (number.as_i64().unwrap(), "value"),
        _ => return Vec::new(),
    };
    if size < min {
        found.push(format!("have {noun} greater than or equal to {min}"));
    } else if size > max {
        found.push(format!("have {noun} less than or equal to {max}"));
    }
    found
}

/// A value as Java prints it.
fn java(model: &Model, shape: &str, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(object) if model.kind(shape) == "structure" => {
            let members = model.members(shape).into_iter();
            let member = |(name, shape): (&str, &str)| {
                let value = object.get(name).map_or("null".into(), |one| java(model, shape, one));
                format!("{}={value}", spelled(name))
            };
            format!("{shape}({})", members.map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Array(elements) => {
            let element = |one| java(model, model.element(shape), one);
            format!("[{}]", elements.iter().map(element).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// What AWS answers; empty if it has nothing against the request.
fn expected(model: &Model, input: &str, body: &Value) -> String {
    // A request without the name of its table hears only of that: recorded.
    if required(model, input).contains(&"TableName") && body["TableName"].is_null() {
        return "The parameter 'TableName' is required but was not present in the request".into();
    }
    // The same for the resource of tags, in other words: recorded.
    let is_of_tags = ["TagResourceInput", "UntagResourceInput", "ListTagsOfResourceInput"];
    if is_of_tags.contains(&input) && body["ResourceArn"].is_null() {
        return "Invalid TableArn".into();
    }
    let mut found = Vec::new();
    violations(model, (input, "", ""), body, "", &mut found);
    // No more than ten are listed: recorded.
    found.truncate(10);
    if found.is_empty() {
        return String::new();
    }
    let plural = if found.len() == 1 { "" } else { "s" };
    format!("{} validation error{plural} detected: {}", found.len(), found.join("; "))
}

fn answer(operation: Operation, body: &Value) -> String {
    let text = body.to_string();
    Body::parse(operation, text.as_bytes()).err().map_or(String::new(), |error| error.message())
}

/// A text that may be long, for a message.
fn short(text: &impl ToString) -> String {
    text.to_string().chars().take(1000).collect()
}

fn judge(model: &Model, (operation, input): (Operation, &str), body: &Value) {
    let (ours, right) = (answer(operation, body), expected(model, input, body));
    assert!(
        !right.is_empty() && ours == right,
        "{operation:?} {}\n{}\nnot\n{}",
        short(body),
        short(&ours),
        short(&right)
    );
}

#[test]
fn violations_are_reported_together_in_the_order_of_the_model() {
    let Some(models) = models() else { return };
    let model = &models[0];
    let (mut alone, mut pairs) = (0, 0);
    for (name, input) in model.operations() {
        if OTHERS.contains(&name.as_str()) {
            continue;
        }
        let operation = Operation::from_name(&name).unwrap();
        let plain = Value::Object(complete(model, &input));
        assert_eq!(answer(operation, &plain), "", "{name} {plain}");
        let mut found = Vec::new();
        sites(model, &Site { steps: Vec::new(), shape: &input }, 0, &mut found);
        let faults: Vec<(&Site<'_>, Value)> = found
            .iter()
            .flat_map(|site| invalid(model, site).into_iter().map(move |value| (site, value)))
            .collect();
        // All pairs of a small input, some of a large one.
        let step = 1 + faults.len() / 40;
        for (position, (site, value)) in faults.iter().enumerate() {
            let mut body = plain.clone();
            put(model, &mut body, &site.steps, value);
            judge(model, (operation, &input), &body);
            alone += 1;
            for (site, value) in faults.iter().skip(position + 1).step_by(step) {
                let mut body = body.clone();
                put(model, &mut body, &site.steps, value);
                judge(model, (operation, &input), &body);
                pairs += 1;
            }
        }
    }
    println!("{alone} violations alone, {pairs} in pairs");
    assert!(alone > 500 && pairs > 5_000, "{alone} {pairs}");
}
