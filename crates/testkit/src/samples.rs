//! One full request of every operation, and the ways to spoil it.

use serde_json::{Value, json};

/// A request that the API model accepts.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The name of the operation.
    pub operation: String,
    /// A body with every member that goes together.
    pub body: Value,
}

/// Requests of all operations, most of them on the table of [`create_table`].
pub fn samples() -> Vec<Sample> {
    let parsed: serde_json::Result<Vec<(String, Value)>> =
        serde_json::from_str(include_str!("samples.json"));
    match parsed {
        Ok(samples) => {
            samples.into_iter().map(|(operation, body)| Sample { operation, body }).collect()
        }
        Err(error) => panic!("samples.json: {error}"),
    }
}

/// The request that makes the table of the samples.
pub fn create_table() -> Value {
    let hash = |name: &str| json!({"AttributeName": name, "KeyType": "HASH"});
    let range = |name: &str| json!({"AttributeName": name, "KeyType": "RANGE"});
    let include = json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]});
    json!({
        "TableName": "sample",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
            {"AttributeName": "g", "AttributeType": "S"},
        ],
        "KeySchema": [hash("pk"), range("sk")],
        "LocalSecondaryIndexes":
            [{"IndexName": "local", "KeySchema": [hash("pk"), range("g")], "Projection": include}],
        "GlobalSecondaryIndexes":
            [{"IndexName": "global", "KeySchema": [hash("g")], "Projection": include}],
    })
}

/// A sample with one thing changed.
#[derive(Clone, Debug)]
pub struct Spoiled {
    /// What was changed, for the report of a failed test.
    pub what: String,
    /// The body of the request.
    pub body: Value,
}

impl Sample {
    /// The sample with each of its values replaced by values of every other JSON type, one at a
    /// time: always an error.
    pub fn with_wrong_types(&self) -> Vec<Spoiled> {
        let others = |old: &Value| -> Vec<Value> {
            let all = [json!("text"), json!(7), json!(true), json!([1]), json!({"x": [1]})];
            all.into_iter().filter(|new| kind(new) != kind(old)).collect()
        };
        self.replacing(others)
    }

    /// The sample with each of its values replaced by odd ones of the same or no type, one at a
    /// time: an error or not, but nothing worse.
    pub fn with_odd_values(&self) -> Vec<Spoiled> {
        let odd = |old: &Value| -> Vec<Value> {
            let mut values = vec![Value::Null];
            match old {
                Value::Number(_) => {
                    let numbers =
                        [json!(0), json!(-1), json!(1.5), json!(i64::MIN), json!(u64::MAX)];
                    values.extend(numbers);
                    values.push(json!(1e300));
                }
                Value::String(_) => {
                    let texts = ["", " ", "\u{0}", "1e999", ":", "#", "((((", "arn:aws:", "a.b[0]"];
                    values.extend(texts.map(Value::from));
                    values.push("x".repeat(70_000).into());
                    values.push("(".repeat(4000).into());
                }
                Value::Bool(value) => values.push((!value).into()),
                Value::Array(elements) => {
                    values.push(json!([]));
                    let many = elements.iter().cycle().take(200).cloned();
                    values.push(many.collect());
                }
                Value::Object(_) => {
                    values.push(json!({}));
                    values.push(deep(40));
                }
                Value::Null => {}
            }
            values
        };
        self.replacing(odd)
    }

    fn replacing(&self, replacements: impl Fn(&Value) -> Vec<Value>) -> Vec<Spoiled> {
        let mut spoiled = Vec::new();
        for pointer in pointers(&self.body) {
            let Some(old) = self.body.pointer(&pointer) else { continue };
            for new in replacements(old) {
                let shown: String = new.to_string().chars().take(40).collect();
                let mut body = self.body.clone();
                if let Some(place) = body.pointer_mut(&pointer) {
                    *place = new;
                }
                let what = format!("{} with {pointer} = {shown}", self.operation);
                spoiled.push(Spoiled { what, body });
            }
        }
        spoiled
    }
}

/// An attribute value of so many maps in each other.
fn deep(levels: usize) -> Value {
    (0..levels).fold(json!({"S": "x"}), |inner, _| json!({"M": {"m": inner}}))
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// The JSON pointers of a value and of everything in it.
fn pointers(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (name, value) in inner {
        found.extend(pointers(value).into_iter().map(|rest| format!("/{name}{rest}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_sample() {
        let mut operations: Vec<String> = samples().into_iter().map(|s| s.operation).collect();
        assert!(operations.is_sorted());
        operations.dedup();
        assert_eq!(operations.len(), 62, "58 operations of DynamoDB and 4 of its streams");
    }

    #[test]
    fn every_place_is_spoiled() {
        let sample = Sample { operation: "Op".into(), body: json!({"a": [{"b": "x"}], "c": 1}) };
        let places: Vec<String> = pointers(&sample.body);
        assert_eq!(places, ["", "/a", "/a/0", "/a/0/b", "/c"]);
        // Four other types for each of five places.
        assert_eq!(sample.with_wrong_types().len(), 20);
    }
}
