//! Which operations a console that only reads may send.

use keyloom_core::json::{self, Json};
use keyloom_core::partiql::{self, ast, bind};

/// Whether an operation changes nothing, by its name; a PartiQL statement is read for that.
pub(super) fn is_read(operation: &str, body: &[u8]) -> bool {
    const READS: [&str; 9] = [
        "Get",
        "BatchGet",
        "TransactGet",
        "Query",
        "Scan",
        "SearchVectors",
        "Describe",
        "List",
        // What names no operation is refused anyway.
        "Unknown",
    ];
    match operation {
        "ExecuteStatement" | "BatchExecuteStatement" | "ExecuteTransaction" => {
            json::parse(body).is_ok_and(|body| are_selects(&body))
        }
        _ => READS.iter().any(|prefix| operation.starts_with(prefix)),
    }
}

/// Whether every statement only selects.
fn are_selects(body: &Json<'_>) -> bool {
    let Json::Object(members) = body else { return false };
    if let Some(Json::Str(text)) = members.get("Statement") {
        return partiql::parse(text).is_ok_and(|tree| match &tree {
            ast::Statement::Select(_) => true,
            tree => bind::is_exists(tree),
        });
    }
    let several = members.get("Statements").or_else(|| members.get("TransactStatements"));
    matches!(several, Some(Json::Array(statements)) if statements.iter().all(are_selects))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_told_from_writes() {
        let statement = |text: &str| format!("{{\"Statement\":\"{text}\"}}");
        for (operation, body, expected) in [
            ("GetItem", String::new(), true),
            ("Query", String::new(), true),
            ("TransactGetItems", String::new(), true),
            ("DescribeTable", String::new(), true),
            ("PutItem", String::new(), false),
            ("BatchWriteItem", String::new(), false),
            ("TransactWriteItems", String::new(), false),
            ("DeleteTable", String::new(), false),
            ("UpdateTimeToLive", String::new(), false),
            ("ExecuteStatement", statement("SELECT * FROM t"), true),
            ("ExecuteStatement", statement("DELETE FROM t WHERE a=1"), false),
            ("ExecuteStatement", "not JSON".to_owned(), false),
            (
                "BatchExecuteStatement",
                format!(
                    "{{\"Statements\":[{},{}]}}",
                    statement("SELECT * FROM t"),
                    statement("INSERT INTO t VALUE {'a':1}")
                ),
                false,
            ),
        ] {
            assert_eq!(is_read(operation, body.as_bytes()), expected, "{operation} {body}");
        }
    }
}
