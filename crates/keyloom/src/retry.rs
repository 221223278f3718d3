//! Retries: exponential backoff with full jitter, limited in number and time, and only for errors that may be
//! transient.

use std::cell::Cell;
use std::time::Duration;

use keyloom_core::Error as Refusal;
use keyloom_core::error::CancellationCode;

use crate::error::{Error, Result, TransportError};

/// How often and when a failed request is tried again.
///
/// The wait before attempt *n* is random between zero and `base × 2ⁿ`, at most `cap`: full jitter, so that clients that
/// failed together do not come back together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The most attempts, the first included.
    pub max_attempts: u32,
    /// The longest first wait.
    pub base: Duration,
    /// The longest wait.
    pub cap: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max_attempts: 5, base: Duration::from_millis(50), cap: Duration::from_secs(5) }
    }
}

impl Retry {
    /// Never tries again.
    pub const fn never() -> Self {
        Self { max_attempts: 1, base: Duration::ZERO, cap: Duration::ZERO }
    }

    /// The wait after this many failed attempts; `random` chooses within the jitter.
    fn wait(&self, failed: u32, random: u64) -> Duration {
        let factor = 1u32.checked_shl(failed.saturating_sub(1)).unwrap_or(u32::MAX);
        let most = self.base.saturating_mul(factor).min(self.cap);
        let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(if nanos == 0 { 0 } else { random % nanos })
    }

    /// Waits after this many failed attempts.
    pub(crate) fn pause(&self, failed: u32) {
        // A system without randomness still waits, all clients alike.
        let random = getrandom::u64().unwrap_or(u64::from(failed) << 32);
        std::thread::sleep(self.wait(failed, random));
    }

    /// Runs attempts until one succeeds, cannot succeed, or was the last.
    pub(crate) fn run<T>(
        &self,
        operation: &'static str,
        repeatable: bool,
        attempt: impl FnMut(Attempt) -> Result<T, AttemptError>,
    ) -> Result<T> {
        self.run_attempts(false, operation, repeatable, attempt)
    }

    /// The same for an idempotent request that sends again what an earlier one was refused: it is a retry from its first
    /// attempt.
    pub(crate) fn run_after<T>(
        &self,
        was_refused: bool,
        operation: &'static str,
        attempt: impl FnMut(Attempt) -> Result<T, AttemptError>,
    ) -> Result<T> {
        self.run_attempts(was_refused, operation, true, attempt)
    }

    fn run_attempts<T>(
        &self,
        was_refused: bool,
        operation: &'static str,
        repeatable: bool,
        mut attempt: impl FnMut(Attempt) -> Result<T, AttemptError>,
    ) -> Result<T> {
        // Requests of a thread may be nested: the flag of the outer one is restored.
        let around = REPEATED.get();
        let mut so_far = Attempt { number: 1, after_unknown: false };
        let ended = loop {
            REPEATED.set(was_refused || so_far.number > 1);
            let failure = match attempt(so_far) {
                Ok(done) => break Ok(done),
                Err(failure) => failure,
            };
            so_far.after_unknown |= failure.outcome_unknown();
            let again = failure.may_succeed_later() && (repeatable || !failure.outcome_unknown());
            if !again || so_far.number >= self.max_attempts.max(1) {
                break Err(failure.into_error(operation, so_far));
            }
            self.pause(so_far.number);
            so_far.number += 1;
        };
        REPEATED.set(around);
        ended
    }
}

thread_local! {
    /// Whether the current request of this thread is a retry. Not an argument, because only the observer of an endpoint
    /// asks for it, many calls below.
    static REPEATED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the current request of this thread is a retry.
#[cfg(feature = "remote")]
pub(crate) fn is_repeated() -> bool {
    REPEATED.get()
}

/// Which attempt this is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) number: u32,
    /// Whether an earlier attempt may have been carried out although no answer came.
    pub(crate) after_unknown: bool,
}

/// Why one attempt failed.
#[derive(Debug)]
#[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "nothing is sent"))]
pub(crate) enum AttemptError {
    /// The database answered with an error.
    Refused(Refusal),
    /// The request was not sent.
    NotSent(String),
    /// The request was sent, and no response arrived.
    NoAnswer(String),
    /// The error did not come from the database.
    Local(Error),
}

impl From<Refusal> for AttemptError {
    fn from(error: Refusal) -> Self {
        Self::Refused(error)
    }
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        match error {
            Error::Database(refusal) => Self::Refused(refusal),
            other => Self::Local(other),
        }
    }
}

impl AttemptError {
    fn outcome_unknown(&self) -> bool {
        matches!(self, Self::NoAnswer(_) | Self::Refused(Refusal::InternalServer(_)))
    }

    fn may_succeed_later(&self) -> bool {
        match self {
            Self::NotSent(_) | Self::NoAnswer(_) => true,
            Self::Refused(error) => is_passing(error),
            Self::Local(_) => false,
        }
    }

    fn into_error(self, operation: &'static str, attempt: Attempt) -> Error {
        let transport = |reason| {
            Error::Transport(TransportError {
                operation,
                attempts: attempt.number,
                outcome_unknown: attempt.after_unknown,
                reason,
            })
        };
        match self {
            Self::Refused(error) => Error::Database(error),
            Self::NotSent(reason) | Self::NoAnswer(reason) => transport(reason),
            Self::Local(error) => error,
        }
    }
}

/// Whether the same request may succeed a moment later.
pub(crate) fn is_passing(error: &Refusal) -> bool {
    match error {
        Refusal::ProvisionedThroughputExceeded(_)
        | Refusal::Throttling(_)
        | Refusal::RequestLimitExceeded(_)
        | Refusal::InternalServer(_)
        | Refusal::TransactionConflict(_)
        | Refusal::TransactionInProgress(_) => true,
        Refusal::TransactionCanceled(reasons) => reasons.iter().all(|reason| {
            matches!(
                reason.code,
                CancellationCode::None
                    | CancellationCode::TransactionConflict
                    | CancellationCode::ProvisionedThroughputExceeded
                    | CancellationCode::ThrottlingError
            )
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(max_attempts: u32) -> Retry {
        Retry { max_attempts, base: Duration::ZERO, cap: Duration::ZERO }
    }

    fn throttled() -> AttemptError {
        Refusal::Throttling(keyloom_core::error::Throttled::default()).into()
    }

    #[test]
    fn waits_double_up_to_the_cap_and_are_random_below() {
        let retry = Retry {
            max_attempts: 9,
            base: Duration::from_millis(100),
            cap: Duration::from_millis(300),
        };
        let longest = |failed| retry.wait(failed, 99_999_999 + 100_000_000 * 8).as_millis();
        assert_eq!(longest(1), 99);
        assert!(longest(2) <= 200 && longest(40) <= 300);
        assert_eq!(retry.wait(3, 0), Duration::ZERO);
    }

    #[test]
    fn passing_refusals_are_tried_again_up_to_the_limit() {
        let mut calls = 0;
        let done = quick(3).run("PutItem", true, |attempt| {
            calls += 1;
            if attempt.number < 3 { Err(throttled()) } else { Ok(attempt.number) }
        });
        assert_eq!((done.unwrap(), calls), (3, 3));
        let mut calls = 0;
        let failed: Result<()> = quick(3).run("PutItem", true, |_| {
            calls += 1;
            Err(throttled())
        });
        assert!(matches!(failed, Err(Error::Database(Refusal::Throttling(_)))));
        assert_eq!(calls, 3);
    }

    #[test]
    fn what_cannot_succeed_is_not_tried_again() {
        let mut calls = 0;
        let failed: Result<()> = quick(5).run("PutItem", true, |_| {
            calls += 1;
            Err(Refusal::validation("no").into())
        });
        assert!(failed.is_err());
        assert_eq!(calls, 1);
    }

    #[test]
    fn a_lost_answer_is_only_repeated_when_repeating_is_harmless() {
        let lost = |repeatable| {
            let mut calls = 0;
            let failed: Result<()> = quick(4).run("UpdateItem", repeatable, |_| {
                calls += 1;
                Err(AttemptError::NoAnswer("reset".into()))
            });
            (calls, failed.unwrap_err().to_string())
        };
        assert_eq!(lost(true).0, 4);
        let (calls, message) = lost(false);
        assert_eq!(calls, 1);
        assert!(message.contains("may have been carried out"), "{message}");
    }
}
