//! The operations that run PartiQL statements; `crate::partiql` has what becomes of a statement.

pub(super) mod batch_execute_statement;
pub(super) mod execute_statement;
pub(super) mod execute_transaction;
