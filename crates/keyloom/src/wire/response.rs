//! Response bodies as outputs.

use keyloom_api::batches::WriteRequest;
use keyloom_api::error::statement_error;
use keyloom_core::json::{self, Json, JsonObject};
use keyloom_core::{Error, Item};

use crate::backend::{Keyed, RawPage};
use crate::retry::Failure;

type Answer<T> = Result<T, Failure>;

/// An answer that is not what the protocol promises: cut off, or from something else.
fn damaged(what: &str) -> Failure {
    Failure::NoAnswer(format!("the answer is not DynamoDB's: {what}"))
}

fn document(body: &[u8]) -> Answer<Json<'_>> {
    json::parse(body).map_err(|_| damaged("it is not JSON"))
}

fn object<'j, 'a>(json: &'j Json<'a>) -> Answer<&'j JsonObject<'a>> {
    match json {
        Json::Object(object) => Ok(object),
        _ => Err(damaged("an object was expected")),
    }
}

fn list<'j, 'a>(json: &'j Json<'a>) -> Answer<&'j [Json<'a>]> {
    match json {
        Json::Array(list) => Ok(list),
        _ => Err(damaged("a list was expected")),
    }
}

fn item(json: &Json<'_>) -> Answer<Item> {
    json::item_from(json).map_err(|error: Error| damaged(&error.message()))
}

/// The member that holds an item, if it is there.
fn member(body: &[u8], name: &str) -> Answer<Option<Item>> {
    object(&document(body)?)?.get(name).map(item).transpose()
}

/// `Item` of GetItem.
pub(crate) fn one_item(body: &[u8]) -> Answer<Option<Item>> {
    member(body, "Item")
}

/// `Attributes` of a write.
pub(crate) fn attributes(body: &[u8]) -> Answer<Option<Item>> {
    member(body, "Attributes")
}

/// A page of Query or Scan.
pub(crate) fn page(body: &[u8]) -> Answer<RawPage> {
    let document = document(body)?;
    let object = object(&document)?;
    let items = match object.get("Items") {
        Some(items) => list(items)?.iter().map(item).collect::<Answer<Vec<Item>>>()?,
        None => Vec::new(),
    };
    let stated = |name: &str| match object.get(name) {
        // No page has more entries than that.
        Some(Json::Number(number)) => u32::try_from(number.as_i64()?).ok(),
        _ => None,
    };
    let number = |name: &str| stated(name).map_or(items.len(), |count| count as usize);
    let (count, scanned_count) = (number("Count"), number("ScannedCount"));
    let last_key = object.get("LastEvaluatedKey").map(item).transpose()?;
    Ok(RawPage { items, count, scanned_count, last_key })
}

/// `Responses` of TransactGetItems and of statements, in the order of the request.
pub(crate) fn items_in_order(body: &[u8]) -> Answer<Vec<Option<Item>>> {
    let document = document(body)?;
    let Some(responses) = object(&document)?.get("Responses") else { return Ok(Vec::new()) };
    let one = |response: &Json<'_>| object(response)?.get("Item").map(item).transpose();
    list(responses)?.iter().map(one).collect()
}

/// Why statements of a BatchExecuteStatement failed, in the order of the request; none for those that did not.
pub(crate) fn statement_errors(body: &[u8]) -> Vec<Option<Error>> {
    let Ok(Json::Object(answer)) = json::parse(body) else { return Vec::new() };
    let Some(Json::Array(responses)) = answer.get("Responses") else { return Vec::new() };
    let error = |response: &Json<'_>| match response {
        Json::Object(response) => match response.get("Error") {
            Some(Json::Object(error)) => Some(statement_error(error)),
            _ => None,
        },
        _ => None,
    };
    responses.iter().map(error).collect()
}

/// `Responses` and `UnprocessedKeys` of BatchGetItem.
pub(crate) fn found_and_left(body: &[u8]) -> Answer<(Keyed<Item>, Keyed<Item>)> {
    let document = document(body)?;
    let whole = object(&document)?;
    let mut found = Vec::new();
    if let Some(tables) = whole.get("Responses") {
        for (table, items) in object(tables)?.iter() {
            for row in list(items)? {
                found.push((table.to_owned(), item(row)?));
            }
        }
    }
    let mut left = Vec::new();
    if let Some(tables) = whole.get("UnprocessedKeys") {
        for (table, keys) in object(tables)?.iter() {
            for key in object(keys)?.get("Keys").map(list).transpose()?.unwrap_or_default() {
                left.push((table.to_owned(), item(key)?));
            }
        }
    }
    Ok((found, left))
}

/// `UnprocessedItems` of BatchWriteItem.
pub(crate) fn left_writes(body: &[u8]) -> Answer<Keyed<WriteRequest>> {
    let document = document(body)?;
    let mut left = Vec::new();
    let Some(tables) = object(&document)?.get("UnprocessedItems") else { return Ok(left) };
    for (table, requests) in object(tables)?.iter() {
        for request in list(requests)? {
            let request = object(request)?;
            let write = if let Some(put) = request.get("PutRequest") {
                let new = object(put)?.get("Item").ok_or_else(|| damaged("a put without item"))?;
                WriteRequest::Put(item(new)?)
            } else if let Some(delete) = request.get("DeleteRequest") {
                let key =
                    object(delete)?.get("Key").ok_or_else(|| damaged("a delete without key"))?;
                WriteRequest::Delete(item(key)?)
            } else {
                return Err(damaged("a write that is neither put nor delete"));
            };
            left.push((table.to_owned(), write));
        }
    }
    Ok(left)
}
