//! The operations that run PartiQL statements.

mod batch_execute_statement;
mod execute_statement;
mod execute_transaction;
mod statement;

pub use batch_execute_statement::{
    BatchExecuteStatementInput, BatchExecuteStatementOutput, StatementOutcome, Statements,
    statement_errors,
};
pub use execute_statement::{ExecuteStatementInput, ExecuteStatementOutput};
pub use execute_transaction::{ExecuteTransactionInput, ExecuteTransactionOutput};
pub use statement::StatementInput;
