//! Putting expressions together: every name and value gets a placeholder, so no reserved word and no odd character
//! matters.

use keyloom_core::{AttributeValue, Item, Str};
use keyloom_engine::ConditionInput;

type Names = Vec<(Str, Str)>;
type Values = Vec<(Str, AttributeValue)>;

/// Names and values of one request's expressions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placeholders {
    names: Names,
    values: Values,
}

impl Placeholders {
    /// The placeholder of an attribute name.
    pub(crate) fn name(&mut self, attribute: &str) -> String {
        if let Some((known, _)) = self.names.iter().find(|(_, name)| name == attribute) {
            return known.to_string();
        }
        let short = format!("#n{}", self.names.len());
        self.names.push((short.as_str().into(), attribute.into()));
        short
    }

    /// The placeholder of a dotted path: each part is a name, list positions stay as they are.
    pub(crate) fn path(&mut self, path: &str) -> String {
        let parts = path.split('.').map(|part| match part.split_once('[') {
            Some((name, position)) => format!("{}[{position}", self.name(name)),
            None => self.name(part),
        });
        parts.collect::<Vec<_>>().join(".")
    }

    /// The placeholder of a value.
    pub(crate) fn value(&mut self, value: AttributeValue) -> String {
        let short = format!(":v{}", self.values.len());
        self.values.push((short.as_str().into(), value));
        short
    }

    pub(crate) fn into_parts(self) -> (Option<Names>, Option<Values>) {
        let names = (!self.names.is_empty()).then_some(self.names);
        let values = (!self.values.is_empty()).then_some(self.values);
        (names, values)
    }

    /// A condition over these placeholders.
    pub(crate) fn condition(self, expression: Option<String>) -> ConditionInput {
        let (names, values) = self.into_parts();
        ConditionInput { expression, names, values, ..ConditionInput::default() }
    }
}

/// `attribute_not_exists` or `attribute_exists` of one attribute.
pub(crate) fn presence(attribute: &str, present: bool) -> ConditionInput {
    let mut placeholders = Placeholders::default();
    let name = placeholders.name(attribute);
    let function = if present { "attribute_exists" } else { "attribute_not_exists" };
    placeholders.condition(Some(format!("{function}({name})")))
}

/// The condition that every attribute is as it was read.
pub(crate) fn unchanged(item: &Item) -> ConditionInput {
    let mut placeholders = Placeholders::default();
    let tests: Vec<String> = item
        .iter()
        .map(|(name, value)| {
            format!("{} = {}", placeholders.name(name), placeholders.value(value.clone()))
        })
        .collect();
    placeholders.condition(Some(tests.join(" AND ")))
}

/// The condition that one attribute is as it was read.
pub(crate) fn attribute_is(attribute: &str, value: Option<&AttributeValue>) -> ConditionInput {
    let Some(value) = value else { return presence(attribute, false) };
    let mut placeholders = Placeholders::default();
    let test = format!("{} = {}", placeholders.name(attribute), placeholders.value(value.clone()));
    placeholders.condition(Some(test))
}
