//! How much capacity a migration may use in a second, and how much it has used.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use keyloom_api::clock::{Clock, SystemClock};
use keyloom_api::transactions::{TransactAction, TransactEdit};
use keyloom_core::Item;
use keyloom_core::capacity::{ReadMode, item_write_units, read_units};
use keyloom_core::size::item_size;

use super::capacity::Capacity;
use super::state::TABLE;
use crate::error::{Error, Result};

/// Less than one unit a second is no pace at which a migration ends.
const LEAST: f64 = 1.0;
const MOST: f64 = 1e9;
/// The size of items before any was read.
const USUAL_BYTES: u64 = 4_096;
const READ_BYTES: f64 = 4_096.0;
/// The most items of a page under a limit.
const MOST_ITEMS: f64 = 10_000.0;

/// How much capacity a migration may use: units in a second, or a share of what its tables have.
///
/// ```
/// use keyloom::migrate::Rate;
///
/// let rate: Rate = "25%".parse()?;
/// assert_eq!(rate, Rate::share(0.25)?);
/// assert!("0".parse::<Rate>().is_err());
/// # Ok::<(), keyloom::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(Kind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Units(f64),
    Share(f64),
}

impl Rate {
    /// So many units in a second, reads and writes of tables together; at least one. What indexes take is not counted.
    pub fn units(units: f64) -> Result<Self> {
        if (LEAST..=MOST).contains(&units) {
            return Ok(Self(Kind::Units(units)));
        }
        Err(Error::Config(format!(
            "a rate is from 1 to {MOST} units in a second, and this is {units:?}; without a rate there is no limit"
        )))
    }

    /// A share of the capacity, above 0 and up to 1: of the reads and of the writes in a second that the least of the
    /// migration's tables has, its indexes included. For tables on demand that is their maximum and warm throughput, or
    /// the 12,000 reads and 4,000 writes of a new one.
    pub fn share(share: f64) -> Result<Self> {
        if share > 0.0 && share <= 1.0 {
            return Ok(Self(Kind::Share(share)));
        }
        Err(Error::Config(format!(
            "a share of the capacity is above 0 % and up to 100 %, and this is {} %",
            share * 100.0
        )))
    }
}

impl FromStr for Rate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |text: &str| -> Result<f64> {
            text.trim().parse().map_err(|_| {
                Error::Config(format!(
                    "`{text}` is no rate: it is units in a second, such as 500, or a share of the capacity, such as 25%"
                ))
            })
        };
        match text.strip_suffix('%') {
            Some(percent) => Self::share(number(percent)? / 100.0),
            None => Self::units(number(text)?),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Units(units) => write!(f, "{units}"),
            Kind::Share(share) => write!(f, "{}%", share * 100.0),
        }
    }
}

/// Units in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Limit {
    #[default]
    None,
    /// Of reads and writes together.
    Together(f64),
    /// Of reads and of writes, each by itself.
    Apart { reads: f64, writes: f64 },
}

/// What was used, and when the next unit may be.
#[derive(Default)]
struct Meter {
    tenths: AtomicU64,
    free_at: Mutex<Duration>,
}

impl Meter {
    fn units(&self) -> f64 {
        self.tenths.load(Ordering::Relaxed) as f64 / 10.0
    }

    fn count(&self, units: f64) {
        self.tenths.fetch_add((units * 10.0) as u64, Ordering::Relaxed);
    }

    /// Uses units, and returns how long to wait until what was used before fits into the rate.
    fn take(&self, units: f64, rate: f64) -> Duration {
        let now = SystemClock.ticks();
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let from = (*free_at).max(now);
        *free_at = from + Duration::from_secs_f64(units / rate);
        from.saturating_sub(now)
    }
}

/// How fast the migration may go, and what it has used.
#[derive(Default)]
pub(super) struct Pace {
    /// The most items of a page, for tests.
    pub(super) fixed_page: Option<usize>,
    rate: Option<Rate>,
    limit: Mutex<Limit>,
    reads: Meter,
    writes: Meter,
    read_items: AtomicU64,
    read_bytes: AtomicU64,
    /// Whether programs wait for the migration, which does not wait then.
    hurries: AtomicBool,
}

impl Pace {
    pub(super) fn at(rate: Rate) -> Self {
        let limit = match rate.0 {
            Kind::Units(units) => Limit::Together(units),
            // Known when the tables have been described.
            Kind::Share(_) => Limit::None,
        };
        Self { rate: Some(rate), limit: Mutex::new(limit), ..Self::default() }
    }

    /// Whether the capacity of the tables decides.
    pub(super) fn is_share(&self) -> bool {
        matches!(self.rate, Some(Rate(Kind::Share(_))))
    }

    /// Sets the limits by the capacity of the tables, each with its name.
    pub(super) fn set(&self, tables: &[(String, Capacity)]) -> Result<()> {
        let Some(Rate(Kind::Share(share))) = self.rate else { return Ok(()) };
        let least = |what: &str, units: fn(&Capacity) -> f64| {
            let least = tables.iter().min_by(|a, b| units(&a.1).total_cmp(&units(&b.1)));
            let Some((table, capacity)) = least else { return Ok(LEAST) };
            let (all, part) = (units(capacity), units(capacity) * share);
            if part >= LEAST {
                return Ok(part);
            }
            Err(Error::Config(format!(
                "{} % of the {all} {what} units in a second that table `{table}` has are less than one: say a larger share",
                share * 100.0
            )))
        };
        let reads = least("read", |capacity| capacity.reads)?;
        let writes = least("write", |capacity| capacity.writes)?;
        *self.limit.lock().unwrap_or_else(PoisonError::into_inner) = Limit::Apart { reads, writes };
        Ok(())
    }

    fn limit(&self) -> Limit {
        *self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most items to read at once: about what may be read in a second, so that no request is a burst.
    pub(super) fn page_items(&self) -> Option<usize> {
        let (Limit::Together(rate) | Limit::Apart { reads: rate, .. }) = self.limit() else {
            return self.fixed_page;
        };
        let (items, bytes) = (&self.read_items, &self.read_bytes);
        let mean = bytes.load(Ordering::Relaxed).checked_div(items.load(Ordering::Relaxed));
        let each = mean.unwrap_or(USUAL_BYTES).max(1) as f64;
        let fitting = (rate * READ_BYTES / each).clamp(1.0, MOST_ITEMS) as usize;
        Some(self.fixed_page.map_or(fitting, |fixed| fixed.min(fitting)))
    }

    /// The most units to write at once.
    pub(super) fn write_units(&self) -> f64 {
        match self.limit() {
            Limit::None => f64::INFINITY,
            Limit::Together(units) | Limit::Apart { writes: units, .. } => units,
        }
    }

    pub(super) fn read(&self, items: usize, bytes: usize) {
        self.read_items.fetch_add(items as u64, Ordering::Relaxed);
        self.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let units = read_units(bytes.max(1), ReadMode::Strong).as_f64();
        self.reads.count(units);
        match self.limit() {
            Limit::None => {}
            Limit::Together(rate) | Limit::Apart { reads: rate, .. } => {
                self.wait(self.reads.take(units, rate));
            }
        }
    }

    /// Whether programs wait for the migration: then it does not wait, and makes up for what it uses later.
    pub(super) fn hurry(&self, hurries: bool) {
        self.hurries.store(hurries, Ordering::SeqCst);
    }

    fn wait(&self, time: Duration) {
        if !self.hurries.load(Ordering::SeqCst) {
            std::thread::sleep(time);
        }
    }

    /// What a transaction takes of the tables; their indexes take more. The table of the state has capacity of its own, and
    /// does not wait.
    pub(super) fn wrote(&self, actions: &[TransactAction]) {
        let units_of =
            |action: &TransactAction| (action.table_name != TABLE, units_of(&action.edit));
        let all: Vec<(bool, f64)> = actions.iter().map(units_of).collect();
        self.writes.count(all.iter().map(|(_, units)| units).sum());
        let units = all.iter().filter(|(is_paced, _)| *is_paced).map(|(_, units)| units).sum();
        match self.limit() {
            Limit::None => {}
            Limit::Together(rate) => self.wait(self.reads.take(units, rate)),
            Limit::Apart { writes, .. } => self.wait(self.writes.take(units, writes)),
        }
    }

    /// Units read and written so far.
    pub(super) fn spent(&self) -> (f64, f64) {
        (self.reads.units(), self.writes.units())
    }
}

/// What one action of a transaction takes of its table.
fn units_of(edit: &TransactEdit) -> f64 {
    let (TransactEdit::Put(item)
    | TransactEdit::Update(item, _)
    | TransactEdit::Delete(item)
    | TransactEdit::Check(item)) = edit;
    write_units_of(item)
}

/// What a transaction takes to write an item.
pub(super) fn write_units_of(item: &Item) -> f64 {
    item_write_units(None, Some(item_size(item))).transactional().as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_are_none_are_refused() {
        for text in [
            "0", "-1", "-0", "0.5", "NaN", "inf", "-inf", "1e-300", "1e400", "1e10", "", "%",
            "fast", "0%", "-5%", "101%", "NaN%", "inf%", "5 units", "1,000",
        ] {
            let error = text.parse::<Rate>().map_err(|error| error.to_string());
            assert!(error.is_err(), "{text} is {error:?}");
        }
        for (text, shown) in
            [("1", "1"), ("2.5", "2.5"), ("1e9", "1000000000"), ("25%", "25%"), ("100 %", "100%")]
        {
            assert_eq!(
                text.parse::<Rate>().map(|rate| rate.to_string()).ok().as_deref(),
                Some(shown)
            );
        }
    }

    #[test]
    fn who_hurries_does_not_wait_and_makes_up_for_it() {
        let pace = Rate::units(1.0).map(Pace::at).unwrap_or_default();
        pace.hurry(true);
        let begun = SystemClock.ticks();
        // An hour of reads, and one more.
        pace.read(1, 3_600 * 4_096);
        pace.read(1, 1);
        let took = SystemClock.ticks().saturating_sub(begun);
        assert!(took < Duration::from_mins(30));
        assert!(pace.reads.take(1.0, 1.0) > Duration::from_mins(30));
    }

    #[test]
    fn a_share_is_of_the_table_that_has_least() {
        let pace = Rate::share(0.25).map(Pace::at).unwrap_or_default();
        let table = |name: &str, reads, writes| (name.to_owned(), Capacity { reads, writes });
        assert!(pace.set(&[table("a", 400.0, 1_000.0), table("b", 4_000.0, 40.0)]).is_ok());
        assert_eq!(pace.limit(), Limit::Apart { reads: 100.0, writes: 10.0 });
        // Before anything was read, an item is taken for a unit.
        assert_eq!((pace.page_items(), pace.write_units()), (Some(100), 10.0));
        let error = pace.set(&[table("a", 400.0, 3.0)]).map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains("`a`") && error.contains("3 write units")));
    }
}
