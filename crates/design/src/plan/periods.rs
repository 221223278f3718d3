//! Time buckets: which ones a condition overlaps, and whether it consists of whole ones.

use keyloom_keys::{Precision, Timestamp, Value};

use crate::key::extent;
use crate::model::{End, Field, Operand, Test};
use crate::mutation::{Mutation, is_on};

/// The most buckets of one range: a larger one is a mistake.
pub(super) const MAX_BUCKETS: usize = 10_000;

/// The first and last millisecond that satisfy a condition; a missing bound is the end of time.
pub(super) fn span<E>(
    test: &Test,
    time: &dyn Fn(&Operand) -> Result<Timestamp, E>,
) -> Result<Option<(i64, i64)>, E> {
    let low = |end: &End| {
        let (first, last) = extent(time(&end.operand)?);
        Ok(if end.inclusive { first } else { last.saturating_add(1) })
    };
    let high = |end: &End| {
        let (first, last) = extent(time(&end.operand)?);
        Ok(if end.inclusive { last } else { first.saturating_sub(1) })
    };
    Ok(match test {
        Test::Equal(operand) => Some(extent(time(operand)?)),
        Test::Range { low: None, high: None } => None,
        Test::Range { low: from, high: to } => Some((
            from.as_ref().map_or(Ok(i64::MIN), low)?,
            to.as_ref().map_or(Ok(i64::MAX), high)?,
        )),
        _ => None,
    })
}

/// The buckets that a time range overlaps; `None` if there are more than `most`.
pub(super) fn touched(
    (low, high): (i64, i64),
    precision: Precision,
    most: usize,
) -> Option<Vec<Timestamp>> {
    let mut found = Vec::new();
    let mut at = Timestamp::from_millis(low).at(precision);
    while at.millis() <= high {
        if found.len() == most {
            return None;
        }
        found.push(at);
        at = Timestamp::from_millis(at.last_millisecond().millis() + 1).at(precision);
    }
    if is_on(Mutation::LastPeriodIsLeft) && found.len() > 1 {
        found.pop();
    }
    Some(found)
}

/// How many buckets a time range overlaps.
pub(super) fn count((low, high): (i64, i64), precision: Precision) -> f64 {
    let (first, last) = (precision.index_of(low), precision.index_of(high));
    let both = i64::from(!is_on(Mutation::LastPeriodIsNotCounted));
    last.saturating_sub(first).saturating_add(both).max(0) as f64
}

/// The lengths of `2024`, `2024-05`, `2024-05-17` and `2024-05-17T10`.
const PERIOD_LENGTHS: [usize; 4] = [13, 10, 7, 4];

/// The shortest period in which every time lies whose text begins like this; nothing if that is not even a year.
pub(super) fn around(beginning: &str) -> Option<Timestamp> {
    PERIOD_LENGTHS.iter().find_map(|length| beginning.get(..*length)?.parse().ok())
}

/// The buckets of which some time begins with a text; `None` if there are more than `most` in the period around it. A text
/// that is longer than a bucket's begins times in it only where the field is finer than that.
pub(super) fn begun(
    text: &str,
    around: Timestamp,
    (precision, is_finer): (Precision, bool),
    most: usize,
) -> Option<Vec<Timestamp>> {
    let mut found = touched(extent(around), precision, most)?;
    found.retain(|bucket| {
        if is_on(Mutation::BeginningsArePeriods) {
            return true;
        }
        let own = bucket.to_string();
        own.starts_with(text) || is_finer && text.starts_with(&own)
    });
    Some(found)
}

/// A time that the design states.
pub(super) fn stated(operand: &Operand) -> Result<Timestamp, ()> {
    match operand {
        Operand::Value(Value::Time(time)) => Ok(*time),
        _ => Err(()),
    }
}

/// Whether a condition consists of whole periods of this length, so that the bucket alone decides whether it holds.
pub(super) fn is_whole_periods(test: &Test, precision: Precision) -> bool {
    let whole = |operand: &Operand| stated(operand).is_ok_and(|time| time.precision() <= precision);
    match test {
        // All times of a period, and no others, begin with its text.
        Test::BeginsWith(Operand::Value(Value::Text(text))) => {
            let period = around(text).filter(|period| period.to_string() == **text);
            period.is_some_and(|period| period.precision() <= precision)
        }
        Test::Equal(operand) => whole(operand),
        Test::In(operands) => operands.iter().all(whole),
        Test::Range { low, high } => {
            low.iter().chain(high).all(|end| whole(&end.operand))
                && (low.is_some() || high.is_some())
        }
        _ => false,
    }
}

/// Whether a value is a period rather than an instant of a field with this precision.
pub(super) fn is_period(value: &Value, precision: Option<Precision>) -> bool {
    match (value, precision) {
        (Value::Time(time), Some(own)) => time.precision() < own,
        _ => false,
    }
}

/// Whether a condition needs "in this period" or "not in this period" for one of several, which a filter of
/// conditions joined by AND cannot say.
pub(super) fn lists_periods(field: &Field, test: &Test) -> bool {
    let precision = field.format().and_then(|format| format.precision());
    let is_period = |operand: &Operand| match operand {
        Operand::Value(value) => is_period(value, precision),
        Operand::Input(_) => false,
    };
    match test {
        Test::In(operands) => operands.iter().any(is_period),
        Test::NotEqual(operand) => is_period(operand),
        _ => false,
    }
}
