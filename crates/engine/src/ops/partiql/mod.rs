//! The PartiQL operations; `crate::partiql` plans and runs the statements.

pub(super) mod batch_execute_statement;
pub(super) mod execute_statement;
pub(super) mod execute_transaction;
