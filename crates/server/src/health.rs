//! Monitors whether the backend accepts writes, and logs changes.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use crate::shared::{Lifecycle, Shared};
use keyloom_engine::Health;

/// How often the state is polled.
const PERIOD: Duration = Duration::from_secs(1);

/// The backend's health at the last poll.
#[derive(Debug, Default)]
pub(crate) struct HealthMonitor(Mutex<Health>);

impl HealthMonitor {
    /// Records the backend's health, and logs a change to standard error.
    pub(crate) fn update(&self, now: Health) -> Health {
        let mut before = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *before != now {
            // If standard error cannot be written, there is nowhere to report that.
            drop(writeln!(std::io::stderr(), "{}", line(&now)));
            before.clone_from(&now);
        }
        now
    }
}

/// The log line.
fn line(health: &Health) -> String {
    match health {
        Health::Ready => "the store accepts writes again".to_owned(),
        Health::ReadOnly { reason, restart_needed } => {
            let after =
                if *restart_needed { "restart needed" } else { "writes resume when possible" };
            format!("error: the store refuses writes: {reason} ({after})")
        }
    }
}

/// The body of `GET /health` if writes are refused.
pub(crate) fn complaint(health: &Health) -> Option<String> {
    match health {
        Health::Ready => None,
        Health::ReadOnly { reason, restart_needed } => {
            let restart = if *restart_needed { "; restart needed" } else { "" };
            Some(format!("writes are refused: {reason}{restart}\n"))
        }
    }
}

/// Polls the backend until the server ends.
pub(crate) async fn poll(shared: Arc<Shared>) {
    let mut lifecycle = shared.lifecycle.subscribe();
    loop {
        tokio::select! {
            _ = lifecycle.wait_for(|state| *state != Lifecycle::Serving) => return,
            () = sleep(PERIOD) => drop(shared.health.update(shared.backend.health())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_states_its_reason_and_remedy() {
        let health =
            |restart_needed| Health::ReadOnly { reason: "disk full".into(), restart_needed };
        assert_eq!(complaint(&Health::Ready), None);
        assert_eq!(complaint(&health(false)).unwrap(), "writes are refused: disk full\n");
        assert!(complaint(&health(true)).unwrap().ends_with("disk full; restart needed\n"));
        assert!(line(&health(true)).ends_with("refuses writes: disk full (restart needed)"));
    }
}
