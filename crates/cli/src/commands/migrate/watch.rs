//! Progress of a running migration: one line that is redrawn on a terminal, plain lines elsewhere.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use keyloom::migrate::{MigrationPlan, Phase, Progress};
use keyloom::remote::Remote;
use serde_json::{Value as Json, json};

/// How often the line is drawn on a terminal, and written elsewhere.
const REDRAW: Duration = Duration::from_millis(200);
const LINE: Duration = Duration::from_secs(5);

/// The view.
pub(super) struct Live {
    /// How many items there are, about.
    total: u64,
    terminal: bool,
    /// When it was drawn, and the items and the time at the beginning.
    drawn: Mutex<(Instant, Option<(Instant, u64)>)>,
}

impl Live {
    pub(super) fn new(remote: &Remote, plan: &MigrationPlan) -> Self {
        let count = |table: &str| {
            let body = json!({ "TableName": table }).to_string();
            let answer = remote.call("DescribeTable", body.as_bytes()).ok()?;
            let answer: Json = serde_json::from_slice(&answer).ok()?;
            answer.pointer("/Table/ItemCount")?.as_u64()
        };
        let tables = plan.forward.sources().iter();
        let total = tables.filter_map(|table| count(&table.name)).sum();
        let drawn = Mutex::new((Instant::now(), None));
        Self { total, terminal: io::stderr().is_terminal(), drawn }
    }

    /// Shows how far it is, from time to time.
    pub(super) fn show(&self, progress: &Progress) {
        let Ok(mut drawn) = self.drawn.lock() else { return };
        let (began, first) = *drawn.1.get_or_insert((Instant::now(), progress.items));
        let pause = if self.terminal { REDRAW } else { LINE };
        if drawn.0.elapsed() >= pause {
            drawn.0 = Instant::now();
            let text = self.text(progress, began.elapsed(), progress.items.saturating_sub(first));
            let text = if self.terminal { format!("\r\x1b[K{text}") } else { format!("{text}\n") };
            // Progress that cannot be shown is no reason to stop.
            drop(io::stderr().write_all(text.as_bytes()));
        }
    }

    fn text(&self, progress: &Progress, took: Duration, copied: u64) -> String {
        let (read, written) = progress.units;
        let mut text = progress.phase.as_str().to_owned();
        if progress.phase == Phase::Backfill {
            let rate = copied as f64 / took.as_secs_f64().max(0.001);
            let left = self.total.saturating_sub(progress.items) as f64 / rate.max(0.001);
            let items = progress.items;
            let _ = write!(text, ": {items} of about {} items, {rate:.0}/s", self.total);
            if copied > 0 && left >= 1.0 {
                let _ = write!(text, ", about {} left", duration(left));
            }
        }
        if progress.looked_at > 0 {
            let _ = write!(text, ": {} items looked at", progress.looked_at);
        }
        let (changes, lag) = (progress.changes, progress.lag_s);
        text + &format!(
            "; {changes} changes, lag {lag:.0} s; {read:.0} read and {written:.0} write units"
        )
    }

    /// Takes the line off a terminal.
    pub(super) fn clear(&self) {
        if self.terminal {
            drop(io::stderr().write_all(b"\r\x1b[K"));
        }
    }
}

/// A time for people.
pub(super) fn duration(seconds: f64) -> String {
    match seconds as u64 {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7199 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}
