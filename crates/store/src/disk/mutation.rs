//! Defects that were found and fixed, kept as switches: tests turn one on and expect their test bed to
//! find it.
//!
//! A build without debug assertions has no switches. In others the environment variable
//! `KEYLOOM_STORE_MUTATION` names the defect, because a test may run the store in another process.

/// A defect that can be brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// Recovery relies on the end of a segment that is only in the system's cache.
    LogNotSynced,
    /// Recovery relies on a list of tables whose name is only in the system's cache.
    TablesNotSynced,
    /// Recovery relies on a manifest whose name is only in the system's cache.
    ManifestNotSynced,
    /// The manifest is not compared with the files.
    ManifestIgnored,
}

impl Mutation {
    const fn name(self) -> &'static str {
        match self {
            Self::LogNotSynced => "log-not-synced",
            Self::TablesNotSynced => "tables-not-synced",
            Self::ManifestNotSynced => "manifest-not-synced",
            Self::ManifestIgnored => "manifest-ignored",
        }
    }
}

/// Whether this defect is to be there.
#[cfg(debug_assertions)]
pub(crate) fn is_on(mutation: Mutation) -> bool {
    use std::sync::OnceLock;
    static NAMED: OnceLock<Option<String>> = OnceLock::new();
    #[cfg(test)]
    if ON_THIS_THREAD.with(|on| on.get() == Some(mutation)) {
        return true;
    }
    NAMED.get_or_init(|| std::env::var("KEYLOOM_STORE_MUTATION").ok()).as_deref()
        == Some(mutation.name())
}

/// Never.
#[cfg(not(debug_assertions))]
pub(crate) fn is_on(mutation: Mutation) -> bool {
    let _ = mutation.name();
    false
}

#[cfg(test)]
std::thread_local! {
    static ON_THIS_THREAD: std::cell::Cell<Option<Mutation>> = const { std::cell::Cell::new(None) };
}

/// Brings a defect back for what `run` does on this thread.
#[cfg(test)]
pub(crate) fn with<T>(mutation: Mutation, run: impl FnOnce() -> T) -> T {
    ON_THIS_THREAD.with(|on| on.set(Some(mutation)));
    let outcome = run();
    ON_THIS_THREAD.with(|on| on.set(None));
    outcome
}
