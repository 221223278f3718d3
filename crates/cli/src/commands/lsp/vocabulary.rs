//! The words of the design language, from its JSON Schema: keys with their descriptions, listed values, field types.

use std::sync::LazyLock;

use keyloom_design::SCHEMA;
use serde_json::{Map, Value};

use super::outline::Section;

static WORDS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(SCHEMA).unwrap_or(Value::Null));

/// Where the schema describes the settings of an entity.
pub(super) const ENTITY: &str = "/properties/entity/additionalProperties";
/// Those of a field, written as a table.
pub(super) const FIELD: &str =
    "/properties/entity/additionalProperties/properties/fields/additionalProperties/oneOf/1";
/// Those of a key that is written as a table.
pub(super) const KEY: &str = "/properties/entity/additionalProperties/additionalProperties/oneOf/1";

/// Where the schema describes what may stand under a header.
pub(super) fn place(section: &Section) -> Option<String> {
    let names = section.names();
    Some(match names.as_slice() {
        [] => String::new(),
        ["design"] => "/properties/design".to_owned(),
        ["allow"] => "/properties/allow/items".to_owned(),
        ["table", _, "index", _] => {
            "/properties/table/additionalProperties/properties/index/additionalProperties"
                .to_owned()
        }
        ["entity", _, "fields", _] => FIELD.to_owned(),
        [kind @ ("table" | "entity" | "access" | "write" | "unique" | "relationship"), _] => {
            format!("/properties/{kind}/additionalProperties")
        }
        _ => return None,
    })
}

/// The keys at a place of the schema.
pub(super) fn properties(place: &str) -> Option<&'static Map<String, Value>> {
    WORDS.pointer(&format!("{place}/properties"))?.as_object()
}

/// One key at a place of the schema.
pub(super) fn property(place: &str, key: &str) -> Option<&'static Value> {
    properties(place)?.get(key)
}

/// What the schema says about something.
pub(super) fn description(property: &Value) -> Option<&str> {
    property.get("description")?.as_str()
}

/// The values that the schema lists for a key.
pub(super) fn listed(property: &Value) -> Vec<&str> {
    let own = property.get("enum").and_then(Value::as_array);
    let choices = property.get("oneOf").and_then(Value::as_array);
    let inner = choices.into_iter().flatten().filter_map(|choice| choice.get("enum")?.as_array());
    own.into_iter().chain(inner).flatten().filter_map(Value::as_str).collect()
}

/// Whether a value of this key is true or false.
pub(super) fn is_boolean(property: &Value) -> bool {
    property.get("type").and_then(Value::as_str) == Some("boolean")
}

/// The types of fields, as the schema lists them.
pub(super) fn types() -> Vec<&'static str> {
    let words = property(FIELD, "type").and_then(description).unwrap_or_default();
    words.split(';').next().unwrap_or_default().split(", ").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_what_is_asked_of_it() {
        assert!(property(ENTITY, "count").is_some());
        assert!(property(KEY, "when").is_some());
        assert!(types().contains(&"datetime:ms"), "{:?}", types());
        let billing = property("/properties/table/additionalProperties", "billing");
        assert_eq!(billing.map(listed), Some(vec!["on-demand", "provisioned"]));
        assert_eq!(properties("").map(Map::len), Some(8));
    }
}
