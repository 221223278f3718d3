//! Which items are held by requests in flight.
//!
//! On AWS a transaction that meets another request on one of its items is cancelled, and a single
//! write that meets a transaction is refused. Single writes among themselves just wait their turn,
//! in the store.

use std::collections::HashMap;

use keyloom_core::Result;
use keyloom_core::error::request;
use parking_lot::Mutex;

/// The number of independent tables of held items; a power of two.
const SHARDS: usize = 64;

/// How an item is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// By one transaction.
    Transaction,
    /// By so many single writes.
    Singles(usize),
}

/// All items held by requests in flight.
#[derive(Debug)]
pub(crate) struct InFlight {
    shards: Vec<Mutex<HashMap<Vec<u8>, Hold>>>,
}

impl Default for InFlight {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

/// Items held until this is dropped.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    in_flight: &'a InFlight,
    keys: Vec<&'a [u8]>,
}

impl InFlight {
    /// Holds one item for a single write; refused while a transaction holds it.
    pub(crate) fn enter_single<'a>(&'a self, [key]: &'a [Vec<u8>; 1]) -> Result<Held<'a>> {
        let entered = self.with(key, |holds| match holds.get_mut(key) {
            None => {
                holds.insert(key.clone(), Hold::Singles(1));
                true
            }
            Some(Hold::Singles(count)) => {
                *count += 1;
                true
            }
            Some(Hold::Transaction) => false,
        });
        if entered {
            Ok(Held { in_flight: self, keys: vec![key] })
        } else {
            Err(request::transaction_conflict())
        }
    }

    /// Holds all items for a transaction. If others hold some of them, says which, and holds none.
    pub(crate) fn enter_transaction<'a>(
        &'a self,
        keys: &'a [Vec<u8>],
    ) -> std::result::Result<Held<'a>, Vec<bool>> {
        let mut held = Held { in_flight: self, keys: Vec::with_capacity(keys.len()) };
        let mut taken = vec![false; keys.len()];
        for (key, taken) in keys.iter().zip(&mut taken) {
            let entered = self.with(key, |holds| {
                if holds.contains_key(key) {
                    return false;
                }
                holds.insert(key.clone(), Hold::Transaction);
                true
            });
            if entered {
                held.keys.push(key);
            } else {
                *taken = true;
            }
        }
        if taken.contains(&true) { Err(taken) } else { Ok(held) }
    }

    fn with<R>(&self, key: &[u8], act: impl FnOnce(&mut HashMap<Vec<u8>, Hold>) -> R) -> R {
        // FNV-1a: the shard only spreads the mutexes.
        let hash = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let position = (hash as usize) % self.shards.len().max(1);
        match self.shards.get(position) {
            Some(shard) => act(&mut shard.lock()),
            None => act(&mut HashMap::new()),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for key in &self.keys {
            self.in_flight.with(key, |holds| match holds.get_mut(*key) {
                Some(Hold::Singles(count)) if *count > 1 => *count -= 1,
                _ => {
                    holds.remove(*key);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_writes_share_an_item_and_transactions_do_not() {
        let in_flight = InFlight::default();
        let keys = [b"a".to_vec(), b"b".to_vec()];
        let (a, b) = ([b"a".to_vec()], [b"b".to_vec()]);
        let first = in_flight.enter_single(&a).unwrap();
        let second = in_flight.enter_single(&a).unwrap();
        assert_eq!(in_flight.enter_transaction(&keys).unwrap_err(), [true, false]);
        drop((first, second));
        let transaction = in_flight.enter_transaction(&keys).unwrap();
        assert!(in_flight.enter_single(&b).is_err());
        assert_eq!(in_flight.enter_transaction(&keys).unwrap_err(), [true, true]);
        drop(transaction);
        assert!(in_flight.enter_single(&b).is_ok());
    }
}
