//! Hand-written requests that the planner refuses: the engine must refuse them too, and says how.

use keyloom_core::{AttributeValue, Number, Operation};
use keyloom_design::condition::{Condition, Operand, Term};
use keyloom_design::evaluate::Inputs;
use keyloom_design::key::attribute_of;
use keyloom_design::model::{Access, KeyType, Table};
use serde_json::{Map, Value as Json, json};

use super::engine::{Engine, Refusal, wire_value};

/// Sends a pattern's hand-written request as it stands; the refusal, if the engine refuses it.
pub(crate) fn refusal_of(engine: &Engine, access: &Access, inputs: &Inputs) -> Option<Refusal> {
    let body = request_of(access, inputs)?;
    engine.call(Operation::Query, &body).err()
}

fn request_of(access: &Access, inputs: &Inputs) -> Option<Json> {
    let raw = access.raw.as_ref()?;
    let table = &access.find.first()?.table;
    let mut writer = Writer { access, table, inputs, names: Map::new(), values: Map::new() };
    let mut body = Map::new();
    body.insert("TableName".into(), json!(table.name));
    if let Some(index) = access.index.as_ref().filter(|index| index.value != "table") {
        body.insert("IndexName".into(), json!(index.value));
    }
    body.insert("KeyConditionExpression".into(), json!(writer.condition(&raw.key)));
    if let Some(filter) = &raw.filter {
        body.insert("FilterExpression".into(), json!(writer.condition(filter)));
    }
    body.insert("ExpressionAttributeNames".into(), Json::Object(writer.names));
    body.insert("ExpressionAttributeValues".into(), Json::Object(writer.values));
    Some(Json::Object(body))
}

struct Writer<'a> {
    access: &'a Access,
    table: &'a Table,
    inputs: &'a Inputs,
    names: Map<String, Json>,
    values: Map<String, Json>,
}

impl Writer<'_> {
    fn condition(&mut self, condition: &Condition) -> String {
        let terms: Vec<String> = condition.terms.iter().map(|term| self.term(term)).collect();
        terms.join(" AND ")
    }

    fn term(&mut self, term: &Term) -> String {
        let bare = term.name.trim_start_matches('#');
        let name = format!("#n{}", self.names.len());
        self.names.insert(name.clone(), json!(bare));
        term.test.expression(&name, |operand, _| self.value(bare, operand)).to_string()
    }

    fn value(&mut self, attribute: &str, operand: &Operand) -> String {
        let text = match operand {
            Operand::Input(Some(name)) => format!("{{{name}}}"),
            Operand::Input(None) => format!("{{{attribute}}}"),
            Operand::Text(text) | Operand::Number(text) => text.clone(),
            Operand::Boolean(flag) => flag.to_string(),
        };
        let text = filled(&text, self.inputs);
        let known = self.table.key_attributes();
        let kind = known.iter().find(|key| key.name == attribute).map(|key| key.kind);
        let field = self.access.find.iter().find_map(|entity| entity.field(attribute));
        let number =
            kind == Some(KeyType::N) || matches!(operand, Operand::Number(_)) && kind.is_none();
        let value = match (operand, text.parse::<Number>(), field.zip(self.inputs.get(attribute))) {
            (Operand::Boolean(flag), _, _) if kind.is_none() => AttributeValue::Bool(*flag),
            (Operand::Input(_), _, Some((field, value))) if kind.is_none() => {
                attribute_of(field, value)
            }
            (_, Ok(value), _) if number => AttributeValue::N(value),
            _ => AttributeValue::from(text),
        };
        let name = format!(":v{}", self.values.len());
        self.values.insert(name.clone(), wire_value(&value));
        name
    }
}

/// A text with its `{inputs}` filled in; an input without a value stands for itself.
fn filled(text: &str, inputs: &Inputs) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, tail) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        match inputs.get(name.split(':').next().unwrap_or(name)) {
            Some(value) => out.push_str(&value.to_string()),
            None => out.push_str(name),
        }
        rest = tail;
    }
    out + rest
}
