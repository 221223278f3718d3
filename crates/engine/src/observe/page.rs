//! Observation of Query and Scan pages.

use std::ops::Bound;

use keyloom_core::capacity::{ReadMode, Units};
use keyloom_core::observation::{Place, Question, Touch, Work};
use keyloom_core::{Operation, Result};
use keyloom_store::Direction;

use crate::ops::queries::page::page_units;
use crate::read::{Page, ReadPlan};
use crate::ttl;

use super::{Ended, ObservedRequest, place_of, split_key};

impl ReadPlan {
    /// What kind of request the plan comes from.
    pub(crate) fn operation(&self) -> Operation {
        if self.condition.is_some() { Operation::Query } else { Operation::Scan }
    }

    fn place(&self) -> Place<'_> {
        place_of(&self.table, self.index)
    }

    /// The partition that is read; none if there is more than one.
    fn partition(&self) -> &[u8] {
        match &self.range.lower {
            Bound::Included(key) | Bound::Excluded(key) if self.condition.is_some() => {
                split_key(self.key(), key).0
            }
            _ => &[],
        }
    }

    /// What is asked, and what was found on this page.
    fn question(&self, page: Option<&Page>) -> Question<'_> {
        Question {
            place: self.place(),
            condition: self.condition.as_ref(),
            filter: self.filter.as_ref(),
            limit: self.limit,
            is_forward: self.direction == Direction::Forward,
            is_continued: self.is_continued,
            has_more: page.is_some_and(|page| page.last_key.is_some()),
            scanned: page.map_or(0, |page| page.scanned),
        }
    }

    fn touch(&self, units: Units, bytes: usize) -> Touch<'_> {
        let (place, partition) = (self.place(), self.partition());
        Touch { place, partition, sort: &[], work: Work::Read(units), bytes }
    }
}

impl ObservedRequest<'_> {
    /// Refuses a page if its partition is throttled.
    pub(crate) fn admit_page(&self, plan: &ReadPlan, asked: Ended<'_>) -> Result<()> {
        if !self.is_gate() {
            return Ok(());
        }
        // Whatever becomes of it, it is a request of its access pattern.
        let asked = Ended { question: Some(plan.question(None)), ..asked };
        self.admit_read(&[plan.touch(Units::ZERO, 0)], asked)
    }

    /// Reports a page that was read.
    pub(crate) fn page(&self, plan: &ReadPlan, page: &Page, mode: ReadMode, asked: Ended<'_>) {
        let (own, fetched) = page_units(page, mode);
        let ended = Ended {
            question: Some(plan.question(Some(page))),
            returned: page.count,
            expired: self.expired(|| ttl::expired(self.database, &plan.table, &page.rows)),
            ..asked
        };
        let read = plan.touch(own, page.bytes);
        if fetched.is_zero() {
            return self.done(&[read], ended);
        }
        // The base items of a local index's entries lie in the same partition.
        let base = Touch {
            place: place_of(&plan.table, None),
            work: Work::Read(fetched),
            bytes: page.fetched.iter().sum(),
            ..read
        };
        self.done(&[read, base], ended);
    }
}
