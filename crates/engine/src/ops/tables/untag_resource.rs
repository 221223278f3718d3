//! UntagResource.

use keyloom_api::Fields;
use keyloom_api::tables::UntagResourceInput;
use keyloom_core::Result;
use keyloom_core::error::request;

use crate::catalog::Alongside;
use crate::database::Inner;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let UntagResourceInput { table_name, tag_keys } = UntagResourceInput::decode(&fields)?;
    let change = database.catalog.change(database.store.as_ref());
    let table = database.catalog.find(table_name).ok_or_else(request::resource_not_found)?;
    let mut record = table.record.clone();
    record.tags.retain(|key, _| !tag_keys.iter().any(|removed| removed == key));
    change.put(record, || Ok(Alongside::default()))?;
    Ok(Vec::new())
}
