//! The counters of one lane, as they are stored in its row.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::StoreError;

/// What a lane has added to counters and nobody has moved to the totals yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sums(pub(super) BTreeMap<Bytes, i64>);

/// A lane's row is written with every flight, so its counters are moved to the totals before it
/// grows longer than this.
const FOLDED_BYTES: usize = 4096;

impl Sums {
    /// Adds to counters.
    pub(super) fn add<'a>(&mut self, adds: impl IntoIterator<Item = (&'a Bytes, &'a i64)>) {
        for (counter, delta) in adds {
            let sum = self.0.entry(counter.clone()).or_default();
            *sum = sum.saturating_add(*delta);
        }
    }

    /// Whether it is time to move them to the totals.
    pub(super) fn is_long(&self) -> bool {
        self.0.keys().map(|counter| counter.len() + 10).sum::<usize>() > FOLDED_BYTES
    }

    /// The stored form: length and name of each counter, then its sum.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (counter, sum) in self.0.iter().filter(|(_, sum)| **sum != 0) {
            bytes.extend_from_slice(&(counter.len() as u16).to_be_bytes());
            bytes.extend_from_slice(counter);
            bytes.extend_from_slice(&sum.to_be_bytes());
        }
        bytes
    }

    /// Reads the stored form.
    pub(super) fn decode(mut bytes: &[u8]) -> Result<Self, StoreError> {
        let broken = || StoreError::Engine {
            action: "read the counters of a lane".into(),
            detail: "they end in the middle".into(),
        };
        let mut sums = Self::default();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk().ok_or_else(broken)?;
            let length = usize::from(u16::from_be_bytes(*length));
            let (counter, rest) = rest.split_at_checked(length).ok_or_else(broken)?;
            let (sum, rest) = rest.split_first_chunk().ok_or_else(broken)?;
            sums.0.insert(Bytes::copy_from_slice(counter), i64::from_be_bytes(*sum));
            bytes = rest;
        }
        Ok(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_is_read_back_and_damage_is_an_error() {
        let mut sums = Sums::default();
        sums.add(&BTreeMap::from([("a".into(), 5), ("bb".into(), -7)]));
        sums.add(&BTreeMap::from([("a".into(), i64::MAX)]));
        let bytes = sums.encode();
        assert_eq!(Sums::decode(&bytes).unwrap(), sums);
        for end in 1..bytes.len() {
            assert_eq!(Sums::decode(&bytes[..end]).is_ok(), end == 11, "{end}");
        }
    }
}
