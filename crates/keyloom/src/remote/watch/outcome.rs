//! How requests ended, as their errors tell it.

use keyloom_core::Error;
use keyloom_core::capacity::{Units, item_write_units};
use keyloom_core::error::{CancellationCode, CancellationReason, Throttled};
use keyloom_core::observation::{Outcome, ThrottleLimit, ThrottleReason};
use keyloom_core::size::item_size;

use super::touches::Drawn;
use crate::retry::Failure;

/// What a refusal says beside its outcome.
pub(super) struct Refused {
    pub(super) outcome: Outcome,
    /// The index that could not take it.
    pub(super) index: Option<String>,
}

impl Refused {
    fn with(outcome: Outcome) -> Self {
        Self { outcome, index: None }
    }
}

/// The outcome of a failed request that touched these keys, or none where a table is not described; none if it came to
/// no key. Prices become those of a refusal.
pub(super) fn of(failure: &Failure, drawn: &mut [Option<Drawn>]) -> Option<Refused> {
    let is_write = drawn.iter().flatten().any(|one| one.is_write);
    let refused = match failure {
        Failure::NotSent(_) | Failure::NoAnswer(_) => Refused::with(Outcome::Failed),
        Failure::Local(_) => return None,
        Failure::Refused(error) => match error {
            Error::ProvisionedThroughputExceeded(throttled)
            | Error::Throttling(throttled)
            | Error::RequestLimitExceeded(throttled) => reason(throttled, is_write),
            Error::ConditionalCheckFailed { item } => {
                let size = item.as_ref().map(item_size);
                for one in drawn.iter_mut().flatten() {
                    one.units = item_write_units(size, None);
                }
                Refused::with(Outcome::ConditionFailed)
            }
            Error::DuplicateItem(_) => Refused::with(Outcome::ConditionFailed),
            Error::TransactionConflict(_) => Refused::with(Outcome::Conflict),
            Error::TransactionCanceled(reasons) => Refused::with(cancelled(reasons, drawn)?),
            _ => return None,
        },
    };
    let is_free = match refused.outcome {
        Outcome::Failed | Outcome::Conflict => true,
        // A read is refused before anybody knows what it costs.
        Outcome::Throttled(..) => !is_write,
        Outcome::ConditionFailed | Outcome::Done => false,
    };
    for one in drawn.iter_mut().flatten() {
        if is_free {
            one.units = Units::ZERO;
        }
        one.bytes = 0;
    }
    Some(refused)
}

/// Why a throttled request was refused.
fn reason(throttled: &Throttled, is_write: bool) -> Refused {
    let stated = throttled.reasons.iter().find_map(|(name, resource)| {
        let reason = ThrottleReason::from_name(name)?;
        let index = resource.rsplit_once("/index/").map(|(_, index)| index.to_owned());
        Some((reason, index))
    });
    let (reason, index) = stated.unwrap_or((unstated(is_write), None));
    Refused { outcome: Outcome::Throttled(reason, 0), index: index.filter(|_| reason.is_index) }
}

/// A refusal without a reason.
pub(super) fn unstated(is_write: bool) -> ThrottleReason {
    ThrottleReason { is_index: false, is_write, limit: ThrottleLimit::Unstated }
}

fn cancelled(reasons: &[CancellationReason], drawn: &mut [Option<Drawn>]) -> Option<Outcome> {
    use CancellationCode as Code;
    let first = |codes: &[Code]| reasons.iter().position(|reason| codes.contains(&reason.code));
    if let Some(at) = first(&[Code::ProvisionedThroughputExceeded, Code::ThrottlingError]) {
        let is_write = drawn.iter().flatten().any(|one| one.is_write);
        let is_known = drawn.get(at).is_some_and(Option::is_some);
        // Of those that are told; past all of them, if it is none of those.
        let told = drawn.iter().take(if is_known { at } else { drawn.len() }).flatten().count();
        return Some(Outcome::Throttled(unstated(is_write), told));
    }
    if first(&[Code::ConditionalCheckFailed, Code::DuplicateItem]).is_some() {
        for (one, reason) in drawn.iter_mut().zip(reasons) {
            let Some(one) = one else { continue };
            let size = reason.item.as_ref().map(item_size);
            one.units = item_write_units(size, None).transactional();
        }
        return Some(Outcome::ConditionFailed);
    }
    first(&[Code::TransactionConflict]).map(|_| Outcome::Conflict)
}

#[cfg(test)]
mod tests {
    use keyloom_core::Item;

    use super::super::described::Described;
    use super::super::exchange::Point;
    use super::*;
    use crate::item;
    use CancellationCode as Code;

    #[test]
    fn reasons_belong_to_their_items_though_a_table_is_not_described() {
        let (table, key) = (Described::example(), item! { "pk" => "A", "sk" => "B" });
        let point = Point::delete("t", &key);
        let one = || Some(Drawn::of(&point, &table, true));
        let reason = |code, item: Option<Item>| CancellationReason { code, message: None, item };
        let told = |drawn: &mut [Option<Drawn>], reasons: [CancellationReason; 3]| {
            let failure = Failure::Refused(Error::TransactionCanceled(reasons.into()));
            of(&failure, drawn).map(|refused| refused.outcome)
        };
        let throttled = |at| Some(Outcome::Throttled(unstated(true), at));
        let reasons = |at: usize| {
            [0, 1, 2].map(|position| {
                let code = if position == at { Code::ThrottlingError } else { Code::None };
                reason(code, None)
            })
        };
        assert_eq!(told(&mut [None, one(), one()], reasons(2)), throttled(1));
        assert_eq!(told(&mut [None, one(), one()], reasons(0)), throttled(2));
        let large = item! { "pk" => "A", "sk" => "B", "text" => "x".repeat(3000) };
        let failed = [
            reason(Code::None, None),
            reason(Code::None, None),
            reason(Code::ConditionalCheckFailed, Some(large)),
        ];
        let mut drawn = [None, one(), one()];
        assert_eq!(told(&mut drawn, failed), Some(Outcome::ConditionFailed));
        let units: Vec<Units> = drawn.iter().flatten().map(|one| one.units).collect();
        assert_eq!(units, [Units::whole(2), Units::whole(6)]);
    }
}
