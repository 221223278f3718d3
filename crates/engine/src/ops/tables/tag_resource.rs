//! TagResource.

use keyloom_api::{Constraints, Fields};
use keyloom_core::error::table as message;
use keyloom_core::{Result, limits};

use crate::catalog::Alongside;
use crate::database::Inner;

use super::tags;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let added = tags::decode(&fields, &mut constraints)?;
    let (arn, name) = tags::resource(&fields)?;
    constraints.required(added.is_some(), "tags");
    constraints.finish()?;
    let added = added.filter(|tags| !tags.is_empty()).ok_or_else(message::no_tags)?;

    let change = database.catalog.change(database.store.as_ref());
    let table = database.catalog.find(name);
    let table = table.ok_or_else(|| message::tagged_resource_not_found(arn))?;
    let mut record = table.record.clone();
    record.tags.extend(added);
    if record.tags.len() > limits::MAX_TAGS {
        return Err(message::too_many_tags(limits::MAX_TAGS));
    }
    change.put(record, || Ok(Alongside::default()))?;
    Ok(Vec::new())
}
