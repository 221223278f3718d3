//! What an item was, as the difference from what became of it.
//!
//! ```text
//! difference = 0xd1 header same text* same byte*
//! header     = what the earlier item has in front of its text
//! same       = prefix suffix                        how many bytes of the later item's text, and then of
//!                                                   what is behind it, begin and end the earlier item's
//! ```
//!
//! Between each pair of lengths and the next, and at the end, are the bytes in the middle that only the earlier item
//! has. Text and attributes are compared apart: an update changes both in one place each, and all that is between
//! these places would belong to the middle.

use super::encode::length;
use super::reader::{Corrupt, Read, Reader, corrupt};
use crate::error::Result;

/// The first byte of a difference. No version of an item will be that.
const DIFFERENCE: u8 = 0xd1;

/// A difference saves at least this part of an item, or the item is kept as it is.
const SAVED: usize = 2;

/// The bytes that are compared at once.
const BLOCK: usize = 64;
const WORD: usize = size_of::<u64>();

/// Whether these bytes are a difference, not an item.
pub fn is_difference(bytes: &[u8]) -> bool {
    bytes.first() == Some(&DIFFERENCE)
}

/// How an earlier item differs from a later one, both as stored; none if that is hardly shorter than the earlier one.
///
/// ```
/// use keyloom_core::{Item, image};
///
/// let item = |count: i64| -> Vec<u8> {
///     let text = "unchanged".repeat(10);
///     image::encode(&[("n".into(), count.into()), ("t".into(), text.as_str().into())].into_iter().collect())
/// };
/// let (earlier, later) = (item(1), item(2000));
/// let difference = image::difference(&earlier, &later).unwrap();
/// assert!(image::is_difference(&difference) && difference.len() < 30);
/// assert_eq!(image::before(&difference, &later).unwrap(), earlier);
/// ```
pub fn difference(earlier: &[u8], later: &[u8]) -> Option<Vec<u8>> {
    let (from, to) = (Parts::of(earlier).ok()?, Parts::of(later).ok()?);
    let (text, rest) = (Middle::of(from.text, to.text), Middle::of(from.rest, to.rest));
    let size = 1 + from.header.len() + text.written_len() + rest.written_len();
    if size * SAVED > earlier.len() {
        return None;
    }
    let mut out = Vec::with_capacity(size);
    out.push(DIFFERENCE);
    out.extend_from_slice(from.header);
    text.write(&mut out);
    rest.write(&mut out);
    Some(out)
}

/// The earlier item of which this is the difference from the later one.
pub fn before(difference: &[u8], later: &[u8]) -> Result<Vec<u8>> {
    Ok(restored(difference, later)?)
}

fn restored(difference: &[u8], later: &[u8]) -> Read<Vec<u8>> {
    let Some((&DIFFERENCE, from)) = difference.split_first() else {
        return Err(corrupt("it is no difference"));
    };
    let (header, text_length, mut reader) = header(from)?;
    let to = Parts::of(later)?;
    let mut out = Vec::with_capacity(later.len() + difference.len());
    out.extend_from_slice(header);
    let (prefix, suffix) = (reader.length()?, reader.length()?);
    let same = prefix.checked_add(suffix);
    let middle = same.and_then(|same| text_length.checked_sub(same)).ok_or_else(misfit)?;
    join(to.text, prefix, reader.take(middle)?, suffix, &mut out)?;
    let (prefix, suffix) = (reader.length()?, reader.length()?);
    let middle = reader.take(reader.remaining())?;
    join(to.rest, prefix, middle, suffix, &mut out)?;
    Ok(out)
}

/// What it says does not fit: it is of another item, or of another version of it.
fn misfit() -> Corrupt {
    corrupt("it is the difference from another item")
}

/// Appends the beginning of a part, other bytes, and its end.
fn join(part: &[u8], prefix: usize, middle: &[u8], suffix: usize, out: &mut Vec<u8>) -> Read<()> {
    let behind = part.len().checked_sub(suffix).filter(|behind| *behind >= prefix);
    let beginning = part.get(..prefix).ok_or_else(misfit)?;
    let end = behind.and_then(|behind| part.get(behind..)).ok_or_else(misfit)?;
    out.extend_from_slice(beginning);
    out.extend_from_slice(middle);
    out.extend_from_slice(end);
    Ok(())
}

/// What stands in front of an item's text, how long the text is, and the reader behind that.
fn header(bytes: &[u8]) -> Read<(&[u8], usize, Reader<'_>)> {
    let mut reader = Reader::start(bytes)?;
    reader.length()?;
    reader.length()?;
    let text_length = reader.fixed_length()?;
    let (header, _) = bytes.split_at(bytes.len() - reader.remaining());
    Ok((header, text_length, reader))
}

/// A stored item in its parts.
struct Parts<'a> {
    header: &'a [u8],
    text: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(bytes: &'a [u8]) -> Read<Self> {
        let (header, text_length, mut reader) = header(bytes)?;
        let text = reader.take(text_length)?;
        Ok(Self { header, text, rest: reader.take(reader.remaining())? })
    }
}

/// What only one of two parts has, between what both begin and end with.
struct Middle<'a> {
    prefix: usize,
    suffix: usize,
    bytes: &'a [u8],
}

impl<'a> Middle<'a> {
    fn of(earlier: &'a [u8], later: &[u8]) -> Self {
        let prefix = common_prefix(earlier, later);
        let earlier = earlier.get(prefix..).unwrap_or_default();
        let suffix = common_suffix(earlier, later.get(prefix..).unwrap_or_default());
        let bytes = earlier.get(..earlier.len() - suffix).unwrap_or_default();
        Self { prefix, suffix, bytes }
    }

    /// How many bytes [`Self::write`] appends.
    fn written_len(&self) -> usize {
        length_len(self.prefix) + length_len(self.suffix) + self.bytes.len()
    }

    fn write(&self, out: &mut Vec<u8>) {
        length(self.prefix, out);
        length(self.suffix, out);
        out.extend_from_slice(self.bytes);
    }
}

/// How many bytes [`length`] appends.
fn length_len(value: usize) -> usize {
    1 + value.checked_ilog2().unwrap_or(0) as usize / 7
}

fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    if left == right {
        return left.len();
    }
    let blocks = left.chunks_exact(BLOCK).zip(right.chunks_exact(BLOCK));
    let mut same = blocks.take_while(|(left, right)| left == right).count() * BLOCK;
    while let (Some(left), Some(right)) = (word(left, same), word(right, same)) {
        if left != right {
            return same + ((left ^ right).trailing_zeros() / u8::BITS) as usize;
        }
        same += WORD;
    }
    let rest = left.iter().zip(right).skip(same);
    same + rest.take_while(|(left, right)| left == right).count()
}

fn common_suffix(left: &[u8], right: &[u8]) -> usize {
    let words = left.as_rchunks::<WORD>().1.iter().rev();
    let words = words.zip(right.as_rchunks::<WORD>().1.iter().rev());
    let same = words.take_while(|(left, right)| left == right).count() * WORD;
    let rest = left.iter().rev().zip(right.iter().rev()).skip(same);
    same + rest.take_while(|(left, right)| left == right).count()
}

/// The word at a place, the first byte in the lowest place.
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::item;
    use crate::image::{ImageRef, encode};
    use crate::value::Item;

    fn check(earlier: &Item, later: &Item) -> Option<usize> {
        let (earlier, later) = (encode(earlier), encode(later));
        let difference = difference(&earlier, &later)?;
        assert_eq!(difference.capacity(), difference.len());
        assert!(is_difference(&difference) && !is_difference(&earlier));
        assert!(ImageRef::new(&difference).is_err(), "an older program refuses it");
        assert_eq!(before(&difference, &later).unwrap(), earlier);
        // Damage is an error or other bytes, never a panic.
        for end in 0..difference.len() {
            let _ = before(&difference[..end], &later);
        }
        assert!(before(&difference, &later[..3]).is_err());
        assert!(before(&earlier, &later).is_err());
        Some(difference.len())
    }

    /// An item of about 1 KB.
    fn long(status: &str, count: i64, end: &str) -> Item {
        let attributes = [
            ("a-status".into(), status.into()),
            ("b-text".into(), "x".repeat(900).as_str().into()),
            ("c-count".into(), count.into()),
            ("d-text".into(), end.into()),
        ];
        attributes.into_iter().collect()
    }

    #[test]
    fn what_has_not_changed_is_not_kept() {
        let base = long("active", 1, "the end");
        for (later, limit) in [
            (long("active", 2, "the end"), 24),
            (long("active", 1_000_000, "the end"), 24),
            (long("closed", 1, "the end"), 28),
            (long("inactive", 1, "the end"), 28),
            (long("active", 1, "another end"), 28),
            (base.clone(), 24),
        ] {
            let length = check(&base, &later).unwrap();
            assert!(length <= limit, "{length}: {later:?}");
            assert!(check(&later, &base).is_some());
        }
        // All of it has changed, and both ends of it.
        let other: Item = [("a".into(), "y".repeat(900).as_str().into())].into_iter().collect();
        assert_eq!(check(&base, &other), None);
        let mut ends = long("closed", 1, "new");
        ends.insert("a-first", 1);
        assert_eq!(check(&base, &ends), None);
    }

    proptest! {
        #[test]
        fn the_earlier_item_comes_back(earlier in item(), later in item(), merged in any::<bool>()) {
            check(&earlier, &later);
            let mut mixed = earlier.clone();
            for (name, value) in later.iter().take(if merged { 1 } else { 2 }) {
                mixed.insert(name.clone(), value.clone());
            }
            check(&earlier, &mixed);
            check(&mixed, &earlier);
        }

        #[test]
        fn common_ends_are_the_longest(
            left in prop::collection::vec(0..2_u8, 0..150),
            cut in 0..150_usize,
            right in prop::collection::vec(0..2_u8, 0..150),
        ) {
            let mut right = right;
            right.splice(..0, left.iter().take(cut).copied());
            let expected = left.iter().zip(&right).take_while(|(a, b)| a == b).count();
            prop_assert_eq!(common_prefix(&left, &right), expected);
            let turned = |bytes: &[u8]| bytes.iter().rev().copied().collect::<Vec<u8>>();
            prop_assert_eq!(common_suffix(&turned(&left), &turned(&right)), expected);
        }

        #[test]
        fn damaged_differences_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let later = encode(&long("active", 1, "the end"));
            let mut bytes = bytes;
            bytes.splice(..0, [DIFFERENCE, 2]);
            let _ = before(&bytes, &later);
        }
    }
}
