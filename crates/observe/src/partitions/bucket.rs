//! A token bucket: capacity that accrues at a steady rate and can be saved up to a limit.

/// What a partition, table or index may take, in units.
///
/// It begins full, as if nothing had been used before, and saves what is not used. It may fall below
/// zero: the price of a read is known only when it has been done.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    /// Units per second.
    rate: f64,
    /// How many seconds' worth it holds.
    seconds: f64,
    level: f64,
    at_ms: u64,
}

impl Bucket {
    pub(super) fn new(rate: f64, seconds: f64, now_ms: u64) -> Self {
        Self { rate, seconds, level: rate * seconds, at_ms: now_ms }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Changes the rate; what has been saved is kept.
    pub(super) fn set_rate(&mut self, rate: f64, now_ms: u64) {
        self.refill(now_ms);
        self.rate = rate;
        self.level = self.level.min(self.size());
    }

    fn size(&self) -> f64 {
        self.rate * self.seconds
    }

    fn refill(&mut self, now_ms: u64) {
        // Requests of several threads may come in another order than their times.
        let elapsed_ms = now_ms.saturating_sub(self.at_ms);
        if elapsed_ms > 0 {
            self.level = (self.level + self.rate * elapsed_ms as f64 / 1000.0).min(self.size());
            self.at_ms = now_ms;
        }
    }

    /// Whether so much is there beside what was taken for the same request. Of work that is not priced
    /// yet, something must be there; for work that is larger than the bucket, a full bucket is enough.
    pub(super) fn has(&mut self, units: f64, taken: f64, now_ms: u64) -> bool {
        self.refill(now_ms);
        if units > 0.0 {
            self.level + taken >= (units + taken).min(self.size())
        } else {
            self.level > 0.0
        }
    }

    pub(super) fn take(&mut self, units: f64, now_ms: u64) {
        self.refill(now_ms);
        self.level -= units;
    }

    /// Puts back what was taken and not used.
    pub(super) fn put_back(&mut self, units: f64) {
        self.level = (self.level + units).min(self.size());
    }

    /// The part of this bucket that goes to one of the halves of a partition.
    pub(super) fn halved(&self) -> Self {
        Self { level: self.level / 2.0, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_capacity_is_saved_for_five_minutes_and_no_longer() {
        let mut bucket = Bucket::new(10.0, 300.0, 0);
        assert!(bucket.has(3_000.0, 0.0, 0));
        bucket.take(3_000.0, 0);
        assert!(!bucket.has(0.0, 0.0, 0));
        assert!(bucket.has(2_990.0, 0.0, 299_000) && !bucket.has(2_991.0, 0.0, 299_000));
        assert!(!bucket.has(2_999.0, 0.0, 299_000));
        assert!(bucket.has(3_000.0, 0.0, 100_000_000));
        bucket.take(3_000.0, 100_000_000);
        assert!(!bucket.has(0.5, 0.0, 100_000_000));
    }

    #[test]
    fn debts_are_paid_before_anything_else_is_taken() {
        let mut bucket = Bucket::new(10.0, 300.0, 0);
        bucket.take(3_030.0, 0);
        assert!(!bucket.has(0.0, 0.0, 3_000));
        assert!(bucket.has(0.0, 0.0, 3_001));
    }

    #[test]
    fn work_larger_than_the_bucket_needs_a_full_one() {
        let mut bucket = Bucket::new(1.0, 1.0, 0);
        assert!(bucket.has(400.0, 0.0, 0));
        bucket.take(400.0, 0);
        assert!(!bucket.has(400.0, 0.0, 399_000));
        assert!(bucket.has(400.0, 0.0, 400_000));
    }
}
