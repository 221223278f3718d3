//! The outcome of writes: done, condition failed, throttled, or in conflict.

use std::sync::Arc;

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::{CancellationCode, CancellationReason, request};
use keyloom_core::image::Stored;
use keyloom_core::{Error, Item};
use keyloom_store::Bytes;

use super::OneOrMore;

/// What a write did.
#[derive(Debug)]
pub(crate) struct Written {
    /// The item before the write; none if it did not exist.
    pub(crate) old: Option<Stored>,
    /// The item after the write; none if it does not exist then.
    pub(crate) new: Option<Arc<Item>>,
    /// What it costs outside a transaction.
    pub(crate) cost: ConsumedCapacity,
}

/// Why a write was refused.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Its condition was false; the item as it is.
    Condition(Option<Item>),
    /// The edit cannot be applied to this item.
    Invalid(Error),
}

impl Refusal {
    /// The refusal as a single write reports it.
    pub(crate) fn into_error(self, return_item: bool) -> Error {
        match self {
            Self::Condition(item) => {
                Error::ConditionalCheckFailed { item: item.filter(|_| return_item) }
            }
            Self::Invalid(error) => error,
        }
    }

    fn into_reason(self, return_item: bool) -> CancellationReason {
        match self {
            Self::Condition(item) => CancellationReason {
                code: CancellationCode::ConditionalCheckFailed,
                message: Some(request::CONDITIONAL_REQUEST_FAILED.into()),
                item: item.filter(|_| return_item),
            },
            Self::Invalid(error) => reason_of(&error),
        }
    }
}

/// Why a set of writes failed as a whole. Each refusal comes with the position of its write.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Conditions were false, or edits could not be applied.
    Refused(OneOrMore<(usize, Refusal)>),
    /// There was no throughput left. The other writes of a batch may go on.
    Throttled(OneOrMore<(usize, Error)>),
    /// Another request holds some of the items; one entry per write.
    Conflict(Vec<bool>),
    /// The transaction was done before under its client token, whose record this is.
    Repeated(Bytes),
    /// The writes could not be tried, or their outcome is unknown.
    Error(Error),
}

impl Failure {
    /// The failure as one error: that of the first write that has one.
    pub(crate) fn into_error(self, return_item: bool) -> Error {
        match self {
            Self::Refused(refusals) => refusals.into_first().1.into_error(return_item),
            Self::Throttled(refusals) => refusals.into_first().1,
            Self::Conflict(_) => request::transaction_conflict(),
            Self::Repeated(_) => request::transaction_in_progress(),
            Self::Error(error) => error,
        }
    }

    /// The failure of a transaction, with a reason for each of its writes. `return_items` says which of them
    /// return their item if their condition was false.
    pub(crate) fn into_cancellation(self, return_items: &[bool]) -> Error {
        let mut reasons = vec![CancellationReason::default(); return_items.len()];
        let mut set = |position: usize, reason| {
            if let Some(place) = reasons.get_mut(position) {
                *place = reason;
            }
        };
        match self {
            Self::Error(error) => return error,
            Self::Repeated(_) => return request::transaction_in_progress(),
            Self::Refused(refusals) => {
                for (position, refusal) in refusals {
                    let return_item = return_items.get(position) == Some(&true);
                    set(position, refusal.into_reason(return_item));
                }
            }
            Self::Throttled(refusals) => {
                for (position, error) in refusals {
                    set(position, reason_of(&error));
                }
            }
            Self::Conflict(conflicts) => {
                let conflicts = conflicts.into_iter().enumerate().filter(|(_, conflict)| *conflict);
                for (position, _) in conflicts {
                    set(position, reason_of(&request::transaction_conflict()));
                }
            }
        }
        cancelled(reasons)
    }
}

/// A cancelled transaction. AWS stops validating its actions at the first that is invalid, so no other one has
/// that reason.
pub(crate) fn cancelled(mut reasons: Vec<CancellationReason>) -> Error {
    let invalid = reasons.iter_mut().filter(|it| it.code == CancellationCode::ValidationError);
    for reason in invalid.skip(1) {
        *reason = CancellationReason::default();
    }
    Error::TransactionCanceled(reasons)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// An error as the reason of a cancelled transaction.
pub(crate) fn reason_of(error: &Error) -> CancellationReason {
    CancellationReason {
        code: request::cancellation_code(error),
        message: Some(error.message()),
        item: None,
    }
}
