//! Request bodies as typed inputs, for who sees requests on their way to another database.

use keyloom_api::{Body, Operation};
use keyloom_core::Result;

use super::{
    BatchExecuteStatementInput, BatchGetItemInput, BatchWriteItemInput, DeleteItemInput,
    ExecuteStatementInput, ExecuteTransactionInput, GetItemInput, PutItemInput, QueryInput,
    ScanInput, SearchVectorsInput, TransactGetItemsInput, TransactWriteItemsInput, UpdateItemInput,
};

/// An input that a request body states.
///
/// ```
/// use keyloom_engine::{FromBody, GetItemInput};
///
/// let input = GetItemInput::from_body(br#"{"TableName":"orders","Key":{"id":{"S":"7"}}}"#)?;
/// assert_eq!(input.table_name, "orders");
/// # Ok::<(), keyloom_engine::Error>(())
/// ```
pub trait FromBody: Sized {
    /// Reads a body as the operation itself does; fails where the operation refuses it unseen by any
    /// table.
    fn from_body(body: &[u8]) -> Result<Self>;
}

macro_rules! from_body {
    ($($operation:ident: $input:ty),+ $(,)?) => {$(
        impl FromBody for $input {
            fn from_body(body: &[u8]) -> Result<Self> {
                Self::decode(&Body::parse(Operation::$operation, body)?.fields())
            }
        }
    )+};
}

from_body!(
    BatchExecuteStatement: BatchExecuteStatementInput,
    BatchGetItem: BatchGetItemInput,
    BatchWriteItem: BatchWriteItemInput,
    DeleteItem: DeleteItemInput,
    ExecuteStatement: ExecuteStatementInput,
    ExecuteTransaction: ExecuteTransactionInput,
    GetItem: GetItemInput,
    PutItem: PutItemInput,
    Query: QueryInput,
    Scan: ScanInput,
    TransactGetItems: TransactGetItemsInput,
    TransactWriteItems: TransactWriteItemsInput,
    UpdateItem: UpdateItemInput,
);

impl FromBody for SearchVectorsInput {
    fn from_body(body: &[u8]) -> Result<Self> {
        Self::decode(body)
    }
}
