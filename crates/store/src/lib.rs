//! Ordered byte keys with snapshots and transactions, in memory and on disk.
