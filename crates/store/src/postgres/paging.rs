//! Pages of entries: which statement reads one, and where it ends.
//!
//! A page of so many bytes ends before the first entry that has as many in front of it; one entry it has at least. To end it
//! there the database has to add up sizes, which costs it half as much again as reading small entries does. So while
//! entries are small they are read by the *plain* statement, which asks for so many that they cannot be many more bytes than
//! are wanted, leaves values out that are longer than expected, and the page ends here. What that statement does not
//! answer is asked of the *cutting* one, and so are the pages after it, until they are small again. Both give the same page.
//!
//! Either reads the epoch's row, too, so that both are of one moment.

use std::future::poll_fn;
use std::pin::pin;

use bytes::Bytes;
use futures_util::Stream;
use parking_lot::Mutex;
use tokio_postgres::types::{ToSql, Type};

use super::connection::Link;
use super::core::{Core, epoch_row};
use super::flight::Parameters;
use super::trouble::Trouble;
use crate::{Direction, Expected};

/// A plain statement answers with so many times the bytes that are wanted at most, without keys.
const EXCESS: usize = 4;

/// Shorter values are always expected.
const SHORT_VALUE: usize = 512;

/// After a page that the plain statement could not read, or read too much for, so many must have been small.
const DISTRUST: u8 = 8;

/// Ranges whose first rows begin with the same bytes have entries of like sizes, mostly.
const ALIKE: usize = 8;
const SLOTS: usize = 64;

/// The sizes of entries that pages had lately, by the beginning of their keys.
pub(super) struct Sizes(Mutex<[Seen; SLOTS]>);

#[derive(Clone, Copy, Default)]
struct Seen {
    /// The longest value; a quarter of it is forgotten with each page.
    longest: usize,
    /// How many small pages it takes until the plain statement is used again.
    distrust: u8,
}

/// What a plain statement answers with: so many entries, with values up to this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    entries: usize,
    value: usize,
}

/// Which page to read.
pub(super) struct Wanted {
    /// The first row, inclusive, and the last, exclusive.
    pub(super) first: Vec<u8>,
    pub(super) last: Vec<u8>,
    pub(super) direction: Direction,
    pub(super) size: Expected,
}

/// Rows that were read, all in one piece of memory.
#[derive(Debug, Default)]
pub(super) struct Page {
    bytes: Bytes,
    places: Vec<Place>,
    /// Whether the range has no more rows; else the page has reached its size.
    pub(super) is_last: bool,
}

/// Where a row is: its key begins, the value begins, the value ends.
type Place = (usize, usize, usize);

/// A page that is being read.
struct Collector {
    size: Expected,
    bytes: Vec<u8>,
    places: Vec<Place>,
    epoch: Option<Vec<u8>>,
    longest: usize,
    /// Whether a value that belongs to the page was left out.
    is_incomplete: bool,
}

impl Default for Sizes {
    fn default() -> Self {
        Self(Mutex::new([Seen::default(); SLOTS]))
    }
}

impl Sizes {
    fn of<T>(&self, first: &[u8], work: impl FnOnce(&mut Seen) -> T) -> Option<T> {
        let alike = first.get(..ALIKE).unwrap_or(first);
        let hash = alike
            .iter()
            .fold(0_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(*byte)));
        self.0.lock().get_mut(hash % SLOTS).map(work)
    }
}

impl Seen {
    fn bounds(self, size: Expected) -> Bounds {
        let value = (2 * self.longest).max(SHORT_VALUE);
        Bounds { entries: size.entries.min(size.bytes.saturating_mul(EXCESS) / value), value }
    }

    /// The bounds of a plain statement for such a page, if it is worth a try.
    fn plain(self, size: Expected) -> Option<Bounds> {
        let bounds = self.bounds(size);
        (self.distrust == 0 && bounds.entries > 0).then_some(bounds)
    }

    /// Takes note of a page, whichever statement has read it.
    fn learn(&mut self, page: &Collector) {
        let bounds = self.bounds(page.size);
        let is_small = page.longest <= bounds.value && !page.is_full() && page.is_within(bounds);
        self.distrust = if is_small { self.distrust.saturating_sub(1) } else { DISTRUST };
        self.longest = page.longest.max(self.longest - self.longest / 4);
    }
}

impl Collector {
    fn new(size: Expected) -> Self {
        let (bytes, places) = (Vec::new(), Vec::new());
        Self { size, bytes, places, epoch: None, longest: 0, is_incomplete: false }
    }

    /// Takes the next row, unless the page ends before it.
    fn take(&mut self, row: &[u8], value: Option<&[u8]>) {
        if row == epoch_row() {
            self.epoch = value.map(<[u8]>::to_vec);
            return;
        }
        if self.is_incomplete || !self.places.is_empty() && self.is_full() {
            return;
        }
        let Some(value) = value else {
            self.is_incomplete = true;
            return;
        };
        let first = self.bytes.len();
        let middle = first + row.len();
        self.bytes.extend_from_slice(row);
        self.bytes.extend_from_slice(value);
        self.places.push((first, middle, self.bytes.len()));
        self.longest = self.longest.max(value.len());
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= self.size.bytes
    }

    /// Whether a statement with these bounds for the number of entries has read all that belongs to the page.
    fn is_within(&self, bounds: Bounds) -> bool {
        bounds.entries == self.size.entries || self.places.len() < bounds.entries
    }

    fn finish(self) -> Page {
        let is_last = self.places.len() < self.size.entries && !self.is_full();
        Page { bytes: self.bytes.into(), places: self.places, is_last }
    }
}

impl Page {
    /// The keys of the rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let row = |(first, middle, _): &Place| self.bytes.get(*first..*middle).unwrap_or_default();
        self.places.iter().map(row)
    }

    /// The rows, without so many bytes at the beginning of their keys.
    pub(super) fn entries(&self, skipped: usize) -> impl Iterator<Item = (Bytes, Bytes)> {
        self.places.iter().map(move |(first, middle, last)| {
            (
                self.bytes.slice((first + skipped).min(*middle)..*middle),
                self.bytes.slice(*middle..*last),
            )
        })
    }
}

impl Wanted {
    /// Reads the page, and takes note of the epoch.
    pub(super) async fn read(&self, core: &Core, link: &Link) -> Result<Page, Trouble> {
        let plain = core.sizes.of(&self.first, |seen| seen.plain(self.size)).flatten();
        let found = match plain {
            Some(bounds) => {
                let found = self.ask(core, link, Some(bounds)).await?;
                let is_all = !found.is_incomplete && (found.is_full() || found.is_within(bounds));
                if is_all { found } else { self.ask(core, link, None).await? }
            }
            None => self.ask(core, link, None).await?,
        };
        core.sizes.of(&self.first, |seen| seen.learn(&found));
        Ok(found.finish())
    }

    /// Puts the plain statement if there are bounds for it, else the cutting one.
    async fn ask(
        &self,
        core: &Core,
        link: &Link,
        plain: Option<Bounds>,
    ) -> Result<Collector, Trouble> {
        let sql = match (plain, self.direction) {
            (Some(_), Direction::Forward) => &core.sql.plain_forward,
            (Some(_), Direction::Backward) => &core.sql.plain_backward,
            (None, Direction::Forward) => &core.sql.forward,
            (None, Direction::Backward) => &core.sql.backward,
        };
        let (entries, bytes) = match plain {
            Some(bounds) => (bounds.entries as i64, bounds.value as i64),
            None => (self.size.entries as i64, self.size.bytes as i64),
        };
        let parameters: Parameters<'_> = vec![
            (&self.first, Type::BYTEA),
            (&self.last, Type::BYTEA),
            (&entries, Type::INT8),
            (&bytes, Type::INT8),
        ];
        collect(core, link, sql, &parameters, Collector::new(self.size), 1).await
    }
}

/// Reads these rows, in no order, and takes note of the epoch.
pub(super) async fn rows(core: &Core, link: &Link, rows: &[Bytes]) -> Result<Page, Trouble> {
    let wanted: Vec<&[u8]> = rows.iter().map(AsRef::as_ref).chain([epoch_row()]).collect();
    let parameters: Parameters<'_> = vec![(&wanted, Type::BYTEA_ARRAY)];
    let all = Collector::new(Expected { entries: usize::MAX, bytes: usize::MAX });
    Ok(collect(core, link, &core.sql.read, &parameters, all, 2).await?.finish())
}

/// Runs a statement whose first column is the rows' keys, and takes its rows as they come: no more of them are in
/// memory than belong to the page.
async fn collect(
    core: &Core,
    link: &Link,
    sql: &str,
    parameters: &[(&(dyn ToSql + Sync), Type)],
    mut page: Collector,
    value: usize,
) -> Result<Collector, Trouble> {
    let mut rows = pin!(link.rows(sql, parameters).await?);
    while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await {
        let row = row?;
        page.take(row.try_get(0)?, row.try_get(value)?);
    }
    if let Some(epoch) = &page.epoch {
        core.meet_row(epoch).map_err(Trouble::Failed)?;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Expected = Expected { entries: 100, bytes: 10_000 };

    fn page(values: &[usize], longest: Option<usize>) -> Collector {
        let mut page = Collector::new(SIZE);
        for (n, length) in values.iter().enumerate() {
            let value = vec![7; *length];
            let is_left_out = longest.is_some_and(|longest| *length > longest);
            page.take(format!("{n:04}").as_bytes(), (!is_left_out).then_some(&value));
        }
        page
    }

    #[test]
    fn a_page_ends_before_the_entry_that_has_its_bytes_in_front_of_it() {
        for (values, taken, is_last) in [
            (&[][..], 0, true),
            (&[20_000, 1], 1, false),
            (&[9_995, 1], 2, false),
            (&[9_996, 1], 1, false),
            (&[4_996, 4_995, 1, 1], 3, false),
            (&[4_996, 4_995], 2, true),
            (&[10; 100], 100, false),
            (&[10; 99], 99, true),
        ] {
            let page = page(values, None).finish();
            assert_eq!((page.rows().count(), page.is_last), (taken, is_last), "{values:?}");
        }
    }

    #[test]
    fn a_value_that_was_left_out_matters_only_inside_of_the_page() {
        assert!(page(&[10, 600, 10], Some(512)).is_incomplete);
        assert!(!page(&[5_000, 5_000, 60_000], Some(5_000)).is_incomplete);
    }

    #[test]
    fn the_plain_statement_is_used_while_pages_are_small() {
        let mut seen = Seen::default();
        assert_eq!(seen.plain(SIZE), Some(Bounds { entries: 78, value: SHORT_VALUE }));
        let small = page(&[300; 20], None);
        seen.learn(&small);
        assert_eq!(seen.plain(SIZE), Some(Bounds { entries: 66, value: 600 }));
        // Too long a value, too many bytes, too many entries.
        for large in [page(&[3_000], None), page(&[600; 20], None), page(&[1; 90], None)] {
            let mut seen = seen;
            seen.learn(&large);
            assert_eq!(seen.plain(SIZE), None);
            (0..2 * DISTRUST).for_each(|_| seen.learn(&small));
            assert!(seen.plain(SIZE).is_some());
        }
        // It would answer with more than it is worth.
        seen.longest = 100_000;
        assert_eq!(seen.plain(SIZE), None);
    }
}
