//! A common clock for the processes that share a store.

use std::sync::Arc;
use std::time::Duration;

use keyloom_api::clock::Clock;
use keyloom_store::Store;

/// The clock that a database goes by: the store's own in place of this machine's, if it has one. A clock that
/// a test moves stays.
pub(crate) fn of(store: &Arc<dyn Store>, clock: &Arc<dyn Clock>) -> Arc<dyn Clock> {
    if clock.is_of_machine() && store.now_ms().is_some() {
        return Arc::new(StoreClock { store: Arc::clone(store), machine: Arc::clone(clock) });
    }
    Arc::clone(clock)
}

#[derive(Debug)]
struct StoreClock {
    store: Arc<dyn Store>,
    machine: Arc<dyn Clock>,
}

impl Clock for StoreClock {
    fn now_ms(&self) -> u64 {
        self.store.now_ms().unwrap_or_else(|| self.machine.now_ms())
    }

    fn ticks(&self) -> Duration {
        self.machine.ticks()
    }
}
