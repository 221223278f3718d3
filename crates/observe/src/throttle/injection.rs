//! Fault injection: throttles chosen requests, to test how a program handles it.
//!
//! Rules are separated by commas, the parts of a rule by colons:
//!
//! ```text
//! 0.1                               one request in ten, at random
//! write:0.2                         one write in five
//! table=Orders:write:every=10       every tenth write to Orders
//! table=Orders:index=byDate:first=3 the first three requests that touch this index
//! read:0.5:reason=provisioned       as if more was read than is provisioned
//! 0.1,seed=7                        another row of random numbers
//! ```

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_core::hash::{SplitMix64, fraction};
use keyloom_core::observation::{NotAdmitted, ThrottleLimit, ThrottleReason, Touch};

use super::ThrottleSyntax;

/// Rules by which requests are refused. The same requests in the same order have the same fate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Injection {
    /// The first rule that refuses a request decides.
    pub rules: Vec<Rule>,
    /// Chooses the row of random numbers.
    pub seed: u64,
}

/// Which requests are refused.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Only those that touch this table.
    pub table: Option<String>,
    /// Only those that touch this index.
    pub index: Option<String>,
    /// Only writes, or only reads.
    pub is_write: Option<bool>,
    /// How many of them.
    pub when: When,
    /// The limit that the refusals name.
    pub limit: ThrottleLimit,
    /// How many requests it has been asked about; clones go on counting together.
    asked: Arc<AtomicU64>,
}

impl PartialEq for Rule {
    /// Rules are equal if their texts are, however often they have been applied.
    fn eq(&self, other: &Self) -> bool {
        let facts = |rule: &Self| (rule.is_write, rule.when, rule.limit);
        (&self.table, &self.index) == (&other.table, &other.index) && facts(self) == facts(other)
    }
}

/// How many of the requests that a rule is about are refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// This share of them, at random.
    Probability(f64),
    /// Every so many-th.
    Every(u64),
    /// The first so many.
    First(u64),
}

impl Injection {
    /// Refuses a request if a rule applies.
    pub fn admit(&self, touches: &[Touch<'_>]) -> Result<(), NotAdmitted> {
        for (number, rule) in self.rules.iter().enumerate() {
            let Some(touch) = touches.iter().position(|touch| rule.is_about(touch)) else {
                continue;
            };
            let count = rule.asked.fetch_add(1, Ordering::Relaxed) + 1;
            if !rule.when.refuses(count, self.seed ^ (number as u64) << 32) {
                continue;
            }
            let reason = ThrottleReason {
                is_index: touches.get(touch).is_some_and(|touch| touch.place.is_global_index()),
                is_write: touches.get(touch).is_some_and(|touch| touch.work.is_write()),
                limit: rule.limit,
            };
            return Err(NotAdmitted { touch, reason });
        }
        Ok(())
    }
}

impl Rule {
    /// A rule about all requests.
    pub fn new(when: When) -> Self {
        let limit = ThrottleLimit::KeyRange;
        Self { table: None, index: None, is_write: None, when, limit, asked: Arc::default() }
    }

    fn is_about(&self, touch: &Touch<'_>) -> bool {
        self.table.as_deref().is_none_or(|table| table == touch.place.table)
            && self.index.as_deref().is_none_or(|index| touch.place.index_name() == Some(index))
            && self.is_write.is_none_or(|is_write| is_write == touch.work.is_write())
    }
}

impl When {
    fn refuses(self, count: u64, seed: u64) -> bool {
        match self {
            Self::Every(step) => count.is_multiple_of(step),
            Self::First(number) => count <= number,
            Self::Probability(share) => {
                // By position, not by state, so that threads do not wait for each other.
                fraction(SplitMix64::nth(seed, count)) < share
            }
        }
    }
}

impl FromStr for Injection {
    type Err = ThrottleSyntax;

    fn from_str(text: &str) -> Result<Self, ThrottleSyntax> {
        let mut injection = Self::default();
        for part in text.split(',').map(str::trim) {
            match part.strip_prefix("seed=") {
                Some(seed) => injection.seed = whole("seed", seed, 0)?,
                None => injection.rules.push(part.parse()?),
            }
        }
        if injection.rules.is_empty() {
            return Err(ThrottleSyntax(
                "`inject=` needs a rule: a probability such as `0.1`, `every=N` or `first=N`"
                    .into(),
            ));
        }
        Ok(injection)
    }
}

impl FromStr for Rule {
    type Err = ThrottleSyntax;

    fn from_str(text: &str) -> Result<Self, ThrottleSyntax> {
        let mut when = None;
        let mut rule = Self::new(When::Probability(0.0));
        for part in text.split(':').map(str::trim) {
            let stated = match part.split_once('=') {
                Some(("every", number)) => Some(When::Every(whole("every", number, 1)?)),
                Some(("first", number)) => Some(When::First(whole("first", number, 1)?)),
                None if part.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
                    Some(When::Probability(probability(part)?))
                }
                _ => {
                    rule.narrow(part)?;
                    None
                }
            };
            if stated.is_some() && std::mem::replace(&mut when, stated).is_some() {
                return Err(ThrottleSyntax(format!("`{text}` says twice how many are refused")));
            }
        }
        rule.when = when.ok_or_else(|| {
            ThrottleSyntax(format!(
                "`{text}` does not say how many are refused: add a probability such as `0.1`, \
                 `every=N` or `first=N`, after a colon"
            ))
        })?;
        Ok(rule)
    }
}

impl Rule {
    fn narrow(&mut self, part: &str) -> Result<(), ThrottleSyntax> {
        match part.split_once('=') {
            None if part == "read" => self.is_write = Some(false),
            None if part == "write" => self.is_write = Some(true),
            Some(("table", name)) if !name.is_empty() => self.table = Some(name.to_owned()),
            Some(("index", name)) if !name.is_empty() => self.index = Some(name.to_owned()),
            Some(("reason", name)) => self.limit = limit(name)?,
            _ => {
                return Err(ThrottleSyntax(format!(
                    "`{part}` is no part of a rule: there are `read`, `write`, `table=NAME`, \
                     `index=NAME`, `reason=…`, and a probability, `every=N` or `first=N`"
                )));
            }
        }
        Ok(())
    }
}

fn limit(name: &str) -> Result<ThrottleLimit, ThrottleSyntax> {
    match name {
        "key-range" => Ok(ThrottleLimit::KeyRange),
        "provisioned" => Ok(ThrottleLimit::Provisioned),
        "max-on-demand" => Ok(ThrottleLimit::MaxOnDemand),
        "account" => Ok(ThrottleLimit::Account),
        _ => Err(ThrottleSyntax(format!(
            "`{name}` is no reason: there are `key-range`, `provisioned`, `max-on-demand`, `account`"
        ))),
    }
}

fn probability(text: &str) -> Result<f64, ThrottleSyntax> {
    let share: Option<f64> = text.parse().ok();
    share.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
        ThrottleSyntax(format!("`{text}` is no probability: it must be from 0 to 1"))
    })
}

fn whole(name: &str, text: &str, least: u64) -> Result<u64, ThrottleSyntax> {
    let number: Option<u64> = text.parse().ok();
    number.filter(|number| *number >= least).ok_or_else(|| {
        ThrottleSyntax(format!("`{name}={text}`: it must be a whole number from {least} on"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let rule = |text: &str| text.parse::<Injection>().unwrap().rules.remove(0);
        assert_eq!(rule("0.1"), Rule::new(When::Probability(0.1)));
        let write = Rule { is_write: Some(true), ..Rule::new(When::Probability(0.2)) };
        assert_eq!(rule("write:0.2"), write);
        let scripted = Rule {
            table: Some("Orders".into()),
            index: Some("byDate".into()),
            is_write: Some(false),
            limit: ThrottleLimit::Provisioned,
            ..Rule::new(When::Every(10))
        };
        assert_eq!(rule("table=Orders:index=byDate:read:every=10:reason=provisioned"), scripted);
        let two: Injection = "write:first=3, read:1.0, seed=9".parse().unwrap();
        assert_eq!((two.rules.len(), two.seed), (2, 9));
        assert_eq!(two.rules[0].when, When::First(3));
    }

    #[test]
    fn mistakes_are_named_with_the_way_out() {
        for (text, said) in [
            ("", "no part of a rule"),
            ("seed=3", "needs a rule"),
            ("1.5", "from 0 to 1"),
            (".", "from 0 to 1"),
            ("write", "does not say how many"),
            ("write:0.1:every=2", "says twice"),
            ("every=0", "whole number from 1"),
            ("every=x", "whole number from 1"),
            ("0.1,seed=-1", "whole number from 0"),
            ("table=:0.1", "no part of a rule"),
            ("writes:0.1", "`writes` is no part"),
            ("0.1:reason=bad", "`bad` is no reason"),
        ] {
            let error = text.parse::<Injection>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn refusals_come_as_often_as_asked_and_in_the_same_places_each_time() {
        let fates =
            |when: When, seed| (1..=10_000).map(|n| when.refuses(n, seed)).collect::<Vec<_>>();
        let random = fates(When::Probability(0.1), 1);
        let refused = random.iter().filter(|refused| **refused).count();
        assert!((850..1150).contains(&refused), "{refused}");
        assert_eq!(random, fates(When::Probability(0.1), 1));
        assert_ne!(random, fates(When::Probability(0.1), 2));
        assert_eq!(fates(When::Every(10), 0).iter().filter(|refused| **refused).count(), 1000);
        assert!(fates(When::Probability(1.0), 0).iter().all(|refused| *refused));
        assert!(!fates(When::Probability(0.0), 0).contains(&true));
        assert_eq!(fates(When::First(3), 0).iter().position(|refused| !*refused), Some(3));
    }
}
