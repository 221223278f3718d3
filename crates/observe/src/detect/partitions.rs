//! Detects load that AWS's partitions would throttle.

use keyloom_core::Operation;

use super::{Confidence, Finding, Judge, Severity, percent, short};
use crate::partitions::{NoSplit, PartitionHeat, PlaceHeat};

/// Requests that were refused for lack of throughput, or would have been.
pub(super) fn refused_work(judge: &Judge<'_>) -> Vec<Finding> {
    let places = judge.report.partitions.iter().filter(|heat| heat.throttled_requests() > 0);
    places.filter_map(|heat| finding(judge, heat)).collect()
}

fn finding(judge: &Judge<'_>, heat: &PlaceHeat) -> Option<Finding> {
    let place = judge.report.place(&heat.table, heat.index.as_deref())?;
    let refused = short(heat.throttled_requests() as f64);
    let title = format!("AWS refuses {refused} of these requests for lack of throughput");
    let mut finding =
        Finding::new("lack-of-throughput", Severity::Error, Confidence::High, place, title);
    for (reason, count) in &heat.throttled {
        finding = finding.shows(format!("{} requests: {reason}", short(*count as f64)));
    }
    if heat.index.is_some() && heat.throttled.keys().any(|reason| reason.contains("Write")) {
        let table = &heat.table;
        finding = finding.shows(format!("what the index cannot take, its table `{table}` refuses"));
    }
    let peak = heat.partitions.iter().map(PartitionHeat::peak_utilisation);
    let peak = peak.fold(0.0, f64::max);
    finding = finding.shows(format!(
        "{} partitions, the hottest at {} of its limit over ten seconds",
        heat.partitions.len(),
        percent(peak)
    ));
    let mut fixes = Vec::new();
    if heat.throttled.keys().any(|reason| reason.contains("KeyRange")) {
        fixes.push("spread the keys of the hottest partition over more partition keys");
        let held = heat.partitions.iter().find_map(|partition| partition.no_split);
        finding = held.map(why).into_iter().fold(finding, Finding::shows);
    }
    if heat.throttled.keys().any(|reason| reason.contains("Provisioned")) {
        fixes.push("provision more, or pay per request");
    }
    if heat.throttled.keys().any(|reason| reason.contains("MaxOnDemand")) {
        fixes.push("raise the maximum of the on-demand throughput");
    }
    if heat.throttled.keys().any(|reason| reason.contains("Account")) {
        fixes.push("ask AWS for a higher quota");
    }
    let concerned = Judge::labels(place, |pattern| !pattern.is(Operation::Scan));
    Some(
        finding
            .concerns(concerned)
            .fix(fixes.join("; "))
            .headroom(0.0)
            .at_ten("more than nine of ten further requests are refused, too"),
    )
}

/// Why DynamoDB does not split a hot partition.
fn why(reason: NoSplit) -> &'static str {
    match reason {
        NoSplit::OneItem => "it is not split: all its load is on one item",
        NoSplit::LocalIndex => "it is not split: a local index holds its item collection together",
        NoSplit::MovingSortKey => {
            "it is not split: its sort key only moves on, so the load would move on, too"
        }
        NoSplit::TooMany => "it is not split any more here: too many partitions are followed",
    }
}

#[cfg(test)]
mod tests {
    use keyloom_design::cost::Prices;

    use super::*;
    use crate::AntiPatternDetector;
    use crate::report::{PlaceReport, Report};

    fn findings(reason: Option<&str>) -> Vec<Finding> {
        let partition = PartitionHeat {
            peak_write_rate: 2500.0,
            no_split: Some(NoSplit::OneItem),
            ..PartitionHeat::default()
        };
        let heat = PlaceHeat {
            table: "Orders".into(),
            partitions: vec![partition],
            throttled: reason.into_iter().map(|reason| (reason.to_owned(), 1200)).collect(),
            ..PlaceHeat::default()
        };
        let place = PlaceReport { table: "Orders".into(), ..PlaceReport::default() };
        let report = Report { places: vec![place], partitions: vec![heat], ..Report::default() };
        let prices = Prices::default();
        let judge = Judge::new(&report, None, &prices);
        let mut findings = AntiPatternDetector::new(judge).detect();
        findings.retain(|finding| finding.id == "lack-of-throughput");
        findings
    }

    #[test]
    fn what_partitions_refuse_is_an_error_with_the_reason_and_the_way_out() {
        let found = findings(Some("TableWriteKeyRangeThroughputExceeded"));
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(finding.severity, Severity::Error);
        let evidence = finding.evidence.join("; ");
        assert!(evidence.contains("TableWriteKeyRange") && evidence.contains("250"), "{evidence}");
        assert!(evidence.contains("one item") && finding.fix.contains("spread"), "{finding:?}");
        let provisioned = findings(Some("TableReadProvisionedThroughputExceeded"));
        assert_eq!(provisioned[0].fix, "provision more, or pay per request");
        assert!(findings(None).is_empty());
    }
}
