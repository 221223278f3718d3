//! A forecast for programs.

use serde_json::{Value, json};

use crate::costs::Way;
use crate::forecast::{Forecast, Scale};
use crate::limits::describe;

/// The forecast as JSON.
pub fn json(forecast: &Forecast) -> Value {
    let breaks: Vec<Value> = forecast
        .breaks
        .iter()
        .map(|it| json!({"pattern": it.flow, "multiple": it.multiple, "reason": it.reason}))
        .collect();
    let cheapest: Vec<Value> = forecast
        .cheapest
        .iter()
        .map(|(from, way)| json!({"from": from, "way": way.as_str()}))
        .collect();
    let advice = forecast.advice.as_ref().map(|advice| {
        let diff: Vec<String> = advice.diff.iter().map(|(sign, line)| format!("{sign} {line}")).collect();
        json!({
            "text": advice.text, "diff": diff, "before": advice.before, "after": advice.after, "dearer": advice.dearer,
        })
    });
    let left_out: Vec<Value> = forecast
        .workload
        .left_out
        .iter()
        .map(|(name, reason)| json!({"pattern": name, "reason": reason}))
        .collect();
    json!({
        "design": forecast.name,
        "minutes": forecast.options.length(),
        "breaks": breaks,
        "scales": forecast.scales.iter().map(|it| scale(forecast, it)).collect::<Vec<_>>(),
        "cheapest": cheapest,
        "advice": advice,
        "assumed_even": forecast.workload.unknown,
        "left_out": left_out,
    })
}

fn scale(forecast: &Forecast, scale: &Scale) -> Value {
    let retries = forecast.options.retries;
    let flows = forecast.workload.flows.iter().zip(&scale.outcome.flows).map(|(flow, it)| {
        let refused = it.refused_share();
        json!({
            "pattern": flow.name,
            "calls_per_second": flow.peak * scale.multiple,
            "refused": refused,
            "worst_refused": it.worst_refused,
            "failed": it.failed_share(),
            "added_ms": {"p50": it.added_ms(retries, 0.5), "p99": it.added_ms(retries, 0.99)},
        })
    });
    let places = forecast.workload.places.iter().zip(&scale.outcome.places).map(|(place, it)| {
        json!({
            "table": place.table,
            "index": place.index,
            "bytes": place.bytes(0.0) * scale.multiple,
            "partitions": it.partitions,
            "splits": it.splits,
            "peak_units": {"read": it.peak.read, "write": it.peak.write},
            "hottest": it.hottest,
        })
    });
    let bottlenecks = scale.outcome.bottlenecks.iter().map(|it| {
        let place = forecast.workload.places.get(it.place).map(crate::workload::Place::name);
        json!({
            "place": place,
            "writes": it.is_write,
            "refused_units": it.refused,
            "since_minute": it.since,
            "text": describe(&forecast.workload, it),
        })
    });
    let costs: serde_json::Map<String, Value> = Way::ALL
        .into_iter()
        .zip(scale.costs.dollars)
        .map(|(way, it)| (way.as_str().to_owned(), json!(it)))
        .collect();
    json!({
        "multiple": scale.multiple,
        "bytes": scale.bytes,
        "patterns": flows.collect::<Vec<_>>(),
        "places": places.collect::<Vec<_>>(),
        "bottlenecks": bottlenecks.collect::<Vec<_>>(),
        "dollars_a_month": costs,
    })
}
