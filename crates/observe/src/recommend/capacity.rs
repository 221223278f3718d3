//! Compares the cost of on-demand and provisioned capacity for the observed load.
//!
//! Provisioned capacity is simulated minute by minute with AWS's auto scaling: a target of 70 %, scaling out after
//! two minutes above it, and in after fifteen minutes below.

use crate::detect::{Confidence, Finding, Judge, Severity, short};
use crate::report::PlaceReport;
use crate::window::Slot;

const TARGET: f64 = 0.7;
const OUT_MINUTES: usize = 2;
const IN_MINUTES: usize = 15;
/// The minutes of data that a cost estimate needs.
const MIN_MINUTES: usize = 10;
/// The minimum saving, as a share, to recommend a change.
const WORTH: f64 = 0.15;

/// What both modes cost for each table and global index.
pub(super) fn modes(judge: &Judge<'_>) -> Vec<Finding> {
    judge.report.places.iter().filter_map(|place| mode(judge, place)).collect()
}

fn mode(judge: &Judge<'_>, place: &PlaceReport) -> Option<Finding> {
    let minutes = filled(&place.minutes);
    if minutes.len() < MIN_MINUTES || place.kind == crate::report::Kind::Local {
        return None;
    }
    let class = judge.class(place);
    let months = minutes.len() as f64 / 60.0 / judge.prices.hours_per_month;
    let (reads, writes): (Vec<f64>, Vec<f64>) = minutes.iter().copied().unzip();
    let sum = |all: &[f64]| all.iter().sum::<f64>();
    let on_demand = (sum(&reads) * class.read_million + sum(&writes) * class.write_million) / 1e6;
    let (read_hours, read_refused) = provisioned(&reads);
    let (write_hours, write_refused) = provisioned(&writes);
    let reserved = read_hours * class.read_capacity_hour + write_hours * class.write_capacity_hour;
    let (on_demand, reserved) = (on_demand / months, reserved / months);
    let (better, saved) = if on_demand <= reserved {
        ("on demand", reserved - on_demand)
    } else {
        ("provisioned", on_demand - reserved)
    };
    let is_better = place.on_demand == (better == "on demand");
    if is_better || saved < WORTH * on_demand.max(reserved) || saved < 1.0 {
        return None;
    }
    let refused = (read_refused + write_refused) / (sum(&reads) + sum(&writes)).max(1.0);
    let variation = variation(&reads).max(variation(&writes));
    let title = format!("{better} would cost ${} a month less", short(saved));
    let confidence = if minutes.len() >= 120 { Confidence::Medium } else { Confidence::Low };
    Some(
        Finding::new("capacity-mode", Severity::Info, confidence, place, title)
            .shows(format!(
                "on demand ${} a month, provisioned ${} with auto scaling at 70 %",
                short(on_demand),
                short(reserved)
            ))
            .shows(format!(
                "load varies by {:.0} % of its mean; {:.1} % would be refused while scaling out",
                variation * 100.0,
                refused * 100.0
            ))
            .fix(format!("billing = \"{}\"", better.replace(' ', "-")))
            .costs(saved)
            .at_ten(format!("ten times the difference: ${} a month", short(saved * 10.0))),
    )
}

/// Units of every minute, those without requests included.
fn filled(slots: &[Slot]) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (slots.first(), slots.last()) else { return Vec::new() };
    let count = ((last.start_ms - first.start_ms) / 60_000 + 1).min(10_080) as usize;
    let mut minutes = vec![(0.0, 0.0); count];
    for slot in slots {
        let at = ((slot.start_ms - first.start_ms) / 60_000) as usize;
        if let Some(minute) = minutes.get_mut(at) {
            *minute = (slot.reads, slot.writes);
        }
    }
    minutes
}

/// Capacity-unit hours that auto scaling would have provisioned, and the units it would have refused.
fn provisioned(minutes: &[f64]) -> (f64, f64) {
    let wanted = |units: f64| (units / 60.0 / TARGET).ceil().max(1.0);
    let mut capacity = minutes.first().map_or(1.0, |first| wanted(*first));
    let (mut hours, mut refused, mut above, mut below) = (0.0, 0.0, 0, 0);
    for units in minutes {
        hours += capacity / 60.0;
        refused += (units - capacity * 60.0).max(0.0);
        let target = wanted(*units);
        above = if target > capacity { above + 1 } else { 0 };
        below = if target < capacity { below + 1 } else { 0 };
        if above >= OUT_MINUTES || below >= IN_MINUTES {
            capacity = target;
            (above, below) = (0, 0);
        }
    }
    (hours, refused)
}

/// The standard deviation as a share of the mean.
fn variation(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}
