//! The operation by which a request is counted and scheduled: of DynamoDB, of CloudWatch, between
//! servers, or unknown.

use keyloom_api::{Operation as Api, Work};
use keyloom_engine::REPLICATION_TARGET;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// One of DynamoDB or DynamoDB Streams.
    Api(Api),
    /// One of CloudWatch.
    CloudWatch,
    /// A message of the server of another region.
    Replication,
    /// A target that names no operation.
    Unknown,
}

/// The number of slots that a table with one entry per operation needs.
pub(crate) const SLOTS: usize = Api::ALL.len() + 3;

impl Operation {
    /// The operation that a target such as `DynamoDB_20120810.GetItem` names.
    pub(crate) fn of_target(target: &str) -> Self {
        if target.starts_with(REPLICATION_TARGET) {
            return Self::Replication;
        }
        Api::from_target(target).map_or(Self::Unknown, Self::Api)
    }

    /// Every operation, in the order of their slots.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Api::ALL.iter().copied().map(Self::Api).chain([
            Self::CloudWatch,
            Self::Replication,
            Self::Unknown,
        ])
    }

    /// The slot in a table with one entry per operation, below [`SLOTS`].
    pub(crate) fn slot(self) -> usize {
        match self {
            Self::Api(operation) => operation as usize,
            Self::CloudWatch => SLOTS - 3,
            Self::Replication => SLOTS - 2,
            Self::Unknown => SLOTS - 1,
        }
    }

    /// The label in the metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Api(operation) => operation.name(),
            Self::CloudWatch => "CloudWatch",
            Self::Replication => "Replication",
            Self::Unknown => "Unknown",
        }
    }

    /// The class of work. An unknown operation is refused at once, which costs nothing.
    pub(crate) fn work(self) -> Work {
        match self {
            Self::Api(operation) => operation.work(),
            Self::Replication => Work::Bulk,
            Self::CloudWatch | Self::Unknown => Work::Read,
        }
    }

    /// The largest reply in bytes; a refusal is smaller than any item.
    pub(crate) fn largest_answer_bytes(self) -> usize {
        let operation = if let Self::Api(operation) = self { operation } else { Api::GetItem };
        operation.largest_answer_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_the_order_of_all() {
        assert!(Operation::all().enumerate().all(|(slot, operation)| operation.slot() == slot));
        assert_eq!(Operation::all().count(), SLOTS);
    }

    /// They were missing from a second table of operations: counted as unknown, and run on the reactor.
    #[test]
    fn bulk_operations_are_known_and_leave_the_reactor() {
        let operation = Operation::of_target("DynamoDB_20120810.StartBulkPutItems");
        assert_eq!((operation.name(), operation.work()), ("StartBulkPutItems", Work::Bulk));
    }
}
