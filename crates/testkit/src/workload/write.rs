//! Random writes, single and in sets.

use serde_json::{Value, json};

use super::{Workload, set};

/// Conditions that need no more than the values here.
const CONDITIONS: [(&str, &[&str]); 10] = [
    ("attribute_exists(pk)", &[]),
    ("attribute_not_exists(pk)", &[]),
    ("attribute_not_exists(pk) OR n < :n", &[":n"]),
    ("n BETWEEN :n AND :big", &[":n", ":big"]),
    ("contains(tags, :tag)", &[":tag"]),
    ("NOT contains(tags, :tag)", &[":tag"]),
    ("size(t) > :len", &[":len"]),
    ("attribute_type(a, :type) OR b <> :n", &[":type", ":n"]),
    ("begins_with(a, :tag) OR n IN (:n, :big)", &[":tag", ":n", ":big"]),
    ("doc.x = :n OR l[0] = :n", &[":n"]),
];

/// Updates that need no more than the values here. Some fail on some items.
const UPDATES: [(&str, &[&str]); 18] = [
    ("SET n = if_not_exists(n, :n) + :one", &[":n", ":one"]),
    ("SET n = n - :one", &[":one"]),
    ("ADD n :one", &[":one"]),
    ("ADD tags :tags", &[":tags"]),
    ("DELETE tags :tags", &[":tags"]),
    ("REMOVE n", &[]),
    ("REMOVE a, tags", &[]),
    ("SET a = :a", &[":a"]),
    ("SET b = :n", &[":n"]),
    ("SET b = :a", &[":a"]),
    ("SET c = :c, d = :a", &[":c", ":a"]),
    ("SET a = d, d = a", &[]),
    ("SET l = list_append(if_not_exists(l, :empty), :list)", &[":empty", ":list"]),
    ("SET l[1] = :one, l[9] = :n", &[":one", ":n"]),
    ("REMOVE l[0], l[2]", &[]),
    ("SET doc.x = doc.x + :one, doc.z = :tags", &[":one", ":tags"]),
    ("REMOVE doc.y[0] SET b = :n", &[":n"]),
    ("SET t = :a REMOVE c ADD n :one", &[":a", ":one"]),
];

impl Workload {
    pub(super) fn put_item(&mut self) -> Value {
        let schema = self.schema();
        let item = self.item(&schema);
        let mut body = json!({"TableName": schema.name.as_str(), "Item": item});
        self.add_condition(&mut body, 25);
        self.add_return_values(&mut body, &["ALL_OLD", "NONE"]);
        body
    }

    pub(super) fn delete_item(&mut self) -> Value {
        let schema = self.schema();
        let mut body = json!({"TableName": schema.name.as_str(), "Key": self.key(&schema)});
        self.add_condition(&mut body, 25);
        self.add_return_values(&mut body, &["ALL_OLD", "NONE"]);
        body
    }

    pub(super) fn update_item(&mut self) -> Value {
        let schema = self.schema();
        let mut body = json!({"TableName": schema.name.as_str(), "Key": self.key(&schema)});
        self.add_update(&mut body);
        self.add_condition(&mut body, 25);
        let choices = ["ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW", "NONE"];
        self.add_return_values(&mut body, &choices);
        body
    }

    pub(super) fn batch_write_item(&mut self) -> Value {
        let mut tables = json!({});
        for schema in self.schemas.clone() {
            let request = |workload: &mut Self| {
                if workload.rng.chance(70) {
                    json!({"PutRequest": {"Item": workload.item(&schema)}})
                } else {
                    json!({"DeleteRequest": {"Key": workload.valid_key(&schema)}})
                }
            };
            let requests: Vec<Value> = (0..=self.rng.below(6)).map(|_| request(self)).collect();
            set(&mut tables, &schema.name, requests);
        }
        json!({"RequestItems": tables})
    }

    /// A transaction: new, or the last one again under its token, or its token with another.
    pub(super) fn transact_write_items(&mut self) -> Value {
        if let (Some(last), true) = (self.last_transaction.clone(), self.rng.chance(15)) {
            return last;
        }
        let actions: Vec<Value> = (0..=self.rng.below(4)).map(|_| self.action()).collect();
        let mut body = json!({"TransactItems": actions});
        if self.rng.chance(30) {
            self.tokens += u64::from(self.rng.chance(90));
            set(&mut body, "ClientRequestToken", format!("token-{}", self.tokens));
            self.last_transaction = Some(body.clone());
        }
        body
    }

    fn action(&mut self) -> Value {
        let schema = self.schema();
        let mut action = json!({"TableName": schema.name.as_str()});
        let kind = *self.rng.pick(&["Put", "Put", "Update", "Update", "Delete", "ConditionCheck"]);
        match kind {
            "Put" => set(&mut action, "Item", self.valid_item(&schema)),
            _ => set(&mut action, "Key", self.valid_key(&schema)),
        }
        if kind == "Update" {
            self.add_update(&mut action);
        }
        self.add_condition(&mut action, if kind == "ConditionCheck" { 100 } else { 20 });
        json!({kind: action})
    }

    fn add_update(&mut self, body: &mut Value) {
        let (expression, values) = *self.rng.pick(&UPDATES);
        set(body, "UpdateExpression", expression);
        self.add_values(body, values);
    }

    fn add_condition(&mut self, body: &mut Value, percent: usize) {
        if !self.rng.chance(percent) {
            return;
        }
        let (expression, values) = *self.rng.pick(&CONDITIONS);
        set(body, "ConditionExpression", expression);
        self.add_values(body, values);
        if self.rng.chance(50) {
            set(body, "ReturnValuesOnConditionCheckFailure", "ALL_OLD");
        }
    }

    fn add_return_values(&mut self, body: &mut Value, choices: &[&str]) {
        if self.rng.chance(60) {
            let choice = *self.rng.pick(choices);
            set(body, "ReturnValues", choice);
        }
    }

    /// Adds values that the body does not have yet.
    pub(super) fn add_values(&mut self, body: &mut Value, names: &[&str]) {
        let mut values = body.get("ExpressionAttributeValues").cloned().unwrap_or(json!({}));
        for name in names {
            if values.get(name).is_none() {
                let value = self.value(name);
                set(&mut values, name, value);
            }
        }
        if values.as_object().is_some_and(|values| !values.is_empty()) {
            set(body, "ExpressionAttributeValues", values);
        }
    }

    fn value(&mut self, name: &str) -> Value {
        match name {
            ":n" => self.payload("n"),
            ":big" => json!({"N": "1000"}),
            ":one" => json!({"N": "1"}),
            ":tag" => json!({"S": self.rng.pick(&["red", "a", ""])}),
            ":tags" => self.payload("tags"),
            ":len" => json!({"N": self.rng.pick(&["0", "10", "3000"])}),
            ":type" => json!({"S": "S"}),
            ":a" => self.scalar(keyloom_core::ScalarType::S),
            ":c" => self.scalar(keyloom_core::ScalarType::B),
            ":empty" => json!({"L": []}),
            ":list" => json!({"L": [{"S": "more"}, {"N": "2"}]}),
            other => unreachable!("no value is called {other}"),
        }
    }
}
