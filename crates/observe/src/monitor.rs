//! The observer that a database is opened with: combines statistics and throttling.

use std::num::NonZeroU32;
use std::sync::Arc;

use keyloom_core::Error;
use keyloom_core::observation::{
    Contributions, InsightQuery, NotAdmitted, NotCounted, Observation, Observer, Touch,
};

use crate::partitions::Partitions;
use crate::sampling::{Sampler, Sampling};
use crate::throttle::Throttle;

/// Observes a database: feeds the model of its partitions, throttles, and forwards to further observers.
///
/// ```
/// use std::sync::Arc;
/// use keyloom_observe::{Monitor, Throttle};
///
/// let monitor = Arc::new(Monitor::new(Throttle::Observe));
/// assert!(monitor.partitions().all(0).is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Monitor {
    throttle: Throttle,
    partitions: Partitions,
    companion: Option<Arc<dyn Observer>>,
    sampler: Sampler,
}

impl Monitor {
    /// A monitor that throttles, or only observes, as `throttle` says.
    pub fn new(throttle: Throttle) -> Self {
        let partitions = match &throttle {
            Throttle::Enforce { burst_seconds } => Partitions::with_burst(*burst_seconds),
            _ => Partitions::new(),
        };
        Self { throttle, partitions, ..Self::default() }
    }

    /// Another observer that receives the same events, such as a collector of statistics. It decides which
    /// requests are sampled.
    #[must_use]
    pub fn with(mut self, companion: Arc<dyn Observer>) -> Self {
        self.companion = Some(companion);
        self
    }

    /// Sets which requests are sampled, if no companion decides.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampler = Sampler::new(sampling);
        self
    }

    /// The virtual partitions.
    pub fn partitions(&self) -> &Partitions {
        &self.partitions
    }

    /// Whether and how requests are refused.
    pub fn throttle(&self) -> &Throttle {
        &self.throttle
    }
}

impl Observer for Monitor {
    fn sample(&self) -> Option<NonZeroU32> {
        match (&self.companion, &self.throttle) {
            (Some(companion), _) => companion.sample(),
            // A gate counts what it admits, sampled or not.
            (None, Throttle::Off | Throttle::Enforce { .. }) => None,
            (None, _) => self.sampler.next(),
        }
    }

    fn is_gate(&self) -> bool {
        matches!(self.throttle, Throttle::Enforce { .. } | Throttle::Inject(_))
    }

    fn admit(&self, touches: &[Touch<'_>], now_ms: u64) -> Result<(), NotAdmitted> {
        match &self.throttle {
            Throttle::Enforce { .. } => self.partitions.admit(touches, now_ms),
            Throttle::Inject(injection) => injection.admit(touches),
            Throttle::Off | Throttle::Observe => Ok(()),
        }
    }

    fn charge(&self, touches: &[Touch<'_>], now_ms: u64) {
        if matches!(self.throttle, Throttle::Enforce { .. }) {
            self.partitions.charge(touches, now_ms);
        }
    }

    fn observe(&self, observation: &Observation<'_>) {
        // A gate has counted the work when it was admitted.
        if matches!(self.throttle, Throttle::Observe | Throttle::Inject(_)) {
            self.partitions.observe(observation);
        }
        if let Some(companion) = &self.companion {
            companion.observe(observation);
        }
    }

    fn failed(&self, operation: &str, error: &Error) {
        if let Some(companion) = &self.companion {
            companion.failed(operation, error);
        }
    }

    fn grown(&self, table: &str, index: Option<&str>) -> Option<(u64, u64)> {
        self.partitions.grown(table, index)
    }

    fn contributors(&self, query: &InsightQuery<'_>) -> Result<Contributions, NotCounted> {
        self.companion.as_ref().ok_or(NotCounted::Nobody)?.contributors(query)
    }

    fn forget(&self, table: &str, index: Option<&str>) {
        self.partitions.forget(table, index);
        if let Some(companion) = &self.companion {
            companion.forget(table, index);
        }
    }
}
