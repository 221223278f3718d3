//! The operations of DynamoDB and DynamoDB Streams, and what a caller must know of each before it runs.

/// The service that an operation belongs to; its name is the first part of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Tables and items.
    DynamoDb,
    /// Change records.
    Streams,
}

impl Service {
    /// The prefix of the service's targets, up to and with the point.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::DynamoDb => "DynamoDB_20120810.",
            Self::Streams => "DynamoDBStreams_20120810.",
        }
    }
}

/// The class of work an operation is, which decides on which thread it may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reads a few items: microseconds once the pages are in memory.
    Read,
    /// Writes one item. It waits for the log when the database is durable, but can do so without a thread.
    Write,
    /// Changes a table or a setting, and waits for the log on its thread.
    Change,
    /// May touch megabytes or many items: milliseconds.
    Bulk,
}

macro_rules! operations {
    ($($name:ident: $service:ident, $work:ident;)+) => {
        /// An operation of the API. The order is that of the names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each is documented by the API under its name")]
        pub enum Operation {
            $($name,)+
        }

        impl Operation {
            /// Every operation, sorted by name.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The operation of this name, whatever its service.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($name) => Some(Self::$name),)+
                    _ => None,
                }
            }

            /// The name without its service: `PutItem`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// The service that the operation belongs to.
            pub const fn service(self) -> Service {
                match self {
                    $(Self::$name => Service::$service,)+
                }
            }

            /// The class of work it is.
            pub const fn work(self) -> Work {
                match self {
                    $(Self::$name => Work::$work,)+
                }
            }
        }
    };
}

operations! {
    BatchExecuteStatement: DynamoDb, Bulk;
    BatchGetItem: DynamoDb, Bulk;
    BatchWriteItem: DynamoDb, Bulk;
    CancelBulkOperation: DynamoDb, Change;
    CreateBackup: DynamoDb, Bulk;
    CreateGlobalTable: DynamoDb, Change;
    CreateTable: DynamoDb, Change;
    DeleteBackup: DynamoDb, Bulk;
    DeleteItem: DynamoDb, Write;
    DeleteResourcePolicy: DynamoDb, Change;
    DeleteTable: DynamoDb, Bulk;
    DescribeBackup: DynamoDb, Read;
    DescribeBulkOperation: DynamoDb, Read;
    DescribeContinuousBackups: DynamoDb, Read;
    DescribeContributorInsights: DynamoDb, Read;
    DescribeEndpoints: DynamoDb, Read;
    DescribeExport: DynamoDb, Read;
    DescribeGlobalTable: DynamoDb, Read;
    DescribeGlobalTableSettings: DynamoDb, Read;
    DescribeImport: DynamoDb, Read;
    DescribeKinesisStreamingDestination: DynamoDb, Read;
    DescribeLimits: DynamoDb, Read;
    DescribeStream: Streams, Read;
    DescribeTable: DynamoDb, Read;
    DescribeTableReplicaAutoScaling: DynamoDb, Read;
    DescribeTimeToLive: DynamoDb, Read;
    DisableKinesisStreamingDestination: DynamoDb, Change;
    EnableKinesisStreamingDestination: DynamoDb, Change;
    ExecuteStatement: DynamoDb, Bulk;
    ExecuteTransaction: DynamoDb, Bulk;
    ExportTableToPointInTime: DynamoDb, Bulk;
    GetItem: DynamoDb, Read;
    GetRecords: Streams, Bulk;
    GetResourcePolicy: DynamoDb, Read;
    GetShardIterator: Streams, Read;
    ImportTable: DynamoDb, Bulk;
    ListBackups: DynamoDb, Read;
    ListBulkOperations: DynamoDb, Read;
    ListContributorInsights: DynamoDb, Read;
    ListExports: DynamoDb, Read;
    ListGlobalTables: DynamoDb, Read;
    ListImports: DynamoDb, Read;
    ListStreams: Streams, Read;
    ListTables: DynamoDb, Read;
    ListTagsOfResource: DynamoDb, Read;
    PutItem: DynamoDb, Write;
    PutResourcePolicy: DynamoDb, Change;
    Query: DynamoDb, Read;
    RestoreTableFromBackup: DynamoDb, Bulk;
    RestoreTableToPointInTime: DynamoDb, Bulk;
    Scan: DynamoDb, Bulk;
    SearchVectors: DynamoDb, Bulk;
    StartBulkPutItems: DynamoDb, Bulk;
    TagResource: DynamoDb, Change;
    TransactGetItems: DynamoDb, Bulk;
    TransactWriteItems: DynamoDb, Bulk;
    UntagResource: DynamoDb, Change;
    UpdateContinuousBackups: DynamoDb, Change;
    UpdateContributorInsights: DynamoDb, Change;
    UpdateGlobalTable: DynamoDb, Change;
    UpdateGlobalTableSettings: DynamoDb, Change;
    UpdateItem: DynamoDb, Write;
    UpdateKinesisStreamingDestination: DynamoDb, Change;
    UpdateTable: DynamoDb, Bulk;
    UpdateTableReplicaAutoScaling: DynamoDb, Change;
    UpdateTimeToLive: DynamoDb, Change;
}

impl Operation {
    /// The operation that a target such as `DynamoDB_20120810.GetItem` names.
    ///
    /// ```
    /// use keyloom_core::Operation;
    ///
    /// assert_eq!(Operation::from_target("DynamoDB_20120810.GetItem"), Some(Operation::GetItem));
    /// assert_eq!(Operation::from_target("DynamoDBStreams_20120810.GetItem"), None);
    /// ```
    pub fn from_target(target: &str) -> Option<Self> {
        let of = |service: Service| {
            let name = target.strip_prefix(service.prefix())?;
            Self::from_name(name).filter(|operation| operation.service() == service)
        };
        of(Service::DynamoDb).or_else(|| of(Service::Streams))
    }

    /// The header that asks for it: `DynamoDB_20120810.PutItem`.
    pub fn target(self) -> String {
        format!("{}{}", self.service().prefix(), self.name())
    }

    /// Whether it reads items: by their keys, in a range, or all.
    pub const fn reads_items(self) -> bool {
        matches!(
            self,
            Self::GetItem
                | Self::BatchGetItem
                | Self::TransactGetItems
                | Self::Query
                | Self::Scan
                | Self::SearchVectors
        )
    }

    /// Whether it writes items, each named by its key.
    pub const fn writes_items(self) -> bool {
        matches!(
            self,
            Self::PutItem
                | Self::UpdateItem
                | Self::DeleteItem
                | Self::BatchWriteItem
                | Self::TransactWriteItems
        )
    }

    /// The member of the request that is an item and is decoded while the body is parsed.
    pub const fn item_member(self) -> Option<&'static str> {
        match self {
            Self::PutItem => Some("Item"),
            Self::GetItem | Self::UpdateItem | Self::DeleteItem => Some("Key"),
            _ => None,
        }
    }

    /// Whether the reply shows item counts of a table that existed before, and so has to wait until they are
    /// counted.
    pub const fn shows_counts(self) -> bool {
        matches!(
            self,
            Self::CreateBackup | Self::DeleteTable | Self::DescribeTable | Self::UpdateTable
        )
    }

    /// The largest reply in bytes of JSON. The worst values are nine times their size there: a list of
    /// empty strings.
    pub const fn largest_answer_bytes(self) -> usize {
        const WORST: usize = 9;
        const MB: usize = 1_000_000;
        match self {
            Self::BatchGetItem => 16 * MB * WORST,
            Self::BatchExecuteStatement => 10 * MB * WORST,
            Self::TransactGetItems | Self::ExecuteTransaction => 4 * MB * WORST,
            Self::Query
            | Self::Scan
            | Self::ExecuteStatement
            | Self::GetRecords
            | Self::SearchVectors => MB * WORST,
            // One item, or what a batch left undone, which is smaller than the batch.
            _ => 400_000 * WORST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found_by_its_target() {
        assert!(Operation::ALL.windows(2).all(|pair| pair[0].name() < pair[1].name()));
        for &operation in Operation::ALL {
            assert_eq!(Operation::from_target(&operation.target()), Some(operation));
            assert_eq!(Operation::ALL.get(operation as usize), Some(&operation));
        }
    }

    #[test]
    fn a_target_needs_the_service_of_its_operation() {
        for target in [
            "",
            "GetItem",
            "DynamoDB_20120810",
            "DynamoDB_20120810.",
            "X.GetItem",
            "DynamoDBStreams_20120810.GetItem",
            "DynamoDB_20120810.GetRecords",
        ] {
            assert_eq!(Operation::from_target(target), None, "{target}");
        }
        let target = "DynamoDBStreams_20120810.GetRecords";
        assert_eq!(Operation::from_target(target), Some(Operation::GetRecords));
    }
}
