//! The stores that the contract and model tests run on.

use keyloom_store::{DiskOptions, DiskStore, Durability, MemoryStore, Store};
use tempfile::TempDir;

/// A store under test, and what is needed to reopen it.
pub(crate) struct Subject {
    store: Box<dyn Store>,
    place: Place,
}

/// What is needed to reopen a store.
enum Place {
    Memory,
    Disk(TempDir, DiskOptions),
    #[cfg(feature = "postgres")]
    Postgres(String),
}

impl Subject {
    /// A store in memory.
    pub(crate) fn memory() -> Self {
        Self { store: Box::new(MemoryStore::new()), place: Place::Memory }
    }

    /// A fork of a store in memory.
    pub(crate) fn forked_memory() -> Self {
        Self { store: Box::new(MemoryStore::new().fork()), place: Place::Memory }
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
        Self { store: Box::new(store), place: Place::Disk(directory, options) }
    }

    /// A store in a database; none if PostgreSQL is not installed.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres() -> Option<Self> {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static SCHEMAS: AtomicUsize = AtomicUsize::new(0);
        let server = crate::postgres::shared()?;
        let schema = format!("subject_{}", SCHEMAS.fetch_add(1, Ordering::Relaxed));
        Some(Self::connect(format!("{}&keyloom_snapshots=40", server.url(&schema))))
    }

    #[cfg(feature = "postgres")]
    fn connect(url: String) -> Self {
        use keyloom_store::{PostgresOptions, PostgresStore};
        let options = PostgresOptions::from_url(&url).unwrap();
        let store = PostgresStore::connect(options).unwrap();
        Self { store: Box::new(store), place: Place::Postgres(url) }
    }

    /// The store.
    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Closes and reopens the store; a no-op for a store in memory.
    #[must_use]
    pub(crate) fn reopen(self) -> Self {
        if matches!(self.place, Place::Memory) {
            return self;
        }
        drop(self.store);
        match self.place {
            Place::Memory => unreachable!("returned above"),
            Place::Disk(directory, options) => {
                let (store, report) = DiskStore::open(directory.path(), options).unwrap();
                assert_eq!((report.created, report.cut), (false, None));
                Self { store: Box::new(store), place: Place::Disk(directory, options) }
            }
            #[cfg(feature = "postgres")]
            Place::Postgres(url) => Self::connect(url),
        }
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
        #[cfg(feature = "postgres")]
        mod postgres {
            $(
                #[test]
                fn $name() {
                    if let Some(subject) = super::Subject::postgres() {
                        super::$name(subject);
                    }
                }
            )*
        }
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
