//! UntagResource.

use keyloom_api::{Constraints, Fields};
use keyloom_core::Result;
use keyloom_core::error::{request, table as message};

use crate::catalog::Alongside;
use crate::database::Inner;

use super::tags;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let keys = fields.strings("TagKeys");
    let (_, name) = tags::resource(&fields)?;
    let mut constraints = Constraints::new();
    constraints.required(keys.is_some(), "tagKeys");
    constraints.finish()?;
    let keys = keys.filter(|keys| !keys.is_empty()).ok_or_else(message::no_tag_keys)?;

    let change = database.catalog.change(database.store.as_ref());
    let table = database.catalog.find(name).ok_or_else(request::resource_not_found)?;
    let mut record = table.record.clone();
    record.tags.retain(|key, _| !keys.iter().any(|removed| removed == key));
    change.put(record, || Ok(Alongside::default()))?;
    Ok(Vec::new())
}
