//! The open connections, of which idle ones are closed to make room for others.
//!
//! An idle connection costs its client nothing, so whoever opens enough of them could shut everyone else out.
//! When there is no room, the connections that have been without a request for longest are closed; half-sent
//! headers are not requests. A client that has used up its own share closes its own connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clients::client_of;
use crate::memory::NoRoom;
use crate::stalls::Activity;

/// One in this many connections is closed at a time, because finding them takes a pass over all.
const CLOSED_PART: usize = 64;

/// The open connections of a server.
#[derive(Debug, Default)]
pub(crate) struct OpenConnections {
    next_id: AtomicU64,
    by_id: Mutex<HashMap<u64, Arc<Activity>>>,
}

/// An entry for an open connection, removed when dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    connections: Arc<OpenConnections>,
    id: u64,
}

impl OpenConnections {
    pub(crate) fn insert(self: &Arc<Self>, activity: Arc<Activity>) -> OpenConnection {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(id, activity);
        OpenConnection { connections: Arc::clone(self), id }
    }

    /// Tells the longest idle connections to close, those of `client` or of all. Returns whether there
    /// are any.
    pub(crate) fn close_longest_idle(&self, client: Option<IpAddr>) -> bool {
        let client = client.map(client_of);
        let open = self.lock();
        let mut idle: Vec<_> = open
            .values()
            .filter(|one| client.is_none_or(|client| client_of(one.peer().address) == client))
            .filter_map(|one| Some((one.idle_since()?, one)))
            .collect();
        let count = idle.len() / CLOSED_PART + 1;
        if idle.len() > count {
            idle.select_nth_unstable_by_key(count, |(since, _)| *since);
            idle.truncate(count);
        }
        for (_, activity) in &idle {
            activity.evicted.notify_one();
        }
        !idle.is_empty()
    }

    /// Reserves more for a connection's buffers. If that exceeds the budget, idle connections are closed;
    /// it fails if there are none.
    pub(crate) fn grow(&self, activity: &Activity, bytes: usize) -> Result<(), NoRoom> {
        activity.account.grow_buffers(bytes).or_else(|no_room| {
            let has_closed = self.close_longest_idle(no_room.client(activity.peer().address));
            if has_closed { Ok(()) } else { Err(no_room) }
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Activity>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.id);
    }
}
