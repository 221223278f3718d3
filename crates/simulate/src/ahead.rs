//! Time: how many items an entity has later, and how large they are.
//!
//! Counts grow as the design says. Items that expire are taken off when AWS's background deletion has come to them; those
//! that were there at the start had every age, so they go evenly over one life, and new ones come at the rate of the
//! entity's writes, or as many as go where no rate is declared.

use keyloom_design::cost::Prices;
use keyloom_design::draft::Draft;
use keyloom_design::model::{Design, Entity, WriteKind};
use keyloom_design::{CheckReport, check};

/// Seconds in a month of 730 hours.
pub(crate) const MONTH_SECONDS: f64 = 730.0 * 3600.0;
/// How long expired items stay: "within a few days" by AWS's documentation of TTL; it named 48 hours before.
const DELETED_AFTER_SECONDS: f64 = 48.0 * 3600.0;

/// How the items of an entity change with time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Course {
    /// Growth of the count per month; 0.1 is a tenth more.
    pub growth: f64,
    /// Growth of each item per month.
    pub size_growth: f64,
    /// When items go, if they expire.
    pub life: Option<Life>,
}

/// Items that expire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Life {
    /// Months from an item's creation to its deletion.
    pub months: f64,
    /// Items that are created in a month, as a multiple of those there are.
    pub created: f64,
}

impl Course {
    /// The course that a design declares for an entity.
    pub fn of(design: &Design, entity: &Entity) -> Self {
        let volume = &entity.volume;
        let life = volume.lives.map(|seconds| {
            let months = (seconds + DELETED_AFTER_SECONDS) / MONTH_SECONDS;
            let steady = 1.0 / months;
            let count = volume.count.filter(|count| *count > 0.0);
            let created = count.zip(creations(design, entity));
            Life {
                months,
                created: created.map_or(steady, |(count, rate)| rate * MONTH_SECONDS / count),
            }
        });
        Self {
            growth: volume.growth.unwrap_or(0.0),
            size_growth: volume.size_growth.unwrap_or(0.0),
            life,
        }
    }

    /// How many items there are after some months, as a multiple of those there were.
    pub fn count(&self, months: f64) -> f64 {
        let there = self.life.map_or(1.0, |life| {
            (1.0 - months / life.months).max(0.0) + life.created * months.min(life.months)
        });
        there * (1.0 + self.growth).powf(months)
    }

    /// How large an item is after some months, as a multiple of its size.
    pub fn size(&self, months: f64) -> f64 {
        (1.0 + self.size_growth).powf(months)
    }
}

/// How many items of an entity are created per second, if the design says so.
fn creations(design: &Design, entity: &Entity) -> Option<f64> {
    let rates = design.writes().iter().filter_map(|write| {
        let creates = write.members.iter().filter(|member| {
            member.entity.name == entity.name
                && matches!(member.kind, WriteKind::Put | WriteKind::Create)
        });
        let times = creates.count() as f64;
        write.rate.filter(|_| times > 0.0).map(|rate| rate.average * times)
    });
    rates.reduce(|a, b| a + b)
}

/// The design as it will be: counts and sizes of some months later, patterns planned and priced with them.
pub(crate) fn aged(report: &CheckReport, months: f64, prices: &Prices) -> CheckReport {
    let Some(design) = report.design.as_ref().filter(|_| months > 0.0) else {
        return report.clone();
    };
    let age = |draft: &mut Draft| {
        for entity in &mut draft.entities {
            let Some(model) = design.entity(&entity.name.value) else { continue };
            let course = Course::of(design, model);
            entity.count = entity.count.map(|count| (count * course.count(months)).round());
            entity.size = entity.size.map(|size| size * course.size(months));
            entity.max_size = entity.max_size.map(|size| size * course.size(months));
        }
    };
    let (design, _) = Design::read_changed(report.source.name(), report.source.text(), age);
    check(&design, prices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn what_expires_goes_and_what_is_written_comes() {
        let grows = Course { growth: 0.1, ..Course::default() };
        close(grows.count(0.0), 1.0);
        close(grows.count(2.0), 1.21);
        let life = Life { months: 2.0, created: 0.5 };
        let steady = Course { life: Some(life), ..Course::default() };
        for months in [0.0, 0.5, 1.0, 2.0, 50.0] {
            close(steady.count(months), 1.0);
        }
        // Twice as many come as are there for: after one life there are twice as many, and no more.
        let more = Course { life: Some(Life { created: 1.0, ..life }), ..Course::default() };
        close(more.count(1.0), 1.5);
        close(more.count(2.0), 2.0);
        close(more.count(20.0), 2.0);
        let none = Course { life: Some(Life { created: 0.0, ..life }), ..Course::default() };
        close(none.count(1.0), 0.5);
        close(none.count(3.0), 0.0);
        close(Course { size_growth: 0.5, ..Course::default() }.size(2.0), 2.25);
    }
}
