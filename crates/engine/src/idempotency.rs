//! Client request tokens: a transaction that is sent twice is executed once.
//!
//! A token is locked while its transaction runs. The commit also stores a record of the token, which is valid for ten
//! minutes, also after a restart. The commit fails if such a record exists by then: another server on the store may
//! have executed the same transaction meanwhile.

use std::collections::HashSet;

use keyloom_core::error::request;
use keyloom_core::hash::fnv1a_128;
use keyloom_core::json::Json;
use keyloom_core::{Result, limits};
use keyloom_store::Store;
use parking_lot::Mutex;

use crate::write::Companion;
use crate::{layout, store_error};

/// Which operation a token belongs to: the same token may serve both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TokenScope {
    /// TransactWriteItems.
    TransactWrite = 1,
    /// ExecuteTransaction.
    ExecuteTransaction = 2,
}

/// The tokens of transactions in progress.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    in_progress: Mutex<HashSet<Vec<u8>>>,
}

/// A token held until dropped.
#[derive(Debug)]
pub(crate) struct HeldToken<'a> {
    tokens: &'a Tokens,
    key: Vec<u8>,
    fingerprint: u128,
}

/// What a token says about a request.
pub(crate) enum Admission<'a> {
    /// It is new: do it, and store the companion with it.
    New(HeldToken<'a>),
    /// It was done before.
    Done,
}

impl Tokens {
    /// Looks a token up and holds it if it is new.
    pub(crate) fn admit<'a>(
        &'a self,
        store: &dyn Store,
        now_ms: u64,
        scope: TokenScope,
        token: &str,
        fingerprint: u128,
    ) -> Result<Admission<'a>> {
        let key = layout::token(scope as u8, token);
        if !self.in_progress.lock().insert(key.clone()) {
            return Err(request::transaction_in_progress());
        }
        let held = HeldToken { tokens: self, key, fingerprint };
        let Some(record) = store.get(&held.key).map_err(store_error)? else {
            return Ok(Admission::New(held));
        };
        if is_expired(&record, now_ms) {
            return Ok(Admission::New(held));
        }
        held.check(&record)?;
        Ok(Admission::Done)
    }
}

impl HeldToken<'_> {
    /// The record that is stored with the transaction.
    pub(crate) fn companion(&self, now_ms: u64) -> Companion {
        let mut value = now_ms.to_be_bytes().to_vec();
        value.extend_from_slice(&self.fingerprint.to_be_bytes());
        Companion { key: self.key.clone(), value, now_ms }
    }

    /// Whether a stored record is of the same transaction; an error if it is of another.
    pub(crate) fn check(&self, record: &[u8]) -> Result<()> {
        match decode(record) {
            Some((_, known)) if known != self.fingerprint => {
                Err(request::idempotent_parameter_mismatch())
            }
            _ => Ok(()),
        }
    }
}

impl Drop for HeldToken<'_> {
    fn drop(&mut self) {
        self.tokens.in_progress.lock().remove(&self.key);
    }
}

/// The time and fingerprint of a stored record.
fn decode(record: &[u8]) -> Option<(u64, u128)> {
    let (time, rest) = record.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*time), u128::from_be_bytes(rest.try_into().ok()?)))
}

/// Whether a stored record can be read.
pub(crate) fn is_readable(record: &[u8]) -> bool {
    decode(record).is_some()
}

/// Whether a stored record is too old to matter.
pub(crate) fn is_expired(record: &[u8], now_ms: u64) -> bool {
    decode(record).is_none_or(|(finished_ms, _)| {
        now_ms.saturating_sub(finished_ms) > limits::CLIENT_TOKEN_SECONDS * 1000
    })
}

/// A fingerprint of a request's parameters, whatever the order of their members: FNV-1a over the
/// tree, with the members of objects sorted.
pub(crate) fn fingerprint(parameters: &Json<'_>) -> u128 {
    let mut text = Vec::new();
    canonical(parameters, &mut text);
    fnv1a_128(&text)
}

fn canonical(value: &Json<'_>, out: &mut Vec<u8>) {
    match value {
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            out.push(b'{');
            for (name, value) in members {
                keyloom_core::json::write_string(name, out);
                canonical(value, out);
            }
            out.push(b'}');
        }
        Json::Array(elements) => {
            out.push(b'[');
            for element in elements {
                canonical(element, out);
            }
            out.push(b']');
        }
        Json::Str(text) => keyloom_core::json::write_string(text, out),
        Json::Bool(value) => out.extend_from_slice(if *value { b"t" } else { b"f" }),
        Json::Null => out.push(b'n'),
        Json::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            out.extend_from_slice(&number.to_bits().to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyloom_core::json::parse;
    use keyloom_store::MemoryStore;

    #[test]
    fn a_fingerprint_ignores_the_order_of_members() {
        let print = |text: &str| fingerprint(&parse(text.as_bytes()).unwrap());
        assert_eq!(print(r#"{"a":1,"b":["x"]}"#), print(r#"{"b":["x"],"a":1}"#));
        assert_ne!(print(r#"{"a":["x","y"]}"#), print(r#"{"a":["y","x"]}"#));
    }

    #[test]
    fn a_token_in_progress_is_refused() {
        let (tokens, store) = (Tokens::default(), MemoryStore::new());
        let admit = || tokens.admit(&store, 0, TokenScope::TransactWrite, "t", 1);
        let held = admit().unwrap();
        assert!(matches!(&held, Admission::New(_)));
        assert!(admit().is_err());
        drop(held);
        assert!(admit().is_ok());
    }
}
