//! The stores that the contract and model tests run on.

use keyloom_store::{DiskOptions, DiskStore, Durability, MemoryStore, Store};
use tempfile::TempDir;

/// A store under test, and what is needed to reopen it.
pub(crate) struct Subject {
    store: Box<dyn Store>,
    disk: Option<(TempDir, DiskOptions)>,
}

impl Subject {
    /// A store in memory.
    pub(crate) fn memory() -> Self {
        Self { store: Box::new(MemoryStore::new()), disk: None }
    }

    /// A fork of a store in memory.
    pub(crate) fn forked_memory() -> Self {
        Self { store: Box::new(MemoryStore::new().fork()), disk: None }
    }

    /// A store on disk with its default settings.
    pub(crate) fn disk() -> Self {
        Self::on_disk(DiskOptions::default())
    }

    /// A store on disk with relaxed durability.
    pub(crate) fn relaxed_disk() -> Self {
        Self::on_disk(DiskOptions { durability: Durability::Relaxed, ..DiskOptions::default() })
    }

    /// A store on disk with buffers so small that it flushes and compacts all the time.
    pub(crate) fn busy_disk() -> Self {
        Self::on_disk(DiskOptions {
            durability: Durability::Relaxed,
            memtable_bytes: 10_000,
            cache_bytes: 100_000,
        })
    }

    fn on_disk(options: DiskOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (store, report) = DiskStore::open(directory.path(), options).unwrap();
        assert!(report.created);
        Self { store: Box::new(store), disk: Some((directory, options)) }
    }

    /// The store.
    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Closes and reopens the store; a no-op for a store in memory.
    #[must_use]
    pub(crate) fn reopen(self) -> Self {
        let Some((directory, options)) = self.disk else { return self };
        drop(self.store);
        let (store, report) = DiskStore::open(directory.path(), options).unwrap();
        assert_eq!((report.created, report.cut), (false, None));
        Self { store: Box::new(store), disk: Some((directory, options)) }
    }
}

/// Generates a test per store from each function.
macro_rules! on_every_store {
    ($(fn $name:ident($subject:ident: Subject) $body:block)*) => {
        $(fn $name($subject: Subject) $body)*
        on_every_store! { @store memory $($name)* }
        on_every_store! { @store forked_memory $($name)* }
        on_every_store! { @store disk $($name)* }
        on_every_store! { @store relaxed_disk $($name)* }
        on_every_store! { @store busy_disk $($name)* }
    };
    (@store $store:ident $($name:ident)*) => {
        mod $store {
            $(
                #[test]
                fn $name() {
                    super::$name(super::Subject::$store());
                }
            )*
        }
    };
}

pub(crate) use on_every_store;
