//! Whether the backend takes writes, and who is told when that changes.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use crate::shared::{Lifecycle, Shared};
use keyloom_engine::Health;

/// How often health is checked, whether anyone asks or not.
const PERIOD: Duration = Duration::from_secs(1);

/// The health of the backend at the last check.
#[derive(Debug, Default)]
pub(crate) struct LastHealth(Mutex<Health>);

impl LastHealth {
    /// Looks at the backend, and says on standard error what has changed.
    pub(crate) fn update(&self, now: Health) -> Health {
        let mut before = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *before != now {
            // When even this cannot be written there is nobody to tell.
            drop(writeln!(std::io::stderr(), "{}", line(&now)));
            before.clone_from(&now);
        }
        now
    }
}

/// The line of the log.
fn line(health: &Health) -> String {
    match health {
        Health::Ready => "the store takes writes again".to_owned(),
        Health::ReadOnly { reason, restart_needed } => {
            let after = if *restart_needed {
                "restart needed"
            } else {
                "it goes on when it can write again"
            };
            format!("error: the store refuses writes: {reason} ({after})")
        }
    }
}

/// What `GET /health` says, if all is not well.
pub(crate) fn complaint(health: &Health) -> Option<String> {
    match health {
        Health::Ready => None,
        Health::ReadOnly { reason, restart_needed } => {
            let restart = if *restart_needed { "; restart needed" } else { "" };
            Some(format!("writes are refused: {reason}{restart}\n"))
        }
    }
}

/// Looks at the backend until the server ends.
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
    fn what_is_wrong_is_told_with_the_way_out() {
        let health =
            |restart_needed| Health::ReadOnly { reason: "disk full".into(), restart_needed };
        assert_eq!(complaint(&Health::Ready), None);
        assert_eq!(complaint(&health(false)).unwrap(), "writes are refused: disk full\n");
        assert!(complaint(&health(true)).unwrap().ends_with("disk full; restart needed\n"));
        assert!(line(&health(true)).ends_with("refuses writes: disk full (restart needed)"));
    }
}
