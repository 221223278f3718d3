//! The version of an item in a global table: a rising number and the region of the last write.

use keyloom_core::{Error, Result};
use keyloom_store::Transaction;
use serde::{Deserialize, Serialize};

use crate::layout;
use crate::store_error;
use crate::write::Write;

/// When and where an item was last written. The greater one wins: the later write or, in a tie, the region whose
/// name is greater.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Version {
    /// The sequence number that the write had in its own region; zero for items from before the replication.
    pub(crate) at: u64,
    pub(crate) region: String,
}

/// A version as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredVersion {
    pub(crate) version: Version,
    /// Whether the write removed the item.
    pub(crate) tombstone: bool,
}

impl StoredVersion {
    /// One byte, 1 for a tombstone; the number; the region.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.tombstone)];
        bytes.extend_from_slice(&self.version.at.to_be_bytes());
        bytes.extend_from_slice(self.version.region.as_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let damaged = || Error::InternalServer("a version in the store is damaged".into());
        let (tombstone, rest) = bytes.split_first().ok_or_else(damaged)?;
        let (at, region) = rest.split_first_chunk().ok_or_else(damaged)?;
        let region = std::str::from_utf8(region).map_err(|_| damaged())?.to_owned();
        let version = Version { at: u64::from_be_bytes(*at), region };
        Ok(Self { version, tombstone: *tombstone == 1 })
    }
}

/// Whether a write that arrived from another region comes too late: the item has a version that is at least as great.
/// The transaction has locked the item.
pub(crate) fn is_stale(write: &Write, transaction: &dyn Transaction) -> Result<bool> {
    let Some(arrived) = &write.arrived else { return Ok(false) };
    let stored = transaction.get(&layout::version(&write.store_key)).map_err(store_error)?;
    let Some(stored) = stored else { return Ok(false) };
    Ok(StoredVersion::decode(&stored)?.version >= *arrived)
}

/// The number of the version of a write of this region: above that of the version which the item has, whichever
/// server or region that came from. The transaction has locked the item.
pub(crate) fn next_version(
    write: &Write,
    number: Option<u64>,
    transaction: &dyn Transaction,
) -> Result<Option<u64>> {
    let Some(number) = number.filter(|_| write.arrived.is_none()) else { return Ok(None) };
    let stored = transaction.get(&layout::version(&write.store_key)).map_err(store_error)?;
    let known = stored.as_deref().map(StoredVersion::decode).transpose()?;
    Ok(Some(known.map_or(number, |known| number.max(known.version.at.saturating_add(1)))))
}

/// Adds an item's version to the transaction that writes or removes the item.
pub(crate) fn staged(
    transaction: &mut dyn Transaction,
    store_key: &[u8],
    version: Version,
    tombstone: bool,
) {
    let value = StoredVersion { version, tombstone }.encode();
    transaction.put(layout::version(store_key).into(), value.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_back_and_the_later_one_is_greater() {
        let version = |at, region: &str| Version { at, region: region.into() };
        for tombstone in [false, true] {
            let stored = StoredVersion { version: version(u64::MAX - 1, "eu-west-1"), tombstone };
            assert_eq!(StoredVersion::decode(&stored.encode()).unwrap(), stored);
        }
        assert!(version(2, "a") > version(1, "b"));
        assert!(version(1, "b") > version(1, "a"));
        assert!(version(1, "") > Version::default());
        assert!(StoredVersion::decode(&[0, 1, 2]).is_err());
    }
}
