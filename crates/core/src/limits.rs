//! DynamoDB's limits, each defined once.

/// The largest item, names and values together.
pub const MAX_ITEM_BYTES: usize = 409_600;
/// The longest partition key value.
pub const MAX_HASH_KEY_BYTES: usize = 2048;
/// The longest sort key value.
pub const MAX_RANGE_KEY_BYTES: usize = 1024;
/// Nesting depth of lists and maps: the value of a top-level attribute is level 1.
pub const MAX_NESTING: usize = 32;

/// The longest attribute name.
pub const MAX_ATTRIBUTE_NAME_BYTES: usize = 65_535;
/// The shortest name of a new table or index.
pub const MIN_TABLE_NAME_CHARS: usize = 3;
/// The longest name of a table or index.
pub const MAX_TABLE_NAME_CHARS: usize = 255;
/// The longest `TableName` parameter, which may be an ARN.
pub const MAX_TABLE_ARN_CHARS: usize = 1024;

/// The longest expression, before substitution.
pub const MAX_EXPRESSION_BYTES: usize = 4096;
/// Operators and functions in one expression.
pub const MAX_EXPRESSION_OPERATORS: usize = 300;
/// Operands of `IN`.
pub const MAX_IN_OPERANDS: usize = 100;
/// Key ranges that one PartiQL read is split into, as by `IN` on the partition key.
pub const MAX_PARTIQL_READS: usize = 50;
/// The longest `#name` or `:value` token.
pub const MAX_SUBSTITUTION_TOKEN_BYTES: usize = 255;

/// Keys in one BatchGetItem.
pub const MAX_BATCH_GET_KEYS: usize = 100;
/// Requests in one BatchWriteItem.
pub const MAX_BATCH_WRITE_REQUESTS: usize = 25;
/// The response of BatchGetItem and the request of BatchWriteItem.
pub const MAX_BATCH_BYTES: usize = 16 * 1024 * 1024;
/// Actions in one transaction.
pub const MAX_TRANSACTION_ACTIONS: usize = 100;
/// The item data that one write transaction may carry.
pub const MAX_TRANSACTION_BYTES: usize = 4 * 1024 * 1024;
/// Statements in one BatchExecuteStatement.
pub const MAX_BATCH_STATEMENTS: usize = 25;
/// The longest PartiQL statement.
pub const MAX_STATEMENT_CHARS: usize = 8192;
/// How long a client request token is honoured after its transaction.
pub const CLIENT_TOKEN_SECONDS: u64 = 10 * 60;
/// The longest client request token.
pub const MAX_CLIENT_TOKEN_CHARS: usize = 36;

/// How much data a Query or Scan page evaluates before it stops.
pub const MAX_PAGE_BYTES: usize = 1024 * 1024;
/// Segments of a parallel scan.
pub const MAX_SCAN_SEGMENTS: i64 = 1_000_000;
/// Table names in one ListTables page.
pub const MAX_LIST_TABLES: usize = 100;

/// Local secondary indexes of a table.
pub const MAX_LOCAL_INDEXES: usize = 5;
/// Global secondary indexes of a table.
pub const MAX_GLOBAL_INDEXES: usize = 20;
/// Attributes that one index may list in its projection.
pub const MAX_PROJECTED_ATTRIBUTES_PER_INDEX: usize = 20;
/// Attributes listed in projections, over all indexes of a table; repeats count.
pub const MAX_PROJECTED_ATTRIBUTES: usize = 100;
/// Partition key attributes of a global secondary index.
pub const MAX_HASH_ATTRIBUTES: usize = 4;
/// Sort key attributes of a global secondary index.
pub const MAX_RANGE_ATTRIBUTES: usize = 4;
/// An item collection of a table with local secondary indexes.
pub const MAX_ITEM_COLLECTION_BYTES: u64 = 10 * 1024 * 1024 * 1024;

/// Tags on a resource.
pub const MAX_TAGS: usize = 50;
/// The largest resource policy.
pub const MAX_RESOURCE_POLICY_BYTES: usize = 20 * 1024;
/// Tables of an account and region, unless AWS was asked for more.
pub const DEFAULT_TABLES: usize = 2500;
/// The most that AWS grants.
pub const MAX_TABLES: usize = 10_000;

/// Read or write units of one provisioned table.
pub const MAX_TABLE_UNITS: u64 = 40_000;
/// Read or write units of an account, provisioned.
pub const MAX_ACCOUNT_UNITS: u64 = 80_000;
/// Switches to on-demand billing in any 24 hours.
pub const MAX_BILLING_SWITCHES_PER_DAY: usize = 4;
/// The longest point-in-time recovery window.
pub const MAX_RECOVERY_DAYS: u32 = 35;

/// Vector indexes of a table.
pub const MAX_VECTOR_INDEXES: usize = 5;
/// Inline filters of a vector index.
pub const MAX_INLINE_FILTERS: usize = 18;
/// Dimensions of a vector index.
pub const MAX_VECTOR_DIMENSIONS: usize = 4096;
/// Results of one vector search.
pub const MAX_VECTOR_RESULTS: usize = 100;
/// The response of one vector search.
pub const MAX_VECTOR_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// Records in one GetRecords page.
pub const MAX_STREAM_RECORDS: usize = 1000;
/// The size of one GetRecords page.
pub const MAX_STREAM_PAGE_BYTES: usize = 1024 * 1024;
/// Streams or shards in one page of a listing.
pub const MAX_STREAM_LIST: usize = 100;
/// Lifetime of a shard iterator.
pub const SHARD_ITERATOR_SECONDS: u64 = 15 * 60;
/// Retention of stream records.
pub const STREAM_RETENTION_SECONDS: u64 = 24 * 60 * 60;
