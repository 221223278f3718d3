//! Transaction conflicts: which items are locked by transactions in progress.
//!
//! As on AWS, a transaction that conflicts with another on one of its items is cancelled, and a single write that
//! conflicts with a transaction is refused. A transaction that meets a single write waits for its lock in the store,
//! as single writes do among themselves: that takes less time than reporting a conflict.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyloom_core::Result;
use keyloom_core::error::request;
use parking_lot::Mutex;

/// The items held by transactions.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// How many transactions are in flight; while there are none, single writes skip the check.
    transactions: AtomicUsize,
    held: Mutex<HashSet<Vec<u8>>>,
}

/// Items held until this is dropped.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    in_flight: &'a InFlight,
    keys: Vec<&'a Vec<u8>>,
}

impl InFlight {
    /// Refuses a single write of an item that a transaction holds.
    pub(crate) fn check_single(&self, key: &[u8]) -> Result<()> {
        if self.transactions.load(Ordering::Acquire) > 0 && self.held.lock().contains(key) {
            return Err(request::transaction_conflict());
        }
        Ok(())
    }

    /// Locks all items for a transaction. If others hold some of them, returns which, and locks none.
    pub(crate) fn enter_transaction<'a>(
        &'a self,
        keys: &'a [Vec<u8>],
    ) -> std::result::Result<Held<'a>, Vec<bool>> {
        let mut held = self.held.lock();
        let taken: Vec<bool> = keys.iter().map(|key| held.contains(key)).collect();
        if taken.contains(&true) {
            return Err(taken);
        }
        held.extend(keys.iter().cloned());
        self.transactions.fetch_add(1, Ordering::AcqRel);
        Ok(Held { in_flight: self, keys: keys.iter().collect() })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut held = self.in_flight.held.lock();
        for key in &self.keys {
            held.remove(*key);
        }
        self.in_flight.transactions.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_do_not_share_an_item_and_single_writes_keep_out() {
        let in_flight = InFlight::default();
        let keys = [b"a".to_vec(), b"b".to_vec()];
        let others = [b"b".to_vec(), b"c".to_vec()];
        assert!(in_flight.check_single(b"a").is_ok());
        let transaction = in_flight.enter_transaction(&keys).unwrap();
        assert!(in_flight.check_single(b"b").is_err());
        assert!(in_flight.check_single(b"c").is_ok());
        assert_eq!(in_flight.enter_transaction(&others).unwrap_err(), [true, false]);
        drop(transaction);
        assert!(in_flight.check_single(b"b").is_ok());
        assert!(in_flight.enter_transaction(&others).is_ok());
    }
}
