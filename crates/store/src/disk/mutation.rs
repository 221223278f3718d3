//! Switches that reintroduce fixed bugs, for mutation testing: a test turns one on and expects its
//! test harness to find it.
//!
//! Release builds (without debug assertions) have no switches. In others the environment variable
//! `KEYLOOM_STORE_MUTATION` names the bug, because a test may run the store in another process.

/// A bug that can be reintroduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// Recovery relies on the end of a segment that is only in the page cache.
    LogNotSynced,
    /// Recovery relies on a list of tables whose name is only in the page cache.
    TablesNotSynced,
    /// Recovery relies on a manifest whose name is only in the page cache.
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

/// Whether this bug is switched on.
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

/// Always false in release builds.
#[cfg(not(debug_assertions))]
pub(crate) fn is_on(mutation: Mutation) -> bool {
    let _ = mutation.name();
    false
}

#[cfg(test)]
std::thread_local! {
    static ON_THIS_THREAD: std::cell::Cell<Option<Mutation>> = const { std::cell::Cell::new(None) };
}

/// Switches a bug on while `run` runs on this thread.
#[cfg(test)]
pub(crate) fn with<T>(mutation: Mutation, run: impl FnOnce() -> T) -> T {
    ON_THIS_THREAD.with(|on| on.set(Some(mutation)));
    let outcome = run();
    ON_THIS_THREAD.with(|on| on.set(None));
    outcome
}
