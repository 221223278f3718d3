//! Random queries of tables and indexes.

use keyloom_core::{IndexKind, KeyAttribute, ScalarType};
use serde_json::{Value, json};

use super::{Workload, set};

/// Filters on attributes that are no keys.
const FILTERS: [(&str, &[&str]); 4] = [
    ("n > :n", &[":n"]),
    ("attribute_exists(tags) AND NOT contains(tags, :tag)", &[":tag"]),
    ("size(t) < :len OR doc.x = :one", &[":len", ":one"]),
    ("attribute_not_exists(l)", &[]),
];

impl Workload {
    pub(super) fn query(&mut self) -> Value {
        let schema = self.schema();
        let position = self.rng.below(schema.indexes.len() + 1);
        let index = schema.indexes.get(position);
        let key = index.map_or(&schema.key, |index| &index.key);
        let mut body = json!({"TableName": schema.name.as_str()});
        let (mut clauses, mut values) = (Vec::new(), json!({}));
        for attribute in &key.hash {
            let value = self.key_value(attribute);
            self.clause(attribute, "=", vec![value], &mut clauses, &mut values);
        }
        let used = self.rng.below(key.range.len() + 1);
        for (position, attribute) in key.range.iter().take(used).enumerate() {
            if position + 1 < used {
                let value = self.key_value(attribute);
                self.clause(attribute, "=", vec![value], &mut clauses, &mut values);
            } else {
                self.range_clause(attribute, &mut clauses, &mut values);
            }
        }
        set(&mut body, "KeyConditionExpression", clauses.join(" AND "));
        set(&mut body, "ExpressionAttributeValues", values);
        if let Some(index) = index {
            set(&mut body, "IndexName", index.name.as_str());
        }
        let local = index.is_some_and(|index| index.kind == IndexKind::Local);
        self.add_options(&mut body, index.is_some(), local);
        body
    }

    fn add_options(&mut self, body: &mut Value, indexed: bool, local: bool) {
        if self.rng.chance(50) {
            set(body, "ScanIndexForward", self.rng.chance(40));
        }
        if self.rng.chance(if self.large { 10 } else { 60 }) {
            set(body, "Limit", 1 + self.rng.below(4));
        }
        if self.rng.chance(30) && (!indexed || local || self.rng.chance(5)) {
            set(body, "ConsistentRead", true);
        }
        if self.rng.chance(30) {
            let (filter, values) = *self.rng.pick(&FILTERS);
            set(body, "FilterExpression", filter);
            self.add_values(body, values);
        }
        match self.rng.below(10) {
            0 => set(body, "Select", "COUNT"),
            1 => set(body, "Select", "ALL_ATTRIBUTES"),
            2 if indexed => set(body, "Select", "ALL_PROJECTED_ATTRIBUTES"),
            3 => set(body, "ProjectionExpression", "pk, n"),
            4 => set(body, "ProjectionExpression", "t, doc.x"),
            _ => {}
        }
    }

    /// A clause on the last range attribute that is named.
    fn range_clause(
        &mut self,
        attribute: &KeyAttribute,
        clauses: &mut Vec<String>,
        values: &mut Value,
    ) {
        let mut operator = *self.rng.pick(&["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"]);
        if operator == "begins_with" && attribute.kind == ScalarType::N {
            operator = ">=";
        }
        let mut operands = vec![self.scalar(attribute.kind)];
        if operator == "BETWEEN" {
            operands.push(self.scalar(attribute.kind));
            order(&mut operands);
        }
        self.clause(attribute, operator, operands, clauses, values);
    }

    fn clause(
        &mut self,
        attribute: &KeyAttribute,
        operator: &str,
        operands: Vec<Value>,
        clauses: &mut Vec<String>,
        values: &mut Value,
    ) {
        let name = attribute.name.as_str();
        let mut placeholders = Vec::new();
        for (position, operand) in operands.into_iter().enumerate() {
            let placeholder = format!(":{name}{position}");
            set(values, &placeholder, operand);
            placeholders.push(placeholder);
        }
        let clause = match operator {
            "BETWEEN" => format!("{name} BETWEEN {}", placeholders.join(" AND ")),
            "begins_with" => format!("begins_with({name}, {})", placeholders.join("")),
            _ => format!("{name} {operator} {}", placeholders.join("")),
        };
        // The order of the clauses means nothing.
        let place = self.rng.below(clauses.len() + 1);
        clauses.insert(place, clause);
    }

    fn key_value(&mut self, attribute: &KeyAttribute) -> Value {
        match attribute.name.as_str() {
            "pk" => self.partition(attribute.kind),
            _ => self.scalar(attribute.kind),
        }
    }
}

/// Puts the bounds of a BETWEEN in order, as DynamoDB demands.
fn order(bounds: &mut [Value]) {
    use keyloom_core::{AttributeValue, json as core_json};
    let value = |bound: &Value| {
        let text = bound.to_string();
        let parsed =
            core_json::parse(text.as_bytes()).and_then(|json| core_json::value_from(&json));
        parsed.unwrap_or(AttributeValue::Null)
    };
    let [low, high] = bounds else { return };
    let reversed = match (value(low), value(high)) {
        (AttributeValue::N(low), AttributeValue::N(high)) => low > high,
        (AttributeValue::S(low), AttributeValue::S(high)) => low > high,
        (AttributeValue::B(low), AttributeValue::B(high)) => low > high,
        _ => false,
    };
    if reversed {
        bounds.reverse();
    }
}
