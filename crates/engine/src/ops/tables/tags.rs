//! TagResource, UntagResource and ListTagsOfResource.

use std::sync::Arc;

use keyloom_api::Fields;
use keyloom_api::tables::{
    ListTagsOfResourceInput, ListTagsOfResourceOutput, TagResourceInput, UntagResourceInput,
};
use keyloom_core::error::{request, table as message};
use keyloom_core::{Result, limits};

use crate::catalog::{Alongside, Table, TableLocation};
use crate::database::Inner;
use crate::ops::paging;

/// Tags in one page.
const PAGE: usize = 10;

pub(crate) fn tag(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let TagResourceInput { resource_arn, tags } = TagResourceInput::decode(&fields)?;
    let change = database.change()?;
    let table = find(database, "TagResource", resource_arn)?;
    let table = table.ok_or_else(|| message::tagged_resource_not_found(resource_arn))?;
    let mut record = table.record.clone();
    record.tags.extend(tags);
    if record.tags.len() > limits::MAX_TAGS {
        return Err(message::too_many_tags());
    }
    change.put(record, Alongside::default())?;
    Ok(Vec::new())
}

pub(crate) fn untag(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let UntagResourceInput { resource_arn, tag_keys } = UntagResourceInput::decode(&fields)?;
    let change = database.change()?;
    let table = find(database, "UntagResource", resource_arn)?;
    let table = table.ok_or_else(request::resource_not_found)?;
    let mut record = table.record.clone();
    record.tags.retain(|key, _| !tag_keys.iter().any(|removed| removed == key));
    change.put(record, Alongside::default())?;
    Ok(Vec::new())
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ListTagsOfResourceInput::decode(&fields)?;
    let after = paging::decode_token(input.next_token)?;
    let (operation, arn) = ("ListTagsOfResource", input.resource_arn);
    let table = find(database, operation, arn)?
        .ok_or_else(|| message::not_authorized(&database.options.account, operation, arn))?;
    let tags = table.record.tags.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let (tags, more) = paging::page(tags, PAGE, |(key, _)| Some(*key) > after.as_deref());
    let next_token = tags.last().filter(|_| more).map(|(last, _)| paging::token(last));
    Ok(ListTagsOfResourceOutput { tags, next_token }.encode())
}

/// The table of an ARN, which must be of this region and account.
fn find(database: &Inner, operation: &str, arn: &str) -> Result<Option<Arc<Table>>> {
    match database.catalog.locate(arn) {
        TableLocation::Here(name) => Ok(database.catalog.find(name)),
        TableLocation::OtherRegion => Err(message::resource_arn_invalid(arn)),
        TableLocation::OtherAccount => {
            Err(message::not_authorized(&database.options.account, operation, arn))
        }
    }
}
