//! Tags, as CreateTable and TagResource take them.

use std::collections::BTreeMap;

use keyloom_core::error::request;
use keyloom_core::{Result, limits};

use crate::wire::{Constraints, Fields};

/// `Tags`.
pub(crate) fn decode(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
) -> Result<Option<BTreeMap<String, String>>> {
    let Some(list) = fields.structures("Tags")? else { return Ok(None) };
    let mut tags = BTreeMap::new();
    for (position, tag) in list.iter().enumerate() {
        let path = format!("tags.{}.member", position + 1);
        let (key, value) = (tag.string("Key")?, tag.string("Value")?);
        constraints.required(key.is_some(), &format!("{path}.key"));
        constraints.required(value.is_some(), &format!("{path}.value"));
        let (key, value) = (key.unwrap_or_default(), value.unwrap_or_default());
        constraints.length(key, &format!("{path}.key"), 1, limits::MAX_TAG_KEY_CHARS);
        constraints.length(value, &format!("{path}.value"), 0, limits::MAX_TAG_VALUE_CHARS);
        if tags.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(request::duplicate_tag(key));
        }
    }
    Ok(Some(tags))
}
