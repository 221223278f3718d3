//! The heaviest key of each minute or hour, which shows a hot key that moves.

use std::collections::VecDeque;

use crate::sketch::{Load, Seen, TopKeys};

/// Keys monitored inside one window.
const MONITORED: usize = 16;
const COUNTERS: usize = 256;

/// The heaviest key of the last windows of one width.
#[derive(Debug)]
pub(super) struct Leaders {
    width_ms: u64,
    limit: usize,
    start_ms: u64,
    requests: u64,
    current: TopKeys,
    past: VecDeque<Led>,
}

/// One window and its heaviest key.
#[derive(Clone, Debug)]
pub(super) struct Led {
    pub(super) start_ms: u64,
    pub(super) hash: u64,
    pub(super) partition: Box<[u8]>,
    /// Its share of the load, at least.
    pub(super) share: f64,
    pub(super) requests: u64,
}

impl Leaders {
    pub(super) fn new(width_ms: u64, limit: usize) -> Self {
        Self {
            width_ms,
            limit,
            start_ms: 0,
            requests: 0,
            current: TopKeys::new(MONITORED, COUNTERS),
            past: VecDeque::new(),
        }
    }

    pub(super) fn add(&mut self, seen: &Seen<'_>) {
        let start_ms = seen.at_ms - seen.at_ms % self.width_ms;
        if start_ms > self.start_ms {
            self.close();
            self.start_ms = start_ms;
        }
        self.requests += seen.weight;
        self.current.add(seen);
    }

    fn close(&mut self) {
        if let Some(led) = self.leader() {
            if self.past.len() == self.limit {
                self.past.pop_front();
            }
            self.past.push_back(led);
            self.current = TopKeys::new(MONITORED, COUNTERS);
            self.requests = 0;
        }
    }

    fn leader(&self) -> Option<Led> {
        let (listed, _) = self.current.heaviest(1);
        let (load, entry) = listed.first()?;
        let total = self.current.total().max(1) as f64;
        Some(Led {
            start_ms: self.start_ms,
            hash: entry.hash,
            partition: entry.partition.clone(),
            share: (load - entry.error) as f64 / total,
            requests: self.requests,
        })
    }

    /// Every window that was kept, and the one that is not over yet.
    pub(super) fn all(&self) -> Vec<Led> {
        self.past.iter().cloned().chain(self.leader()).collect()
    }
}

/// The load of one sampled touch, multiplied by its weight.
pub(super) fn load_of(work: keyloom_core::observation::Work, weight: u64) -> Load {
    use keyloom_core::observation::Work;
    let halves = (work.units() * weight).as_halves();
    match work {
        Work::Read(_) => Load { read_halves: halves, write_halves: 0 },
        Work::Write(_) => Load { read_halves: 0, write_halves: halves },
    }
}
