//! Statistics of a composite-key database in bounded memory.
//!
//! 1. [`Sampling`] decides which requests are sampled; `sketch` and `window` have the summaries of
//!    fixed size that collect them.
//! 2. `attribution` maps a request to the access pattern of a design, or to its shape.
//! 3. [`StatsCollector`] records each request and keeps, for every table and index, its load over
//!    time, its heaviest keys, its distinct keys and its patterns; `insight` keeps the heaviest keys of
//!    each minute where Contributor Insights are enabled.
//! 4. [`report`]: a snapshot of what was collected, to be stored, sent, merged and read.
//! 5. [`AntiPatternDetector`] and [`RecommendationEngine`] analyse a report, against a design if there
//!    is one, and propose changes.
//! 6. [`Partitions`]: the partitions that AWS would have, and what they would throttle; [`Throttle`]
//!    selects whether that is only counted, enforced, or injected by rules.
//!
//! [`Monitor`] is the observer that a database is opened with. It joins statistics and partitions.

mod attribution;
mod collector;
pub mod detect;
mod insight;
mod metrics;
mod monitor;
pub mod partitions;
mod recommend;
mod redaction;
pub mod remote;
pub mod report;
mod sampling;
mod sketch;
mod throttle;
mod window;

pub use collector::{StatsCollector, StatsOptions};
pub use detect::{AntiPatternDetector, Confidence, Finding, Judge, Severity, Thresholds};
pub use metrics::prometheus;
pub use monitor::Monitor;
pub use partitions::{PartitionHeat, Partitions, PlaceHeat};
pub use recommend::RecommendationEngine;
pub use redaction::Redaction;
pub use report::Report;
pub use sampling::Sampling;
pub use sketch::{Distinct, Histogram};
pub use throttle::{Injection, Rule, Throttle, ThrottleSyntax, When};
pub use window::Slot;
