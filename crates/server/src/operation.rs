//! The operations by name: what a call costs the server, and its label in the metrics.

/// What kind of work an operation is, for the choice of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Reads a little: microseconds once the pages are in memory.
    Read,
    /// Writes one item. It waits for the log when the database is durable, but on no thread.
    Write,
    /// Changes a table or a setting, and waits for the log on its thread.
    Change,
    /// May touch megabytes or many items: milliseconds.
    Bulk,
}

/// An operation, as a place in [`TABLE`]; behind it are a place for those of CloudWatch and one for
/// unknown ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation(u8);

/// The number of places, CloudWatch and unknown included.
pub(crate) const PLACES: usize = TABLE.len() + 2;

impl Operation {
    /// What is asked of CloudWatch.
    pub(crate) const CLOUDWATCH: Self = Self(TABLE.len() as u8);
    /// What no operation is called.
    pub(crate) const UNKNOWN: Self = Self(TABLE.len() as u8 + 1);

    /// The operation a target such as `DynamoDB_20120810.GetItem` names.
    pub(crate) fn of_target(target: &str) -> Self {
        let name = target
            .strip_prefix("DynamoDB_20120810.")
            .or_else(|| target.strip_prefix("DynamoDBStreams_20120810."));
        name.and_then(|name| TABLE.binary_search_by(|(other, _)| (*other).cmp(name)).ok())
            .map_or(Self::UNKNOWN, |place| Self(place as u8))
    }

    /// Every operation, unknown last.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..PLACES).map(|place| Self(place as u8))
    }

    /// The place, below [`PLACES`].
    pub(crate) fn place(self) -> usize {
        usize::from(self.0)
    }

    /// The name without its API.
    pub(crate) fn name(self) -> &'static str {
        match TABLE.get(self.place()) {
            Some((name, _)) => name,
            None if self == Self::CLOUDWATCH => "CloudWatch",
            None => "Unknown",
        }
    }

    /// What it costs. An unknown one is refused at once, which costs nothing.
    pub(crate) fn work(self) -> Work {
        TABLE.get(self.place()).map_or(Work::Read, |(_, work)| *work)
    }
}

impl Operation {
    /// How large an answer can get, in JSON. The worst values are nine times their size there: a list of
    /// empty strings.
    pub(crate) fn largest_answer_bytes(self) -> usize {
        const WORST: usize = 9;
        const MB: usize = 1_000_000;
        match self.name() {
            "BatchGetItem" => 16 * MB * WORST,
            "BatchExecuteStatement" => 10 * MB * WORST,
            "TransactGetItems" | "ExecuteTransaction" => 4 * MB * WORST,
            "Query" | "Scan" | "ExecuteStatement" | "GetRecords" | "SearchVectors" => MB * WORST,
            // An item, and what a batch has not done, which is smaller than the batch.
            _ => 400_000 * WORST,
        }
    }
}

/// Every operation of DynamoDB and DynamoDB Streams, sorted by name.
#[rustfmt::skip]
const TABLE: [(&str, Work); 62] = [
    ("BatchExecuteStatement", Work::Bulk),
    ("BatchGetItem", Work::Bulk),
    ("BatchWriteItem", Work::Bulk),
    ("CreateBackup", Work::Bulk),
    ("CreateGlobalTable", Work::Change),
    ("CreateTable", Work::Change),
    ("DeleteBackup", Work::Bulk),
    ("DeleteItem", Work::Write),
    ("DeleteResourcePolicy", Work::Change),
    ("DeleteTable", Work::Bulk),
    ("DescribeBackup", Work::Read),
    ("DescribeContinuousBackups", Work::Read),
    ("DescribeContributorInsights", Work::Read),
    ("DescribeEndpoints", Work::Read),
    ("DescribeExport", Work::Read),
    ("DescribeGlobalTable", Work::Read),
    ("DescribeGlobalTableSettings", Work::Read),
    ("DescribeImport", Work::Read),
    ("DescribeKinesisStreamingDestination", Work::Read),
    ("DescribeLimits", Work::Read),
    ("DescribeStream", Work::Read),
    ("DescribeTable", Work::Read),
    ("DescribeTableReplicaAutoScaling", Work::Read),
    ("DescribeTimeToLive", Work::Read),
    ("DisableKinesisStreamingDestination", Work::Change),
    ("EnableKinesisStreamingDestination", Work::Change),
    ("ExecuteStatement", Work::Bulk),
    ("ExecuteTransaction", Work::Bulk),
    ("ExportTableToPointInTime", Work::Bulk),
    ("GetItem", Work::Read),
    ("GetRecords", Work::Bulk),
    ("GetResourcePolicy", Work::Read),
    ("GetShardIterator", Work::Read),
    ("ImportTable", Work::Bulk),
    ("ListBackups", Work::Read),
    ("ListContributorInsights", Work::Read),
    ("ListExports", Work::Read),
    ("ListGlobalTables", Work::Read),
    ("ListImports", Work::Read),
    ("ListStreams", Work::Read),
    ("ListTables", Work::Read),
    ("ListTagsOfResource", Work::Read),
    ("PutItem", Work::Write),
    ("PutResourcePolicy", Work::Change),
    ("Query", Work::Read),
    ("RestoreTableFromBackup", Work::Bulk),
    ("RestoreTableToPointInTime", Work::Bulk),
    ("Scan", Work::Bulk),
    ("SearchVectors", Work::Bulk),
    ("TagResource", Work::Change),
    ("TransactGetItems", Work::Bulk),
    ("TransactWriteItems", Work::Bulk),
    ("UntagResource", Work::Change),
    ("UpdateContinuousBackups", Work::Change),
    ("UpdateContributorInsights", Work::Change),
    ("UpdateGlobalTable", Work::Change),
    ("UpdateGlobalTableSettings", Work::Change),
    ("UpdateItem", Work::Write),
    ("UpdateKinesisStreamingDestination", Work::Change),
    ("UpdateTable", Work::Bulk),
    ("UpdateTableReplicaAutoScaling", Work::Change),
    ("UpdateTimeToLive", Work::Change),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_every_name_is_found() {
        assert!(TABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for operation in Operation::all().take(TABLE.len()) {
            let target = format!("DynamoDB_20120810.{}", operation.name());
            assert_eq!(Operation::of_target(&target), operation);
        }
    }

    #[test]
    fn a_target_without_a_known_api_or_name_is_unknown() {
        for target in ["", "GetItem", "DynamoDB_20120810", "DynamoDB_20120810.", "X.GetItem"] {
            assert_eq!(Operation::of_target(target), Operation::UNKNOWN, "{target}");
        }
        assert_eq!(Operation::UNKNOWN.name(), "Unknown");
        assert_eq!(
            Operation::of_target("DynamoDBStreams_20120810.GetRecords").name(),
            "GetRecords"
        );
    }
}
