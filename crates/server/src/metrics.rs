//! Counters, in the text form that Prometheus reads.
//!
//! Memory is fixed: one row per operation of the API, one for CloudWatch and one for unknown
//! targets, so that no client can grow it with invented names.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use crate::operation::{Operation, SLOTS};

/// Upper bounds of the latency buckets, in microseconds.
const BUCKETS_MICROS: [u64; 16] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 10_000_000,
];

/// The statuses that are counted separately; others count as the last.
const STATUSES: [u16; 8] = [200, 400, 404, 408, 413, 503, 500, 0];

/// All counters of the server.
#[derive(Debug)]
pub(crate) struct Metrics {
    operations: Box<[Row; SLOTS]>,
    pub(crate) throttles: Counter,
    pub(crate) strangers: Counter,
    pub(crate) connections_total: Counter,
    pub(crate) connections_refused: Counter,
    pub(crate) connections_timed_out: Counter,
    pub(crate) connections_evicted: Counter,
    pub(crate) connections: Gauge,
    pub(crate) in_flight: Gauge,
    pub(crate) bytes_received: Counter,
    pub(crate) bytes_sent: Counter,
}

/// The counters of one operation.
#[derive(Debug, Default)]
struct Row {
    by_status: [Counter; STATUSES.len()],
    /// Counts per bucket, not cumulative; the last is for longer latencies.
    latency: [Counter; BUCKETS_MICROS.len() + 1],
    latency_micros: Counter,
}

/// A monotonic counter.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A gauge: a value that rises and falls.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicI64);

impl Gauge {
    /// Increments the gauge until the guard is dropped.
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Inside(self)
    }

    pub(crate) fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Decrements its [`Gauge`] when dropped.
#[derive(Debug)]
pub(crate) struct Inside<'g>(&'g Gauge);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            operations: Box::new(std::array::from_fn(|_| Row::default())),
            throttles: Counter::default(),
            strangers: Counter::default(),
            connections_total: Counter::default(),
            connections_refused: Counter::default(),
            connections_timed_out: Counter::default(),
            connections_evicted: Counter::default(),
            connections: Gauge::default(),
            in_flight: Gauge::default(),
            bytes_received: Counter::default(),
            bytes_sent: Counter::default(),
        }
    }
}

impl Metrics {
    /// Counts one request.
    pub(crate) fn answered(&self, operation: Operation, status: u16, took: Duration) {
        let Some(row) = self.operations.get(operation.slot()) else { return };
        let status = STATUSES.iter().position(|known| *known == status);
        if let Some(counter) = row.by_status.get(status.unwrap_or(STATUSES.len() - 1)) {
            counter.add(1);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS_MICROS.partition_point(|bound| *bound < micros);
        if let Some(counter) = row.latency.get(bucket) {
            counter.add(1);
        }
        row.latency_micros.add(micros);
    }

    /// The whole page.
    pub(crate) fn render(&self) -> String {
        let mut page = String::with_capacity(4096);
        self.render_requests(&mut page);
        self.render_latency(&mut page);
        let mut single = |name: &str, kind: &str, help: &str, value: &dyn std::fmt::Display| {
            single(&mut page, name, kind, help, value);
        };
        single(
            "keyloom_throttled_requests_total",
            "counter",
            "Throttled requests.",
            &self.throttles.get(),
        );
        single(
            "keyloom_refused_pages_total",
            "counter",
            "Requests refused for their Origin or Host.",
            &self.strangers.get(),
        );
        single("keyloom_requests_in_flight", "gauge", "Requests in flight.", &self.in_flight.get());
        single("keyloom_connections", "gauge", "Open connections.", &self.connections.get());
        single(
            "keyloom_connections_total",
            "counter",
            "Connections accepted.",
            &self.connections_total.get(),
        );
        single(
            "keyloom_connections_refused_total",
            "counter",
            "Connections refused because too many were open.",
            &self.connections_refused.get(),
        );
        single(
            "keyloom_connections_timed_out_total",
            "counter",
            "Connections closed because they were idle or too slow.",
            &self.connections_timed_out.get(),
        );
        single(
            "keyloom_connections_evicted_total",
            "counter",
            "Idle connections closed to make room for others.",
            &self.connections_evicted.get(),
        );
        single(
            "keyloom_received_bytes_total",
            "counter",
            "Bytes received.",
            &self.bytes_received.get(),
        );
        single("keyloom_sent_bytes_total", "counter", "Bytes sent.", &self.bytes_sent.get());
        page
    }

    /// The rows that are not empty, with their operations.
    fn rows(&self) -> impl Iterator<Item = (&'static str, &Row)> {
        let rows = Operation::all().zip(self.operations.iter());
        rows.map(|(operation, row)| (operation.name(), row)).filter(|(_, row)| !row.is_empty())
    }

    fn render_requests(&self, page: &mut String) {
        let name = "keyloom_requests_total";
        describe(page, name, "counter", "Requests by operation and status.");
        for (operation, row) in self.rows() {
            for (status, counter) in STATUSES.iter().zip(&row.by_status) {
                let count = counter.get();
                if count == 0 {
                    continue;
                }
                let status = if *status == 0 { "other".to_owned() } else { status.to_string() };
                let _ = writeln!(
                    page,
                    "{name}{{operation=\"{operation}\",status=\"{status}\"}} {count}"
                );
            }
        }
    }

    fn render_latency(&self, page: &mut String) {
        let name = "keyloom_request_duration_seconds";
        describe(
            page,
            name,
            "histogram",
            "Latency from the end of a request's headers to its response.",
        );
        for (operation, row) in self.rows() {
            let label = format!("operation=\"{operation}\"");
            let mut below = 0;
            for (bound, counter) in BUCKETS_MICROS.iter().zip(&row.latency) {
                below += counter.get();
                let seconds = *bound as f64 / 1e6;
                let _ = writeln!(page, "{name}_bucket{{{label},le=\"{seconds}\"}} {below}");
            }
            below += row.latency.last().map_or(0, Counter::get);
            let sum = row.latency_micros.get() as f64 / 1e6;
            let _ = writeln!(page, "{name}_bucket{{{label},le=\"+Inf\"}} {below}");
            let _ = writeln!(page, "{name}_sum{{{label}}} {sum}");
            let _ = writeln!(page, "{name}_count{{{label}}} {below}");
        }
    }
}

impl Row {
    fn is_empty(&self) -> bool {
        self.by_status.iter().all(|counter| counter.get() == 0)
    }
}

/// A metric without labels.
pub(crate) fn single(
    page: &mut String,
    name: &str,
    kind: &str,
    help: &str,
    value: &dyn std::fmt::Display,
) {
    describe(page, name, kind, help);
    let _ = writeln!(page, "{name} {value}");
}

fn describe(page: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_cumulative_and_ends_at_its_count() {
        let metrics = Metrics::default();
        let get = Operation::of_target("DynamoDB_20120810.GetItem");
        for micros in [10, 50, 51, 1_000_000_000] {
            metrics.answered(get, 200, Duration::from_micros(micros));
        }
        metrics.answered(get, 418, Duration::ZERO);
        let page = metrics.render();
        for line in [
            "keyloom_requests_total{operation=\"GetItem\",status=\"200\"} 4",
            "keyloom_requests_total{operation=\"GetItem\",status=\"other\"} 1",
            "keyloom_request_duration_seconds_bucket{operation=\"GetItem\",le=\"0.00005\"} 3",
            "keyloom_request_duration_seconds_bucket{operation=\"GetItem\",le=\"0.0001\"} 4",
            "keyloom_request_duration_seconds_bucket{operation=\"GetItem\",le=\"+Inf\"} 5",
            "keyloom_request_duration_seconds_count{operation=\"GetItem\"} 5",
            "keyloom_connections 0",
        ] {
            assert!(page.lines().any(|other| other == line), "{line} in\n{page}");
        }
        assert!(!page.contains("PutItem"), "rows that were never used are left out");
    }

    #[test]
    fn a_gauge_falls_when_its_guard_is_dropped() {
        let gauge = Gauge::default();
        let one = gauge.enter();
        let two = gauge.enter();
        assert_eq!(gauge.get(), 2);
        drop((one, two));
        assert_eq!(gauge.get(), 0);
    }
}
