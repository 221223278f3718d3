//! What happens without a request: dropped keyspaces are emptied, expired items removed, old stream
//! records trimmed.
//!
//! One thread per database, which holds the database only weakly and ends with it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use keyloom_core::Result;
use keyloom_store::{Direction, KeyRange};
use parking_lot::{Condvar, Mutex};

use crate::database::Inner;
use crate::{layout, store_error};

/// How long the thread sleeps when nobody wakes it.
const INTERVAL: Duration = Duration::from_secs(30);

/// Keys per transaction when a keyspace is emptied.
const DELETE_CHUNK: usize = 1000;

/// Wakes the background thread.
#[derive(Debug, Default)]
pub(crate) struct Background {
    signal: Arc<Signal>,
}

#[derive(Debug, Default)]
struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    work: bool,
    ended: bool,
}

impl Background {
    /// Starts the thread, if the options want one.
    pub(crate) fn start(&self, inner: &Arc<Inner>) {
        if !inner.options.background {
            return;
        }
        let (signal, inner) = (Arc::clone(&self.signal), Arc::downgrade(inner));
        let thread = std::thread::Builder::new().name("keyloom-background".into());
        // Without a thread the database still works; maintenance then waits for a call.
        drop(thread.spawn(move || work(&signal, &inner)));
    }

    /// Has the thread look for work now.
    pub(crate) fn wake(&self) {
        let mut state = self.signal.state.lock();
        state.work = true;
        self.signal.changed.notify_all();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let mut state = self.signal.state.lock();
        state.ended = true;
        self.signal.changed.notify_all();
    }
}

fn work(signal: &Signal, inner: &Weak<Inner>) {
    loop {
        let mut state = signal.state.lock();
        if !state.work && !state.ended {
            signal.changed.wait_for(&mut state, INTERVAL);
        }
        if state.ended {
            return;
        }
        state.work = false;
        drop(state);
        let Some(inner) = inner.upgrade() else { return };
        // A failure shows itself to the next request; the work is tried again at the next round.
        drop(run(&inner));
    }
}

/// Does everything that is due.
pub(crate) fn run(inner: &Inner) -> Result<()> {
    empty_dropped_keyspaces(inner)
}

/// Removes the entries of keyspaces that no table uses any more.
fn empty_dropped_keyspaces(inner: &Inner) -> Result<()> {
    let notes: Vec<_> = {
        let snapshot = inner.store.snapshot().map_err(store_error)?;
        let range = KeyRange::prefix(&layout::all_dropped());
        snapshot.scan(range, Direction::Forward).collect::<Result<_, _>>().map_err(store_error)?
    };
    for (note, _) in notes {
        if let Some(keyspace) = layout::dropped_keyspace(&note) {
            for prefix in [layout::entries(keyspace), layout::stream_records(keyspace)] {
                inner.store.delete_prefix(&prefix, DELETE_CHUNK).map_err(store_error)?;
            }
        }
        let mut transaction = inner.store.begin(&[&note]).map_err(store_error)?;
        transaction.delete(note.clone());
        transaction.commit().map_err(crate::commit_error)?;
    }
    Ok(())
}
