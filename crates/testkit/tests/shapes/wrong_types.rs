//! Requests with one value of the wrong JSON type, generated from the model.

use keyloom_engine::Database;
use serde_json::{Map, Value, json};

use crate::aws::{Model, models};

/// Every type of JSON but null, which counts as absent.
fn types() -> [Value; 7] {
    [json!("23"), json!(true), json!(false), json!(23), json!(34.56), json!([]), json!({})]
}

/// How many attribute values may be inside each other.
const MAX_NESTED_VALUES: usize = 2;

/// A place in a request: how to get there, and what belongs there.
#[derive(Clone)]
pub(crate) struct Site<'m> {
    pub(crate) steps: Vec<Step<'m>>,
    pub(crate) shape: &'m str,
}

/// One step from the outside to the inside of a request.
#[derive(Clone, Copy)]
pub(crate) enum Step<'m> {
    /// A member of this structure.
    Member(&'m str, &'m str),
    /// A value of a map.
    Entry,
    /// An element of a list.
    Element,
}

/// All places at and below one.
pub(crate) fn sites<'m>(
    model: &'m Model,
    at: &Site<'m>,
    nested_values: usize,
    found: &mut Vec<Site<'m>>,
) {
    let nested_values = nested_values + usize::from(at.shape == "AttributeValue");
    if nested_values > MAX_NESTED_VALUES {
        return;
    }
    let mut go = |step, shape| {
        let steps = at.steps.iter().copied().chain([step]).collect();
        let site = Site { steps, shape };
        found.push(site.clone());
        sites(model, &site, nested_values, found);
    };
    match model.kind(at.shape) {
        "structure" => {
            for (member, shape) in model.members(at.shape) {
                go(Step::Member(at.shape, member), shape);
            }
        }
        "list" => go(Step::Element, model.element(at.shape)),
        "map" => go(Step::Entry, model.element(at.shape)),
        _ => {}
    }
}

/// A value of the right JSON type, with all that is required in it.
fn right(model: &Model, shape: &str) -> Value {
    match model.kind(shape) {
        "string" => json!("text"),
        "blob" => json!("AAAA"),
        "boolean" => json!(true),
        "list" => json!([right(model, model.element(shape))]),
        "map" => json!({"key": right(model, model.element(shape))}),
        "structure" if shape == "AttributeValue" => json!({"S": "text"}),
        "structure" => Value::Object(required(model, shape)),
        _ => json!(1),
    }
}

fn required(model: &Model, structure: &str) -> Map<String, Value> {
    let shape_of = |name: &str| {
        let members = model.members(structure);
        members.into_iter().find(|(member, _)| *member == name).unwrap().1
    };
    let names = model.required(structure).into_iter();
    names.map(|name| (name.to_owned(), right(model, shape_of(name)))).collect()
}

/// The request that has this value at this place, with or without what is required around it.
fn request(model: &Model, steps: &[Step<'_>], value: &Value, with_required: bool) -> Value {
    let Some((step, inside)) = steps.split_first() else { return value.clone() };
    let inner = request(model, inside, value, with_required);
    match step {
        Step::Element => json!([inner]),
        Step::Entry => json!({"key": inner}),
        Step::Member(structure, member) => {
            let mut object =
                if with_required { required(model, structure) } else { Map::default() };
            object.insert((*member).to_owned(), inner);
            Value::Object(object)
        }
    }
}

const PACKAGE: &str = "com.amazonaws.dynamodb.v20120810";

/// The Java class of a shape, as AWS's messages have it.
fn java(model: &Model, shape: &str) -> String {
    match model.kind(shape) {
        "string" => "java.lang.String".into(),
        "list" => format!("java.util.List<{}>", java(model, model.element(shape))),
        "map" => format!("java.util.Map<java.lang.String, {}>", java(model, model.element(shape))),
        "structure" => format!("{PACKAGE}.{shape}"),
        kind => panic!("no class of {kind}"),
    }
}

/// What AWS says of this value at this place; none if it is of the right type.
fn expected(model: &Model, site: &Site<'_>, value: &Value) -> Option<String> {
    let kind = model.kind(site.shape);
    let name = match kind {
        "string" => "String",
        "integer" => "Integer",
        "long" => "Long",
        "double" => "Double",
        "boolean" => "Boolean",
        "timestamp" => "milliseconds since epoch",
        _ => "",
    };
    let is_number = matches!(kind, "integer" | "long" | "double" | "timestamp");
    let list = |class: String| Some(format!("Unrecognized collection type {class}"));
    match (value, kind) {
        (Value::String(_), "string") | (Value::Bool(_), "boolean") => None,
        (Value::Number(_), _) if is_number => None,
        (Value::Array(_), "list") | (Value::Object(_), "map" | "structure") => None,
        (Value::Object(_), _) => Some("Start of structure or map found where not expected.".into()),
        (Value::Array(_), "map") => list(java(model, site.shape)),
        (Value::Array(_), "structure") => list(format!("class {}", java(model, site.shape))),
        (Value::Array(_), "blob") => list("class java.nio.ByteBuffer".into()),
        (Value::Array(_), "timestamp") => list("class java.util.Date".into()),
        (Value::Array(_), _) => list(format!("class java.lang.{name}")),
        (Value::String(text), "blob") => Some(format!(
            "Base64 encoded length is expected a multiple of 4 bytes but found: {}",
            text.len()
        )),
        (_, "blob") => Some("only base-64-encoded strings are convertible to bytes".into()),
        (Value::String(_), "boolean") => Some("Unexpected token received from parser".into()),
        (_, "list" | "map" | "structure") => Some(scalar_for_container(site, kind).into()),
        (Value::String(_), _) => Some(format!("STRING_VALUE cannot be converted to {name}")),
        (Value::Bool(true), _) => Some(format!("TRUE_VALUE cannot be converted to {name}")),
        (Value::Bool(false), _) => Some(format!("FALSE_VALUE cannot be converted to {name}")),
        (Value::Number(number), _) => {
            let token = if number.is_f64() { "DECIMAL_VALUE" } else { "NUMBER_VALUE" };
            Some(format!("{token} cannot be converted to {name}"))
        }
        (Value::Null, _) => None,
    }
}

fn scalar_for_container(site: &Site<'_>, kind: &str) -> &'static str {
    match (site.steps.last().unwrap(), kind) {
        (Step::Member(..), _) => "Unexpected field type",
        (_, "structure") => "Unexpected value type in payload",
        _ => {
            "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class \
             java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and \
             java.lang.Class are in module java.base of loader 'bootstrap')"
        }
    }
}

/// The error code and message of the answer; empty if there is none.
fn refusal(database: &Database, target: &str, body: &Value) -> (String, String) {
    let reply = database.call(target, body.to_string().as_bytes());
    let reply: Value = serde_json::from_slice(&reply.body).unwrap();
    let text = |name: &str| reply[name].as_str().unwrap_or_default().to_owned();
    let code = text("__type").rsplit('#').next().unwrap_or_default().to_owned();
    (code, text("Message") + &text("message"))
}

const SERIALIZATION: &str = "SerializationException";

/// How many requests were made, and what was wrong with their answers.
#[derive(Default)]
struct Tally {
    wrong_types: usize,
    right_types: usize,
    faults: Vec<String>,
}

impl Tally {
    fn judge(&mut self, model: &Model, target: &str, site: &Site<'_>) {
        let database = Database::memory();
        // Another service answers it on AWS, in words of its own, and looks only at the surface.
        let is_search = target.ends_with(".SearchVectors");
        if is_search && site.steps.len() > 1 {
            return;
        }
        for value in types() {
            let expected = expected(model, site, &value);
            for with_required in [false, true] {
                let body = request(model, &site.steps, &value, with_required);
                let (code, message) = refusal(&database, target, &body);
                let is_right = match &expected {
                    // What is right for others need not be for the reader of searches.
                    None => is_search || code != SERIALIZATION,
                    Some(expected) => code == SERIALIZATION && (is_search || message == *expected),
                };
                match expected {
                    None => self.right_types += 1,
                    Some(_) => self.wrong_types += 1,
                }
                if !is_right {
                    let fault = format!("{target} {body}\n  {code}: {message}\n  not {expected:?}");
                    self.faults.push(fault);
                }
            }
        }
    }
}

#[test]
fn a_wrong_type_anywhere_is_refused_before_anything_else() {
    let Some(models) = models() else { return };
    let mut tally = Tally::default();
    for model in &models {
        for (name, input) in model.operations() {
            let target = format!("{}.{name}", model.target_prefix());
            let mut found = Vec::new();
            sites(model, &Site { steps: Vec::new(), shape: &input }, 0, &mut found);
            for site in &found {
                tally.judge(model, &target, site);
            }
        }
    }
    println!(
        "{} requests with a wrong type, {} with right ones, {} answers wrong",
        tally.wrong_types,
        tally.right_types,
        tally.faults.len()
    );
    assert!(tally.wrong_types > 10_000, "{}", tally.wrong_types);
    let shown: Vec<&String> = tally.faults.iter().take(20).collect();
    assert!(shown.is_empty(), "{} wrong, such as {shown:#?}", tally.faults.len());
}

#[test]
fn unknown_members_are_ignored_whatever_they_hold_and_null_is_absent() {
    let Some(models) = models() else { return };
    let database = Database::memory();
    let mut requests = 0;
    for model in &models {
        for (name, input) in
            model.operations().into_iter().filter(|(name, _)| name != "SearchVectors")
        {
            let target = format!("{}.{name}", model.target_prefix());
            let plain = refusal(&database, &target, &json!({}));
            let unknown = types().into_iter().map(|value| ("Nothing", value));
            let absent = model.members(&input).into_iter().map(|(member, _)| (member, Value::Null));
            for (member, value) in unknown.chain(absent) {
                let body = json!({ member: value });
                assert_eq!(refusal(&database, &target, &body), plain, "{name} {body}");
                requests += 1;
            }
        }
    }
    println!("{requests} requests");
}
