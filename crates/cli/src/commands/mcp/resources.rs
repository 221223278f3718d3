//! What an assistant can read: the language of designs, and what each rule means.

use serde_json::{Value, json};

use crate::rule_pages::{rule_ids, rule_page};

/// A link to docs/design-language.md, so that a package of this crate contains it.
const LANGUAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/design-language.md"));
const LANGUAGE_URI: &str = "keyloom://design-language";
const RULE_URI: &str = "keyloom://rule/";

pub(super) fn list() -> Vec<Value> {
    let language = json!({
        "uri": LANGUAGE_URI,
        "name": "design language",
        "description": "Every key, type, condition, verdict and proof of design files, with examples",
        "mimeType": "text/markdown",
    });
    let rules = rule_ids().map(|id| {
        json!({
            "uri": format!("{RULE_URI}{id}"),
            "name": format!("rule {id}"),
            "mimeType": "text/markdown",
        })
    });
    [language].into_iter().chain(rules).collect()
}

pub(super) fn read(uri: &str) -> Option<&'static str> {
    if uri == LANGUAGE_URI {
        return Some(LANGUAGE);
    }
    rule_page(uri.strip_prefix(RULE_URI)?)
}
