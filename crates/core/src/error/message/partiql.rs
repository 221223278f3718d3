//! Messages about PartiQL statements, verbatim where AWS's wording is known.
//!
//! Three forms recur: a statement that cannot be parsed has an envelope ([`malformed`]); many
//! others end with a position, `at line:column:length` ([`at`]); a literal that cannot be stored
//! ends with its path, `under root.a[1]`.

use std::fmt::Display;

use crate::error::Error;

/// A statement that cannot be parsed; `detail` is empty if it cannot be tokenized.
pub fn malformed(detail: impl Display) -> Error {
    Error::Validation(format!("Statement wasn't well formed, can't be processed: {detail}"))
}

/// A message with a position in the statement.
pub fn at(what: impl Display, place: impl Display) -> Error {
    Error::Validation(format!("{what} at {place}"))
}

/// A literal that cannot be stored; `path` is its path from `root`.
pub fn under(what: impl Display, path: impl Display) -> Error {
    Error::Validation(format!("{what} under {path}"))
}

fn plain(text: &str) -> Error {
    Error::validation(text)
}

/// Nesting beyond the parser's limit. AWS's wording is unknown.
pub const TOO_DEEP: &str = "Expression is nested too deeply";
/// Something other than an attribute in a projection or a path.
pub const UNEXPECTED_PATH: &str = "Unexpected path component";
/// Something other than a table name after `FROM`.
pub const UNEXPECTED_SOURCE: &str = "Unexpected from source";
/// More than a table name as the target of a write.
pub const WRITE_TARGET: &str =
    "FROM clause may only contain a single table name in data manipulation statements";
/// A literal of more than 32 levels, or an update that would create one.
pub const NESTING: &str = "Nesting Levels have exceeded supported limits";

/// Statement and request have different numbers of parameters.
pub fn parameter_count() -> Error {
    plain("Number of parameters in request and statement don't match.")
}

/// An alias for a table, an index or a column.
pub fn aliasing() -> Error {
    plain("Aliasing is not supported")
}

/// `""` as a table or index.
pub fn empty_path_component() -> Error {
    plain("Path component cannot be an empty string")
}

/// `"table"."index"."more"`.
pub fn source_too_long() -> Error {
    plain("A path may contain at most 2 components in the FROM clause")
}

/// A query that joins several tables.
pub fn several_sources() -> Error {
    plain("Only select from a single table or index is supported.")
}

/// A write to an index.
pub fn write_on_index() -> Error {
    plain("This operation is not supported on an index")
}

/// The index of a statement does not exist; unlike Query, AWS does not name it.
pub fn index_not_found() -> Error {
    plain("The table does not have the specified index")
}

/// A strongly consistent read of a global index, in PartiQL's wording.
pub fn consistent_read_on_global_index() -> Error {
    plain("Strongly consistent read is not supported on Global Secondary Indexes")
}

/// An index whose key has several attributes of one role. The message says "tables" but means the
/// index.
pub fn multi_attribute_index() -> Error {
    plain(
        "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or \
         multi-attribute RANGE keys.",
    )
}

/// `SELECT VALUE` and `PIVOT`.
pub fn select_value() -> Error {
    plain("Select projection doesn't support value or pivot keywords")
}

/// Two columns with the same name.
pub fn duplicate_column(name: &str) -> Error {
    Error::Validation(format!("Duplicate identifiers in select clause: {name}"))
}

/// `a.*`.
pub fn unpivot() -> Error {
    plain("Unpivot path component like a.*.b are not supported")
}

/// `a[*]`.
pub fn wildcard() -> Error {
    plain("Wildcard path component like a[*].b are not supported")
}

/// A clause of SQL that DynamoDB does not support.
pub fn unsupported_clause(clause: &str) -> Error {
    Error::Validation(format!("Unsupported clause: {clause}"))
}

/// A statement that is only an expression, or defines tables; AWS names the node of its syntax
/// tree.
pub fn unsupported_operation(node: &str) -> Error {
    Error::Validation(format!("Unsupported operation: {node}"))
}

/// A condition that is not boolean.
pub fn where_not_boolean() -> Error {
    plain("WHERE clause must contain an expression that resolves to a boolean")
}

/// An operand of `AND` or `OR` that is not boolean.
pub fn and_or_operand() -> Error {
    plain("The arguments to AND/OR must be Expressions")
}

/// An operand of `NOT` that is not boolean.
pub fn not_operand() -> Error {
    plain("The argument to NOT must be a Type or Expression")
}

/// `a = MISSING`.
pub fn missing_compared() -> Error {
    plain("MISSING must be compared using IS operator")
}

/// `IS` after an operand without a type.
pub fn is_operand() -> Error {
    plain("The left hand side argument to IS must be a Variable Reference, Literal, or Path")
}

/// `IS` in an assignment.
pub fn is_in_update() -> Error {
    plain("IS operator is not supported in update expressions")
}

/// `IN` without a list.
pub fn in_operand() -> Error {
    plain(
        "IN operator must have a left hand argument of type Variable Reference and right hand \
         argument of type Seq with at least one member",
    )
}

/// A type name after `IS` that no attribute can have.
pub fn is_type(name: &str) -> String {
    format!(
        "Unsupported data type for IS operator: {name}. Supported data types are [MISSING, NULL, \
         BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]"
    )
}

/// `<<>>`.
pub fn empty_bag() -> Error {
    plain("Empty bags are not supported")
}

/// A set literal with members other than strings, or other than numbers.
pub fn bag_member() -> Error {
    plain("Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags")
}

/// A number set literal with duplicates, in any spelling.
pub fn duplicate_numbers(members: &[&str]) -> String {
    format!(
        "One or more parameter values were invalid: Input collection [{}] contains duplicates!",
        members.join(", ")
    )
}

/// An item that is not written as `{…}`.
pub fn item_syntax() -> Error {
    plain(
        "Unsupported format in item expression. Please use struct format {...} to express item \
         values for insert statement.",
    )
}

/// `INSERT INTO t <<…>>`.
pub fn several_items() -> Error {
    plain(
        "Unsupported operation: Inserting multiple items in a single statement is not supported, \
         use \"INSERT INTO tableName VALUE item\" instead",
    )
}

/// `INSERT … VALUE … AT …`.
pub fn insert_at() -> Error {
    plain("AT is not supported in insert statements.")
}

/// `FROM … INSERT INTO …`.
pub fn insert_from() -> Error {
    plain("Unsupported FROM ... WHERE ... clause in INSERT statement.")
}

/// `UPDATE … INSERT INTO …`.
pub fn update_action() -> Error {
    plain("Only SET and REMOVE are supported in update expressions at this time")
}

/// `RETURNING` with `INSERT`.
pub fn insert_returning() -> Error {
    plain("RETURNING is not supported in INSERT")
}

/// `RETURNING` of a `DELETE` with anything but `ALL OLD *`.
pub fn delete_returning(variant: &str) -> Error {
    Error::Validation(format!(
        "Invalid returning clause: RETURNING {variant} *. Only RETURNING ALL OLD * is allowed in \
         DELETE statements."
    ))
}

/// Several elements of `RETURNING`.
pub fn returning_elements() -> Error {
    plain("Invalid syntax with multiple returning elements in RETURNING clause")
}

/// An element of `RETURNING` that is not `*`.
pub fn returning_column() -> Error {
    plain("Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
}

/// A write whose condition does not identify one item.
pub fn key_incomplete() -> Error {
    plain("Where clause does not contain a mandatory equality on all key attributes")
}

/// A write whose condition identifies two items.
pub fn key_repeated(name: &str) -> Error {
    Error::Validation(format!(
        "Multiple conditions on same key {name}. Only single item Update/Insert/Delete are \
         supported"
    ))
}

/// A path into a key attribute.
pub fn key_nested(name: &str) -> Error {
    Error::Validation(format!(
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: \
         Key {name}"
    ))
}

/// A key compared with a value of another type.
pub fn key_type(name: &str) -> Error {
    Error::Validation(format!(
        "Key attribute's data type should match its data type in table's schema: Key {name}"
    ))
}

/// A key compared with a value of a type that no key can have.
pub fn key_not_scalar(name: &str, kind: &str) -> Error {
    Error::Validation(format!(
        "Key value must be of type S, N, or B. Key name: {name}, Key type: {kind}"
    ))
}

/// Overlapping alternatives, which would read an item twice.
pub fn overlapping_ranges() -> Error {
    plain("Overlapping conditions with range keys are not supported in where clause")
}

/// More than fifty alternatives.
pub fn too_many_reads() -> Error {
    plain("Too many decomposed read operations for a given query.")
}

/// A keyed read of an index that filters by attributes that the index does not project.
pub fn filter_not_projected(index: &str, attributes: &[&str]) -> Error {
    Error::Validation(format!(
        "One or more parameter values were invalid: Secondary index {index} does not project one or \
         more filter attributes: [{}]",
        attributes.join(", ")
    ))
}

/// `ORDER BY` without `WHERE`.
pub fn order_without_where() -> Error {
    plain("Must have WHERE clause in the statement when using ORDER BY clause.")
}

/// `ORDER BY` an attribute that is not a key.
pub fn order_by_other(name: &str) -> Error {
    Error::Validation(format!(
        "Attribute {name} in ORDER BY clause must be part of the primary key"
    ))
}

/// `ORDER BY` in a read without given partitions.
pub fn order_without_hash() -> Error {
    plain(
        "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY \
         clause.",
    )
}

/// `ORDER BY` the sort key over several partitions.
pub fn order_over_partitions() -> Error {
    plain(
        "Must have hash key in ORDER BY clause when more than one hash key condition specified in \
         WHERE clause.",
    )
}

/// `ORDER BY` something that is not an attribute.
pub fn order_expression(node: &str) -> Error {
    Error::Validation(format!(
        "Argument to ORDER BY must be of type VariableReference. Type: {node}"
    ))
}

/// A token that was not issued for any statement.
pub fn next_token_invalid() -> Error {
    plain("Invalid NextToken")
}

/// A token of another statement, or with other parameters.
pub fn next_token_mismatch() -> Error {
    plain("NextToken does not match request")
}

/// `EXISTS` outside a transaction.
pub fn exists_outside_transaction() -> Error {
    plain("EXISTS can only be used in ExecuteTransaction write requests.")
}

/// `EXISTS` of anything but one item and a condition on it.
pub fn exists_condition() -> Error {
    plain("EXISTS() must contain a single item read with additional condition")
}

/// `EXISTS` of an index.
pub fn exists_on_index() -> Error {
    plain("Operations on indices are not supported in transactions")
}

/// An expression as a statement of a transaction.
pub fn transaction_operation() -> Error {
    plain("Unsupported operation in transaction.")
}

/// An `INSERT` of an item that exists.
pub fn duplicate_item() -> Error {
    Error::DuplicateItem("Duplicate primary key exists in table".into())
}

/// A read of a batch that does not identify one item.
pub fn batch_read_without_key() -> Error {
    plain(
        "Select statements within BatchExecuteStatement must specify the primary key in the where \
         clause.",
    )
}

/// Reads and writes in one batch.
pub fn batch_mixed() -> Error {
    plain("Read and write requests together in the same batch is not supported.")
}

/// A read of a transaction that does not identify one item.
pub fn transaction_read_without_key() -> Error {
    plain(
        "Select statements within ExecuteTransaction must specify the primary key in the where \
         clause.",
    )
}

/// A read of an index in a transaction.
pub fn transaction_read_on_index() -> Error {
    plain("Reads on indices are not supported within transactions.")
}

/// `RETURNING` in a transaction.
pub fn transaction_returning() -> Error {
    plain("RETURNING clause is not supported in ExecuteTransaction.")
}

/// Reads and writes in one transaction.
pub fn transaction_mixed() -> Error {
    plain(
        "ExecuteTransaction API does not support both read and write operations in the same request.",
    )
}

/// An error in one statement of a transaction.
pub fn in_transaction(position: usize, error: &Error) -> Error {
    Error::Validation(format!(
        "Validation failed in TransactStatements[{position}]: {}",
        error.message()
    ))
}
