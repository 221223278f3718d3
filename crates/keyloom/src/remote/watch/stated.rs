//! Requests that are stated as JSON.
//!
//! Their bodies go out as they are, so the answer says what they cost only if the caller asked; otherwise the sizes of
//! the items tell what it was at least. They are read as the engine reads them, and told as if the client had made them.

use keyloom_api::FromBody;
use keyloom_api::batches::{BatchGetItemInput, BatchWriteItemInput};
use keyloom_api::items::{DeleteItemInput, GetItemInput, PutItemInput, UpdateItemInput};
use keyloom_api::queries::{QueryInput, ScanInput};
use keyloom_api::transactions::{TransactGetItemsInput, TransactWriteItemsInput};

use super::account::accounts;
use super::exchange::Exchange;
use super::look::Look;
use crate::retry::Failure;

/// The operation with statements that have nothing to do with each other.
pub(super) const STATEMENTS: &str = "BatchExecuteStatement";

/// Tells of a request by its body and its answer; none if it is not understood.
pub(super) type Teller<'a> = fn(&Look<'a>, &[u8], &Result<Vec<u8>, Failure>) -> Option<()>;

/// Who tells of an operation, if it is one that touches keys.
pub(super) fn teller<'a>(operation: &str) -> Option<Teller<'a>> {
    Some(match operation {
        "GetItem" => Look::stated::<GetItemInput>,
        "PutItem" => Look::stated::<PutItemInput>,
        "UpdateItem" => Look::stated::<UpdateItemInput>,
        "DeleteItem" => Look::stated::<DeleteItemInput>,
        "Query" => Look::stated::<QueryInput>,
        "Scan" => Look::stated::<ScanInput>,
        "BatchGetItem" => Look::stated::<BatchGetItemInput>,
        "BatchWriteItem" => Look::stated::<BatchWriteItemInput>,
        "TransactGetItems" => Look::stated::<TransactGetItemsInput>,
        "TransactWriteItems" => Look::stated::<TransactWriteItemsInput>,
        "ExecuteStatement" => Look::statement,
        STATEMENTS => Look::statements,
        "ExecuteTransaction" => Look::transaction,
        "SearchVectors" => Look::search,
        _ => return None,
    })
}

impl Look<'_> {
    /// Tells of a request as of one that the client made itself.
    fn stated<R: Exchange + FromBody>(
        &self,
        body: &[u8],
        sent: &Result<Vec<u8>, Failure>,
    ) -> Option<()> {
        let input = R::from_body(body).ok()?;
        let look = self.of(R::KIND);
        match sent {
            Ok(body) => {
                let answer = R::read(body).map(|answer| (answer, accounts(body)));
                look.told(&input, answer.as_ref().map(|(answer, paid)| (answer, paid.as_slice())));
            }
            Err(failure) => look.told(&input, Err(failure)),
        }
        Some(())
    }
}
