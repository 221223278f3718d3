//! The multiple of its load at which each flow first fails.

use crate::profile::{Options, Profile};
use crate::run::{Bottleneck, FlowOutcome, Limit, run};
use crate::workload::{Place, Workload};

/// A flow fails when more of its requests than this are refused.
pub const FAILING: f64 = 0.001;
/// Greater multiples are not looked at.
pub const GREATEST: f64 = 1e6;
const SMALLEST: f64 = 1e-3;
/// The step of multiples among which the first failing one is looked for.
const STEP: f64 = 1.5;
/// How exact a multiple is.
const PRECISION: f64 = 1.005;

/// Where a flow first fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Break {
    /// The name of the flow.
    pub flow: String,
    /// The multiple of the load; none if it does not fail below [`GREATEST`].
    pub multiple: Option<f64>,
    /// What refuses its requests there.
    pub bottleneck: Option<Bottleneck>,
    /// Whether the flow itself asks for the key that is too hot, and does not only share a partition with it.
    pub is_own: bool,
    /// The same, for people.
    pub reason: String,
}

/// What is kept of a simulation: minutes of many of them would fill the memory.
struct Known {
    scale: f64,
    /// The share of its requests that are refused, by flow of the workload.
    refused: Vec<f64>,
    bottlenecks: Vec<Bottleneck>,
}

/// Where each flow first fails, by flow of the workload.
pub fn breaks(workload: &Workload, options: &Options) -> Vec<Break> {
    // A day's peak lasts for hours: as long as it takes to tell.
    let profile = match options.profile {
        Profile::Daily { .. } => Profile::Constant,
        profile => profile,
    };
    let options = Options { profile, minutes: None, ..options.clone() };
    let mut known = Vec::new();
    (0..workload.flows.len()).map(|flow| break_of(workload, &options, flow, &mut known)).collect()
}

fn break_of(workload: &Workload, options: &Options, flow: usize, known: &mut Vec<Known>) -> Break {
    let name = workload.flows.get(flow).map(|it| it.name.clone()).unwrap_or_default();
    let mut fails = |scale: f64| fails_at(workload, options, flow, scale, known);
    // Not every flow that fails fails at greater loads, too: then there are more partitions, and it has its own.
    let steps = (GREATEST / SMALLEST).log(STEP).ceil() as i32;
    let found = (0..=steps).map(|step| SMALLEST * STEP.powi(step)).find(|scale| fails(*scale));
    let Some(mut high) = found else {
        let reason = format!("no limit below {GREATEST:.0} times the load");
        return Break { flow: name, multiple: None, bottleneck: None, is_own: false, reason };
    };
    let mut low = high / STEP;
    while high / low > PRECISION {
        let middle = (low * high).sqrt();
        *(if fails(middle) { &mut high } else { &mut low }) = middle;
    }
    let there = known.iter().find(|it| it.scale.to_bits() == high.to_bits());
    let bottleneck = there.and_then(|it| blamed(workload, flow, &it.bottlenecks));
    let reason = bottleneck
        .as_ref()
        .map_or_else(|| "requests are refused".to_owned(), |it| describe(workload, it));
    let spread = |it: &Bottleneck| match it.limit {
        Limit::Key { spread, .. } | Limit::EveryKey { spread } => Some((it.place, spread)),
        Limit::Partitions | Limit::Whole => None,
    };
    let asks = |key: (usize, usize)| {
        let flow = workload.flows.get(flow);
        flow.is_some_and(|flow| flow.touches.iter().any(|it| (it.place, it.spread) == key))
    };
    let is_own = bottleneck.as_ref().and_then(spread).is_none_or(asks);
    Break { flow: name, multiple: Some(high), bottleneck, is_own, reason }
}

/// Whether a flow fails at a multiple. What they say is kept: the flows of one workload share them.
fn fails_at(
    workload: &Workload,
    options: &Options,
    flow: usize,
    scale: f64,
    known: &mut Vec<Known>,
) -> bool {
    let at = known.iter().position(|it| it.scale.to_bits() == scale.to_bits());
    let at = at.unwrap_or_else(|| {
        let outcome = run(workload, scale, options);
        let refused = outcome.flows.iter().map(FlowOutcome::refused_share).collect();
        known.push(Known { scale, refused, bottlenecks: outcome.bottlenecks });
        known.len() - 1
    });
    let refused = known.get(at).and_then(|it| it.refused.get(flow));
    refused.is_some_and(|share| *share > FAILING)
}

/// The bottleneck that a flow meets: the greatest at a place and direction that it touches.
pub fn blamed(workload: &Workload, flow: usize, bottlenecks: &[Bottleneck]) -> Option<Bottleneck> {
    let flow = workload.flows.get(flow)?;
    let touches = |it: &&Bottleneck| {
        it.is_write == flow.is_write
            && flow.touches.iter().any(|touch| {
                touch.place == it.place
                    && match it.limit {
                        Limit::Key { spread, .. } | Limit::EveryKey { spread } => {
                            spread == touch.spread
                        }
                        Limit::Partitions | Limit::Whole => true,
                    }
            })
    };
    let near = |it: &&Bottleneck| {
        it.is_write == flow.is_write && flow.touches.iter().any(|t| t.place == it.place)
    };
    bottlenecks.iter().find(touches).or_else(|| bottlenecks.iter().find(near)).cloned()
}

/// A bottleneck, for people.
pub fn describe(workload: &Workload, bottleneck: &Bottleneck) -> String {
    let Some(place) = workload.places.get(bottleneck.place) else { return String::new() };
    let (kind, limit) = if bottleneck.is_write { ("writes", "1,000") } else { ("reads", "3,000") };
    let name = place.name();
    match bottleneck.limit {
        Limit::Key { spread, value, no_split, is_alone } => {
            let key = place.spreads.get(spread).map(|it| it.name(value)).unwrap_or_default();
            let why = no_split
                .map(|it| format!("; it is not split: {}", it.as_str()))
                .unwrap_or_default();
            let table = blocked_table(place, bottleneck.is_write);
            let others = if is_alone { "" } else { ", with others in its partition," };
            format!(
                "{key} of {name}{others} reaches {limit} {kind}/s, what one partition takes{why}{table}"
            )
        }
        Limit::EveryKey { spread } => {
            let label = place.spreads.get(spread).map(|it| it.label.clone()).unwrap_or_default();
            format!(
                "every value of {label} of {name} reaches {limit} {kind}/s, what one partition takes"
            )
        }
        Limit::Partitions => {
            format!(
                "partitions of {name} that several keys share reach what they take; hot ones are split within minutes, and a table grows within half an hour"
            )
        }
        Limit::Whole => format!("{name} reaches its capacity of {kind}"),
    }
}

/// Writes that an index cannot take are refused for its table.
fn blocked_table(place: &Place, is_write: bool) -> String {
    match &place.index {
        Some(_) if is_write => format!("; further writes to `{}` are refused with it", place.table),
        _ => String::new(),
    }
}
