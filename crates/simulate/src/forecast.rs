//! Everything that is foreseen of a design.

use keyloom_design::CheckReport;
use keyloom_design::cost::Prices;

use crate::advice::{Advice, advise};
use crate::ahead::aged;
use crate::costs::{Costs, Way, costs, crossings};
use crate::limits::{Break, breaks};
use crate::profile::Options;
use crate::run::{Outcome, run};
use crate::workload::Workload;

/// The future of a design.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The design's name.
    pub name: String,
    /// What was simulated.
    pub options: Options,
    /// The load that is simulated.
    pub workload: Workload,
    /// What becomes of each multiple of the load.
    pub scales: Vec<Scale>,
    /// Where each pattern and write first fails.
    pub breaks: Vec<Break>,
    /// The cheapest ways to pay, from which multiple on.
    pub cheapest: Vec<(f64, Way)>,
    /// The change of the design that moves the first limit.
    pub advice: Option<Advice>,
}

/// One multiple of the load.
#[derive(Clone, Debug)]
pub struct Scale {
    /// The multiple of the load.
    pub multiple: f64,
    /// What became of it.
    pub outcome: Outcome,
    /// Dollars a month.
    pub costs: Costs,
    /// Bytes stored at the start.
    pub bytes: f64,
}

impl Forecast {
    /// What fails first.
    pub fn first_break(&self) -> Option<&Break> {
        first_break(&self.breaks)
    }
}

/// The break at the smallest multiple.
pub(crate) fn first_break(breaks: &[Break]) -> Option<&Break> {
    // Of those that fail together, the one that brings the load comes first.
    let failing = breaks.iter().filter_map(|it| Some((it.multiple?, it)));
    let order = |multiple: f64, it: &Break| ((multiple.ln() * 50.0).round() as i64, !it.is_own);
    failing.min_by_key(|(multiple, it)| order(*multiple, it)).map(|(_, it)| it)
}

/// Foresees a checked design. A workload may be given: one that was observed.
pub fn forecast(
    report: &CheckReport,
    observed: impl Fn(&mut Workload),
    options: &Options,
    prices: &Prices,
) -> Forecast {
    let report = &aged(report, options.months, prices);
    let workload = Workload::ahead(report, &observed, options);
    let scales = options.scales.iter().map(|multiple| Scale {
        multiple: *multiple,
        outcome: run(&workload, *multiple, options),
        costs: costs(&workload, *multiple, options, prices),
        bytes: workload.places.iter().map(|place| place.bytes(0.0) * multiple).sum(),
    });
    let scales: Vec<Scale> = scales.collect();
    let breaks = breaks(&workload, options);
    let greatest = options.scales.iter().copied().fold(1.0, f64::max);
    let advice = first_break(&breaks)
        .and_then(|it| advise(report, &workload, it, &observed, options, prices));
    Forecast {
        name: report.design.as_ref().map(|design| design.name().to_owned()).unwrap_or_default(),
        options: options.clone(),
        cheapest: crossings(&workload, options, prices, greatest),
        workload,
        scales,
        breaks,
        advice,
    }
}
