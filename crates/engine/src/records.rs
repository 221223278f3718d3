//! Format versions of stored records, and how servers that share a store upgrade them together.
//!
//! The store holds the version in which records are written. A server that supports a newer version keeps writing the
//! current one until all live servers support the newer; then one of them raises it, in an exclusive change. That
//! begins a new epoch, so every server sees the new version before its next commit: one that does not support it
//! refuses all requests, with an error that says so, until it is upgraded. On a store of a single process the version
//! is raised at once.
//!
//! A build that changes a record's format (table record, item image or stream record) increments [`NEWEST`], reads
//! both formats, and writes the old one while [`Records::written`] is lower.

use std::sync::atomic::{AtomicU32, Ordering};

use keyloom_core::{Error, Result};

use crate::database::Inner;
use crate::{coordination, layout};

/// The newest version of records that this build knows.
pub(crate) const NEWEST: u32 = 1;

/// The version of records that a store without a word of it has.
pub(crate) const FIRST: u32 = 1;

/// The versions of records.
#[derive(Debug)]
pub(crate) struct Records {
    /// The newest that this server knows.
    known: u32,
    /// The one that is written.
    written: AtomicU32,
}

impl Records {
    pub(crate) fn new(known: u32) -> Self {
        Self { known, written: AtomicU32::new(FIRST) }
    }

    /// The newest version that this server knows.
    pub(crate) fn known(&self) -> u32 {
        self.known
    }

    /// The version that all servers write.
    pub(crate) fn written(&self) -> u32 {
        self.written.load(Ordering::Acquire)
    }

    /// Learns what the store says; refuses what is newer than this server.
    pub(crate) fn meet(&self, stored: Option<&[u8]>) -> Result<()> {
        let written = match stored {
            None => FIRST,
            Some(text) => {
                let text = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
                text.ok_or_else(|| {
                    Error::InternalServer("the version of the records cannot be read".into())
                })?
            }
        };
        if written > self.known {
            return Err(self.refusal("the database has records", written));
        }
        self.written.store(written, Ordering::Release);
        Ok(())
    }

    /// Refuses a record of a version that this server does not know.
    pub(crate) fn check(&self, what: impl FnOnce() -> String, version: u32) -> Result<()> {
        if version <= self.known { Ok(()) } else { Err(self.refusal(&what(), version)) }
    }

    fn refusal(&self, what: &str, version: u32) -> Error {
        Error::InternalServer(format!(
            "{what} of version {version}, and this server (keyloom {}) knows them up to {}: upgrade it",
            env!("CARGO_PKG_VERSION"),
            self.known
        ))
    }
}

impl Inner {
    /// Raises the version that is written to what every server that is alive knows.
    pub(crate) fn raise_records(&self) -> Result<()> {
        let records = &self.catalog.records;
        if records.written() >= records.known() || self.common_version()? <= records.written() {
            return Ok(());
        }
        let change = self.change()?;
        // Servers that joined meanwhile count, too; later ones see the new version.
        let version = self.common_version()?;
        if version <= records.written() {
            return Ok(());
        }
        change.commit(layout::RECORDS_KEY.to_vec(), Some(version.to_string().into_bytes()))?;
        records.written.store(version, Ordering::Release);
        Ok(())
    }

    /// The newest version that this server and all others that are alive know.
    fn common_version(&self) -> Result<u32> {
        let known = self.catalog.records.known();
        if !self.store.is_shared() {
            return Ok(known);
        }
        let now_ms = self.clock.now_ms();
        let servers = coordination::servers(self.store.as_ref())?;
        let alive = servers.iter().filter(|server| coordination::is_fresh(server, now_ms));
        Ok(alive.map(|server| server.records).fold(known, u32::min))
    }
}
