//! ListTagsOfResource.

use keyloom_api::tables::ListTagsOfResourceInput;
use keyloom_api::{Fields, JsonWriter};
use keyloom_core::Result;
use keyloom_core::error::table as message;

use crate::database::Inner;
use crate::ops::paging;

/// Tags in one page.
const PAGE: usize = 10;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ListTagsOfResourceInput::decode(&fields)?;
    let after = paging::decode_token(input.next_token)?;
    let table = database.catalog.find(input.table_name).ok_or_else(|| {
        message::not_authorized(&database.options.account, "ListTagsOfResource", input.resource_arn)
    })?;
    let (page, more) =
        paging::page(table.record.tags.iter(), PAGE, |(key, _)| Some(*key) > after.as_ref());
    let mut json = JsonWriter::object();
    json.list("Tags", &page, |json, (key, value)| {
        json.nested(|json| {
            json.string("Key", key);
            json.string("Value", value);
        });
    });
    if let Some((last, _)) = page.last().filter(|_| more) {
        json.string("NextToken", &paging::token(last));
    }
    Ok(json.finish())
}
