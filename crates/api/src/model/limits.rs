//! The limits of the model's scalars, under the names that the model gives them.
//!
//! The values of an enumeration stand in the order in which AWS's messages list them, where it is known.

use keyloom_core::schema::model::{NAME_PATTERN, has_only_name_characters};

use super::Limit::{Bytes, Chars, Matching, NameOrArn, OneOf, Range};
use super::Shape::{Integer, Limited, Long, Text};
use super::{Pattern, Shape};

/// Declares limited scalars: `Name: Kind, Limit;`.
macro_rules! limits {
    ($($name:ident: $kind:ident, $limit:expr;)+) => {
        $(
            #[expect(non_upper_case_globals, reason = "it has the name that the model gives it")]
            pub(super) const $name: Shape = Limited(&$kind, $limit);
        )+
    };
}

limits! {
    ApproximateCreationDateTimePrecision: Text, OneOf(&["MILLISECOND", "MICROSECOND"]);
    AttributeName: Text, Bytes(0, 65535);
    AutoScalingPolicyName: Text, Matching(&PRINTABLE, 1, 256);
    AutoScalingRoleArn: Text, Matching(&UNICODE, 1, 1600);
    BackupArn: Text, Chars(37, 1024);
    BackupName: Text, Matching(&NAME, 3, 255);
    BackupTypeFilter: Text, OneOf(&["USER", "SYSTEM", "AWS_BACKUP", "ALL"]);
    BackupsInputLimit: Integer, Range(1, 100);
    BillingMode: Text, OneOf(&["PROVISIONED", "PAY_PER_REQUEST"]);
    BulkOperationArn: Text, Chars(37, 1024);
    BulkOperationInputFormat: Text, OneOf(&["DYNAMODB_JSON", "ION"]);
    BulkOperationMaxWriteRequestUnits: Long, Range(1024, i64::MAX);
    BulkOperationNextToken: Text, Matching(&HEX_BLOCKS, 1, 1024);
    BulkOperationPerformanceTier: Text, OneOf(&["STANDARD", "ACCELERATED"]);
    ClientToken: Text, Matching(&NO_DOLLAR, 0, usize::MAX);
    ContributorInsightsAction: Text, OneOf(&["ENABLE", "DISABLE"]);
    ContributorInsightsMode: Text, OneOf(&["ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"]);
    CsvDelimiter: Text, Matching(&DELIMITER, 1, 1);
    CsvHeader: Text, Matching(&CSV_NAME, 1, 65536);
    DisassociationMode: Text, OneOf(&["WAIT_FOR_REPLICATION"]);
    ExportArn: Text, Chars(37, 1024);
    ExportFormat: Text, OneOf(&["DYNAMODB_JSON", "ION"]);
    ExportType: Text, OneOf(&["FULL_EXPORT", "INCREMENTAL_EXPORT"]);
    ExportViewType: Text, OneOf(&["NEW_IMAGE", "NEW_AND_OLD_IMAGES"]);
    GlobalTableSettingsReplicationMode:
        Text, OneOf(&["ENABLED", "DISABLED", "ENABLED_WITH_OVERRIDES"]);
    ImportArn: Text, Chars(37, 1024);
    ImportNextToken: Text, Matching(&HEX_BLOCKS, 112, 1024);
    IndexName: Text, Matching(&NAME, 3, 255);
    InputCompressionType: Text, OneOf(&["GZIP", "ZSTD", "NONE"]);
    InputFormat: Text, OneOf(&["DYNAMODB_JSON", "ION", "CSV"]);
    KeySchemaAttributeName: Text, Bytes(1, 255);
    KeyType: Text, OneOf(&["HASH", "RANGE"]);
    ListBulkOperationsMaxLimit: Integer, Range(1, 25);
    ListContributorInsightsLimit: Integer, Range(1, 100);
    ListExportsMaxLimit: Integer, Range(1, 25);
    ListImportsMaxLimit: Integer, Range(1, 25);
    ListTablesInputLimit: Integer, Range(1, 100);
    MultiRegionConsistency: Text, OneOf(&["EVENTUAL", "STRONG"]);
    NonKeyAttributeName: Text, Bytes(1, 255);
    OutputTypeEnum: Text, OneOf(&["ERROR", "CONDITION_CHECK_FAILURE"]);
    PolicyRevisionId: Text, Chars(1, 255);
    PositiveIntegerObject: Integer, Range(1, i64::MAX);
    PositiveLongObject: Long, Range(1, i64::MAX);
    ProjectionType: Text, OneOf(&["ALL", "INCLUDE", "KEYS_ONLY"]);
    RecoveryPeriodInDays: Integer, Range(1, 35);
    ResourceArnString: Text, Chars(1, 1283);
    S3Bucket: Text, Matching(&BUCKET, 0, 255);
    S3BucketOwner: Text, Matching(&ACCOUNT, 0, usize::MAX);
    S3Prefix: Text, Chars(0, 1024);
    S3SseAlgorithm: Text, OneOf(&["AES256", "KMS"]);
    S3SseKmsKeyId: Text, Chars(1, 2048);
    SSEType: Text, OneOf(&["AES256", "KMS"]);
    ScalarAttributeType: Text, OneOf(&["B", "N", "S"]);
    SearchSchemaElementType: Text, OneOf(&["HASH", "INLINE_FILTER"]);
    StreamArn: Text, Chars(37, 1024);
    StreamViewType: Text, OneOf(&["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"]);
    TableArn: Text, NameOrArn;
    TableClass: Text, OneOf(&["STANDARD", "STANDARD_INFREQUENT_ACCESS"]);
    TableName: Text, Matching(&NAME, 3, 255);
    TagKeyString: Text, Chars(1, 128);
    TagValueString: Text, Chars(0, 256);
    TimeToLiveAttributeName: Text, Bytes(1, 255);
    VectorAttributeName: Text, Bytes(1, 255);
    VectorDistanceFunction: Text, OneOf(&["COSINE", "DOT_PRODUCT", "EUCLIDEAN"]);
}

static NAME: Pattern = Pattern { text: NAME_PATTERN, matches: has_only_name_characters };
static PRINTABLE: Pattern =
    Pattern { text: r"\p{Print}+", matches: |text| text.bytes().all(|b| matches!(b, b' '..=b'~')) };
static UNICODE: Pattern = Pattern {
    text: r"[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*",
    matches: |text| {
        let is_allowed = |c: char| !matches!(c, '\u{fffe}' | '\u{ffff}') && c >= ' ';
        text.chars().all(|c| is_allowed(c) || "\r\n\t".contains(c))
    },
};
static HEX_BLOCKS: Pattern = Pattern {
    text: "([0-9a-f]{16})+",
    matches: |text| {
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        !text.is_empty() && text.len().is_multiple_of(16) && text.bytes().all(is_digit)
    },
};
static NO_DOLLAR: Pattern =
    Pattern { text: r"^[^\$]+$", matches: |text| !text.is_empty() && !text.contains('$') };
static DELIMITER: Pattern =
    Pattern { text: r"[,;:|\t ]", matches: |text| text.len() == 1 && ",;:|\t ".contains(text) };
static CSV_NAME: Pattern = Pattern {
    text: r"[\x20-\x21\x23-\x2B\x2D-\x7E]*",
    matches: |text| text.bytes().all(|b| matches!(b, b' '..=b'~') && !b"\",".contains(&b)),
};
static BUCKET: Pattern = Pattern {
    text: r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$",
    matches: |text| {
        let is_outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let is_inner = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let mut chars = text.chars();
        is_outer(chars.next()) && is_outer(chars.next_back()) && chars.all(is_inner)
    },
};
static ACCOUNT: Pattern = Pattern {
    text: "[0-9]{12}",
    matches: |text| text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit()),
};
