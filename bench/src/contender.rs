//! Who is measured, and how each one is shown.

use serde::Serialize;

/// Everything that is measured, ourselves, peers and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Contender {
    /// Keyloom: the server, or its typed calls when embedded. Durable when on disk.
    Keyloom,
    /// The same, answering writes before they are synced.
    KeyloomRelaxed,
    /// Keyloom embedded, asked in JSON as the wire protocol has it.
    KeyloomJson,
    /// dynoxide: the server, or its typed calls when embedded.
    Dynoxide,
    /// dynoxide embedded, its requests read from JSON and its answers written as JSON.
    DynoxideJson,
    /// dynalite on Node.js.
    Dynalite,
    /// moto on Python.
    Moto,
    /// The limit of HTTP: a bare server that reads the same requests and sends the same answers.
    Echo,
    /// The limit of the engine: the same bytes in the store beneath it.
    RawStore,
    /// The limit of the disk: the same bytes written and synced.
    Fdatasync,
}

impl Contender {
    /// As it is called in tables and plots.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Keyloom => "Keyloom",
            Self::KeyloomRelaxed => "Keyloom, relaxed",
            Self::KeyloomJson => "Keyloom, JSON",
            Self::Dynoxide => "dynoxide",
            Self::DynoxideJson => "dynoxide, JSON",
            Self::Dynalite => "dynalite",
            Self::Moto => "moto",
            Self::Echo => "limit: echo server",
            Self::RawStore => "limit: raw store",
            Self::Fdatasync => "limit: fdatasync",
        }
    }

    /// The same colour in every plot.
    pub(crate) fn colour(self) -> &'static str {
        match self {
            Self::Keyloom => "#1b6ca8",
            Self::KeyloomRelaxed => "#6fb1de",
            Self::KeyloomJson => "#4a90c4",
            Self::Dynoxide => "#d1603d",
            Self::DynoxideJson => "#e8a48e",
            Self::Dynalite => "#8a9a3b",
            Self::Moto => "#8e6bb0",
            Self::Echo | Self::RawStore | Self::Fdatasync => "#9a9a9a",
        }
    }

    /// Whether it is one of ours.
    pub(crate) fn is_keyloom(self) -> bool {
        matches!(self, Self::Keyloom | Self::KeyloomRelaxed | Self::KeyloomJson)
    }

    /// Whether it is so slow that only the middle number of connections is tried.
    pub(crate) fn is_slow(self) -> bool {
        matches!(self, Self::Dynalite | Self::Moto)
    }
}
