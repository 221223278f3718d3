//! Inputs as request bodies, and request bodies as inputs.

use keyloom_core::Result;

use crate::batches::{BatchGetItemInput, BatchWriteItemInput};
use crate::items::{DeleteItemInput, GetItemInput, PutItemInput, UpdateItemInput};
use crate::partiql::{BatchExecuteStatementInput, ExecuteStatementInput, ExecuteTransactionInput};
use crate::queries::{QueryInput, ScanInput, SearchVectorsInput};
use crate::transactions::{TransactGetItemsInput, TransactWriteItemsInput};
use crate::{Body, JsonWriter, Malformed, Operation};

/// An input that can be sent.
pub trait Request {
    /// The operation that it is a request for.
    const OPERATION: Operation;

    /// What the operation answers.
    type Output;

    /// Decodes the body of a successful reply; the capacity that was consumed is not among what is decoded.
    fn decode_reply(body: &[u8]) -> Result<Self::Output, Malformed>;

    /// Writes the members of the request.
    fn write_members(&self, json: &mut JsonWriter);

    /// The body of the request.
    fn body(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        self.write_members(&mut json);
        json.finish()
    }

    /// The body of the request, asking for the capacity that the table and each index consume.
    fn body_with_account(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        self.write_members(&mut json);
        json.string("ReturnConsumedCapacity", "INDEXES");
        json.finish()
    }
}

/// An input that can be read from a request body.
///
/// ```
/// use keyloom_api::FromBody;
/// use keyloom_api::items::GetItemInput;
///
/// let input = GetItemInput::from_body(br#"{"TableName":"orders","Key":{"id":{"S":"7"}}}"#)?;
/// assert_eq!(input.table_name, "orders");
/// # Ok::<(), keyloom_core::Error>(())
/// ```
pub trait FromBody: Sized {
    /// Decodes a body as the operation itself does, and fails where the operation refuses it without looking
    /// at any table.
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
