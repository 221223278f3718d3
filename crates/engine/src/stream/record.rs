//! The stored form of a stream record.
//!
//! One byte for the event, one for the origin (1 the removal of expired items, 2 another region), the time in milliseconds, and three images (keys,
//! old, new), each behind its length; an image that the stream's view does not show is left out. In a global table
//! the number of the item's version follows.

use keyloom_core::image::{self, ImageRef};
use keyloom_core::{Error, Item, Result};
use keyloom_store::Bytes;

use crate::write::Origin;

/// The length that stands for "no image".
const ABSENT: u32 = u32::MAX;

/// A change of an item.
#[derive(Debug)]
pub(crate) struct ItemChange<'a> {
    pub(crate) keys: &'a Item,
    pub(crate) old: Option<&'a Bytes>,
    pub(crate) new: Option<&'a Bytes>,
    pub(crate) origin: Origin,
    pub(crate) now_ms: u64,
    /// The number of the version that the write got, in a global table.
    pub(crate) version: Option<u64>,
}

/// A stream record as it is read back.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) event: Event,
    origin: u8,
    pub(crate) created_ms: u64,
    pub(crate) keys: Item,
    pub(crate) old: Option<Item>,
    pub(crate) new: Option<Item>,
    /// The number of the version that the write got; none in records of earlier releases, whose own number it was.
    pub(crate) version: Option<u64>,
}

const EXPIRED: u8 = 1;
const REPLICATED: u8 = 2;

impl Record {
    /// Whether the item was removed because it had expired, in this region.
    pub(crate) fn is_by_time_to_live(&self) -> bool {
        self.origin == EXPIRED
    }

    /// Whether another region made the change.
    pub(crate) fn is_replicated(&self) -> bool {
        self.origin == REPLICATED
    }
}

/// What happened to the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Insert,
    Modify,
    Remove,
}

impl Event {
    /// The name on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Modify => "MODIFY",
            Self::Remove => "REMOVE",
        }
    }
}

/// The record of a change, with the images that `view` shows.
pub(crate) fn encode_record(view: &str, change: &ItemChange<'_>) -> Vec<u8> {
    let event = match (change.old, change.new) {
        (None, _) => 0,
        (Some(_), Some(_)) => 1,
        (Some(_), None) => 2,
    };
    let old = change.old.filter(|_| matches!(view, "OLD_IMAGE" | "NEW_AND_OLD_IMAGES"));
    let new = change.new.filter(|_| matches!(view, "NEW_IMAGE" | "NEW_AND_OLD_IMAGES"));
    let keys = image::encode(change.keys);
    let origin = match change.origin {
        Origin::User | Origin::Loading => 0,
        Origin::TimeToLive => EXPIRED,
        Origin::Replica => REPLICATED,
    };
    let mut out = vec![event, origin];
    out.extend_from_slice(&change.now_ms.to_be_bytes());
    for image in [Some(keys.as_slice()), old.map(AsRef::as_ref), new.map(AsRef::as_ref)] {
        let length = image.map_or(ABSENT, |bytes| bytes.len() as u32);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(image.unwrap_or_default());
    }
    if let Some(version) = change.version {
        out.extend_from_slice(&version.to_be_bytes());
    }
    out
}

/// Reads a record back.
pub(crate) fn decode_record(bytes: &[u8]) -> Result<Record> {
    let mut rest = bytes;
    let [event, origin] = take::<2>(&mut rest)?;
    let created_ms = u64::from_be_bytes(take::<8>(&mut rest)?);
    let keys = take_image(&mut rest)?.ok_or_else(damaged)?;
    Ok(Record {
        event: match event {
            0 => Event::Insert,
            1 => Event::Modify,
            2 => Event::Remove,
            _ => return Err(damaged()),
        },
        origin,
        created_ms,
        keys,
        old: take_image(&mut rest)?,
        new: take_image(&mut rest)?,
        version: if rest.is_empty() { None } else { Some(u64::from_be_bytes(take(&mut rest)?)) },
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>().ok_or_else(damaged)?;
    *rest = tail;
    Ok(*head)
}

fn take_image(rest: &mut &[u8]) -> Result<Option<Item>> {
    let length = u32::from_be_bytes(take::<4>(rest)?);
    if length == ABSENT {
        return Ok(None);
    }
    let (image, tail) = rest.split_at_checked(length as usize).ok_or_else(damaged)?;
    *rest = tail;
    ImageRef::new(image)?.decode().map(Some)
}

fn damaged() -> Error {
    Error::InternalServer("a stream record in the store is damaged".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_holds_what_its_view_shows() {
        let item = |text: &str| -> Item {
            [("pk".into(), "a".into()), ("v".into(), text.into())].into_iter().collect()
        };
        let keys: Item = [("pk".into(), "a".into())].into_iter().collect();
        let (old, new) = (item("1"), item("2"));
        let (old_bytes, new_bytes) =
            (Bytes::from(image::encode(&old)), Bytes::from(image::encode(&new)));
        let change = ItemChange {
            keys: &keys,
            old: Some(&old_bytes),
            new: Some(&new_bytes),
            origin: Origin::User,
            now_ms: 7,
            version: Some(9),
        };
        for (view, shows_old, shows_new) in [
            ("KEYS_ONLY", false, false),
            ("NEW_IMAGE", false, true),
            ("OLD_IMAGE", true, false),
            ("NEW_AND_OLD_IMAGES", true, true),
        ] {
            let record = decode_record(&encode_record(view, &change)).unwrap();
            assert_eq!(record.event, Event::Modify, "{view}");
            assert_eq!((record.created_ms, &record.keys), (7, &keys));
            assert_eq!(record.version, Some(9));
            assert_eq!(record.old, shows_old.then(|| old.clone()), "{view}");
            assert_eq!(record.new, shows_new.then(|| new.clone()), "{view}");
        }
        assert!(decode_record(&[0, 0, 1]).is_err());
    }
}
