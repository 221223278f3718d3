//! PartiQL as a front end of the two executors.
//!
//! `keyloom_core::partiql` parses and checks statements. Here they are planned against a table: a read becomes
//! [`ReadPlan`](crate::read::ReadPlan)s over a few key ranges, or a full scan ([`select`]), whose pages the client
//! sees as one ([`page`], [`position`]); a write becomes a [`Write`](crate::write::Write) ([`write`]).

pub(crate) mod page;
pub(crate) mod position;
pub(crate) mod select;
pub(crate) mod write;

use keyloom_core::error::message::partiql as message;
use keyloom_core::partiql::ast;
use keyloom_core::partiql::{self, Statement, bind};
use keyloom_core::{AttributeValue, Result};

use crate::database::Inner;

/// Puts the parameters into a statement.
///
/// An index with a multi-attribute key is refused before anything else of the statement is checked.
pub(crate) fn bound(
    database: &Inner,
    statement: &ast::Statement,
    parameters: Vec<AttributeValue>,
) -> Result<Statement> {
    if let Some((table, Some(index))) = bind::target(statement) {
        let table = database.catalog.find(table);
        let key = table.as_ref().and_then(|table| Some(&table.index(index)?.schema.key));
        if key.is_some_and(|key| key.hash.len() > 1 || key.range.len() > 1) {
            return Err(message::multi_attribute_index());
        }
    }
    partiql::bind(statement, parameters)
}

/// Whether a statement reads; `EXISTS` counts as a write, since it is part of writing transactions.
pub(crate) fn is_read(statement: &ast::Statement) -> bool {
    matches!(statement, ast::Statement::Select(_))
}
