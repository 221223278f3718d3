//! PartiQL's keywords. As names they must be in double quotes.

/// Keywords that are operators.
pub(super) const OPERATORS: [&str; 9] =
    ["and", "between", "except", "in", "intersect", "is", "like", "not", "or"];

/// Pairs of words that form one token.
pub(super) const PAIRS: [(&str, &str, &str); 12] = [
    ("not", "in", "not_in"),
    ("not", "between", "not_between"),
    ("not", "like", "not_like"),
    ("is", "not", "is_not"),
    ("character", "varying", "character_varying"),
    ("double", "precision", "double_precision"),
    ("insert", "into", "insert_into"),
    ("modified", "old", "modified_old"),
    ("modified", "new", "modified_new"),
    ("all", "old", "all_old"),
    ("all", "new", "all_new"),
    ("union", "all", "union_all"),
];

/// All other keywords, sorted.
#[rustfmt::skip]
static RESERVED: [&str; 239] = [
    "absolute", "action", "add", "all", "allocate", "alter", "any", "are", "as", "asc", "assertion",
    "at", "authorization", "avg", "bag", "begin", "bigint", "bit", "bit_length", "blob", "bool",
    "boolean", "by", "can_cast", "can_lossless_cast", "cascade", "cascaded", "case", "cast",
    "catalog", "char", "char_length", "character", "character_length", "check", "clob", "close",
    "coalesce", "collate", "collation", "column", "commit", "conflict", "connect", "connection",
    "constraint", "constraints", "continue", "convert", "corresponding", "count", "create", "cross",
    "current", "current_date", "current_time", "current_timestamp", "current_user", "cursor",
    "date", "date_add", "date_diff", "deallocate", "dec", "decimal", "declare", "default",
    "deferrable", "deferred", "delete", "desc", "describe", "descriptor", "diagnostics",
    "disconnect", "distinct", "do", "domain", "double", "drop", "else", "end", "escape",
    "exception", "exec", "execute", "exists", "external", "extract", "fetch", "first", "float",
    "for", "foreign", "found", "from", "full", "get", "global", "go", "goto", "grant", "group",
    "having", "identity", "immediate", "index", "indicator", "initially", "inner", "input",
    "insensitive", "insert", "int", "int2", "int4", "int8", "integer", "integer2", "integer4",
    "integer8", "interval", "into", "isolation", "join", "key", "language", "last", "left", "let",
    "level", "limit", "list", "local", "lower", "match", "max", "min", "modified", "module",
    "names", "national", "natural", "nchar", "new", "next", "no", "nothing", "nullif", "numeric",
    "octet_length", "of", "offset", "old", "on", "only", "open", "option", "order", "outer",
    "output", "overlaps", "pad", "partial", "pivot", "position", "precision", "prepare", "preserve",
    "primary", "prior", "privileges", "procedure", "public", "read", "real", "references",
    "relative", "remove", "restrict", "returning", "revoke", "right", "rollback", "rows", "schema",
    "scroll", "section", "select", "session", "session_user", "set", "sexp", "size", "smallint",
    "some", "space", "sql", "sqlcode", "sqlerror", "sqlstate", "string", "struct", "substring",
    "sum", "symbol", "system_user", "table", "temporary", "then", "time", "timestamp", "to",
    "transaction", "translate", "translation", "trim", "tuple", "union", "unique", "unknown",
    "unpivot", "update", "upper", "usage", "user", "using", "value", "values", "varchar", "varying",
    "view", "when", "whenever", "where", "with", "work", "write", "zone",
];

/// The keyword for `word` (in lower case), if it is one.
pub(super) fn keyword(word: &str) -> Option<&'static str> {
    let position = RESERVED.binary_search(&word).ok()?;
    RESERVED.get(position).copied()
}

/// Keywords that may precede `(` as the name of a function.
pub(super) const FUNCTIONS: [&str; 15] = [
    "exists",
    "count",
    "avg",
    "max",
    "min",
    "sum",
    "char_length",
    "character_length",
    "octet_length",
    "bit_length",
    "upper",
    "lower",
    "size",
    "list",
    "bag",
];

/// The type named by a keyword after `IS`, in the spelling of messages.
pub(super) fn type_name(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "missing" => "MISSING",
        "null" => "NULL",
        "bool" | "boolean" => "BOOLEAN",
        "smallint" | "int2" | "integer2" => "SMALLINT",
        "int4" | "integer4" => "INTEGER4",
        "int8" | "integer8" | "bigint" => "INTEGER8",
        "int" | "integer" => "INTEGER",
        "float" => "FLOAT",
        "real" => "REAL",
        "double_precision" => "DOUBLE_PRECISION",
        "dec" | "decimal" => "DECIMAL",
        "numeric" => "NUMERIC",
        "timestamp" => "TIMESTAMP",
        "date" => "DATE",
        "time" => "TIME",
        "char" | "character" => "CHARACTER",
        "varchar" | "character_varying" => "CHARACTER_VARYING",
        "string" => "STRING",
        "symbol" => "SYMBOL",
        "clob" => "CLOB",
        "blob" => "BLOB",
        "struct" => "STRUCT",
        "tuple" => "TUPLE",
        "list" => "LIST",
        "sexp" => "SEXP",
        "bag" => "BAG",
        "any" => "ANY",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_recognised() {
        assert_eq!(keyword("key"), Some("key"));
        assert_eq!(keyword("year"), None);
        assert_eq!(keyword(""), None);
        assert!(RESERVED.is_sorted_by(|a, b| a < b));
    }
}
