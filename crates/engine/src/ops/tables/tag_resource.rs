//! TagResource.

use keyloom_api::Fields;
use keyloom_api::tables::TagResourceInput;
use keyloom_core::error::table as message;
use keyloom_core::{Result, limits};

use crate::catalog::Alongside;
use crate::database::Inner;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let TagResourceInput { resource_arn, table_name, tags } = TagResourceInput::decode(&fields)?;
    let change = database.catalog.change(database.store.as_ref());
    let table = database.catalog.find(table_name);
    let table = table.ok_or_else(|| message::tagged_resource_not_found(resource_arn))?;
    let mut record = table.record.clone();
    record.tags.extend(tags);
    if record.tags.len() > limits::MAX_TAGS {
        return Err(message::too_many_tags());
    }
    change.put(record, || Ok(Alongside::default()))?;
    Ok(Vec::new())
}
