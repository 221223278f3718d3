//! The manifest: the files that make up a store, and the end of its log if it was closed cleanly.
//!
//! ```text
//! keyloom-store format 3
//! store 5c3f09aa12b4c6de
//! log 41 42
//! tables 17
//! flushed 1200 1350
//! closed 4056
//! checksum 1f0c8a44d2b97e30
//! ```
//!
//! It is replaced as a whole whenever a log segment begins or is removed, and when the store is
//! closed. So a file that is missing, shorter or older than the manifest says is an error that
//! names it, never a store with less in it. A store that is still being created has `log none` and
//! `tables none`.

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};

use xxhash_rust::xxh3::xxh3_64;

/// The name of the file.
pub(crate) const NAME: &str = "MANIFEST";

/// Start of the first line; the format version follows.
pub(super) const MAGIC: &str = "keyloom-store format ";

/// The format that this version writes.
pub(super) const VERSION: u32 = 3;

/// The content of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Random: identifies this store and its backups.
    pub(crate) store: u64,
    /// The files; `None` while the store is being created.
    pub(crate) contents: Option<Contents>,
}

/// The files of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contents {
    /// The oldest log segment that is needed.
    pub(crate) first_segment: u64,
    /// The newest segment that may hold records.
    pub(crate) last_segment: u64,
    /// The list of tables has at least this number.
    pub(crate) tables: u64,
    /// Transactions up to this number are in the tables, or obsolete: they are not replayed from
    /// the log.
    pub(crate) flushed: u64,
    /// The tables may hold transactions of the last segment up to this number, all of which are in
    /// the segment.
    pub(crate) flushing: u64,
    /// The end of the last segment, if the store was closed cleanly.
    pub(crate) closed_at: Option<u64>,
}

impl Contents {
    /// No files yet.
    pub(crate) const NOTHING: Self = Self {
        first_segment: 1,
        last_segment: 0,
        tables: 0,
        flushed: 0,
        flushing: 0,
        closed_at: None,
    };
}

impl Manifest {
    /// The manifest of a new store.
    pub(crate) fn new() -> Self {
        Self { store: RandomState::new().hash_one("store"), contents: None }
    }

    /// The manifest's bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut text = format!("{MAGIC}{VERSION}\nstore {:016x}\n", self.store);
        let lines = match self.contents {
            None => "log none\ntables none\nopen\n".to_owned(),
            Some(contents) => {
                let Contents { first_segment, last_segment, tables, flushed, flushing, closed_at } =
                    contents;
                let end = closed_at.map_or_else(|| "open".into(), |end| format!("closed {end}"));
                format!(
                    "log {first_segment} {last_segment}\ntables {tables}\n\
                     flushed {flushed} {flushing}\n{end}\n"
                )
            }
        };
        text.push_str(&lines);
        // Writing to a string does not fail.
        let _ = writeln!(text, "checksum {:016x}", xxh3_64(text.as_bytes()));
        text.into_bytes()
    }

    /// Decodes a manifest; the error says what is wrong with it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
        check_version(text.lines().next().unwrap_or_default())?;
        let at = text.rfind("checksum ").ok_or("its checksum is missing")?;
        let (covered, checksum) = text.split_at(at);
        if checksum != format!("checksum {:016x}\n", xxh3_64(covered.as_bytes())) {
            return Err("its content does not match its checksum".into());
        }
        parse(covered).ok_or_else(|| "it cannot be parsed".into())
    }
}

/// Checks the line with the format version.
pub(super) fn check_version(line: &str) -> Result<(), String> {
    let version = line.strip_prefix(MAGIC).and_then(|number| number.parse::<u32>().ok());
    match version {
        Some(VERSION) => Ok(()),
        Some(newer) if newer > VERSION => Err(format!(
            "the store has format {newer}, but this version reads up to format {VERSION}; \
             use a newer keyloom"
        )),
        Some(1) => {
            Err("the store has format 1, which this version cannot read; export its tables \
                        with the keyloom that wrote them, or choose an empty directory"
                .into())
        }
        Some(other) => Err(format!("the store has format {other}, which this version cannot read")),
        None => Err("this is not the format of a keyloom store".into()),
    }
}

fn parse(covered: &str) -> Option<Manifest> {
    let mut lines = covered.lines().skip(1);
    let store = u64::from_str_radix(lines.next()?.strip_prefix("store ")?, 16).ok()?;
    let rest: Vec<&str> = lines.collect();
    let [log, tables, flushed, end] = rest[..] else {
        let is_new = rest == ["log none", "tables none", "open"];
        return is_new.then_some(Manifest { store, contents: None });
    };
    let (first, last) = log.strip_prefix("log ")?.split_once(' ')?;
    let (flushed, flushing) = flushed.strip_prefix("flushed ")?.split_once(' ')?;
    let closed_at = match end {
        "open" => None,
        closed => Some(closed.strip_prefix("closed ")?.parse().ok()?),
    };
    let contents = Contents {
        first_segment: first.parse().ok()?,
        last_segment: last.parse().ok()?,
        tables: tables.strip_prefix("tables ")?.parse().ok()?,
        flushed: flushed.parse().ok()?,
        flushing: flushing.parse().ok()?,
        closed_at,
    };
    Some(Manifest { store, contents: Some(contents) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples() -> Vec<Manifest> {
        let contents = Contents {
            first_segment: 41,
            last_segment: 42,
            tables: 17,
            flushed: 1200,
            flushing: 1350,
            closed_at: None,
        };
        let closed = Contents { closed_at: Some(4056), ..contents };
        [None, Some(contents), Some(closed)]
            .map(|contents| Manifest { store: 0x5c3f_09aa_12b4_c6de, contents })
            .to_vec()
    }

    #[test]
    fn encoding_round_trips() {
        for manifest in examples() {
            assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
        }
        let [_, _, closed] = examples().try_into().unwrap();
        let text = String::from_utf8(closed.encode()).unwrap();
        let expected = "keyloom-store format 3\nstore 5c3f09aa12b4c6de\nlog 41 42\ntables 17\n\
                        flushed 1200 1350\nclosed 4056\nchecksum ";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn every_flipped_bit_and_truncation_is_detected() {
        for manifest in examples() {
            let bytes = manifest.encode();
            for at in 0..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[at / 8] ^= 1 << (at % 8);
                assert!(Manifest::decode(&flipped).is_err(), "bit {at}");
            }
            for length in 0..bytes.len() {
                assert!(Manifest::decode(&bytes[..length]).is_err(), "cut at {length}");
            }
        }
    }

    #[test]
    fn other_formats_are_refused_with_their_version() {
        let refused = |text: &str| Manifest::decode(text.as_bytes()).unwrap_err();
        assert!(refused("keyloom-store format 4\n").contains("use a newer keyloom"));
        assert!(refused("keyloom-store format 0\n").contains("format 0, which this version"));
        assert!(refused("holiday").contains("is not the format"));
    }
}
