//! Which bytes of a string stand for themselves in JSON, found many at a time.
//!
//! Everything is tested in blocks without branches: whole blocks compile to vector instructions, and
//! what is left is looked at in words of eight bytes. Most strings are short, plain and ASCII.

/// A block that is tested at once.
const BLOCK: usize = 32;
/// How many bytes are looked at one word after the other, before blocks.
const SOON: usize = 16;
/// A word with every byte one.
const ONES: u64 = u64::from_ne_bytes([1; 8]);
/// A word with the highest bit of every byte.
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// Whether a byte cannot stand in a JSON string as it is: a quote, a backslash, a control character.
fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// How many bytes come before the first special one.
pub(super) fn plain_prefix(bytes: &[u8]) -> usize {
    // Most strings end soon.
    if let Some(found) = first_special(bytes.get(..SOON).unwrap_or(bytes)) {
        return found;
    }
    let rest = bytes.get(SOON..).unwrap_or_default();
    let (blocks, _) = rest.as_chunks::<BLOCK>();
    let plain = SOON + BLOCK * blocks.iter().take_while(|block| is_plain_block(block)).count();
    let rest = bytes.get(plain..).unwrap_or_default();
    first_special(rest).map_or(bytes.len(), |found| plain + found)
}

/// Where the first special byte is, found in words.
fn first_special(bytes: &[u8]) -> Option<usize> {
    let (words, tail) = bytes.as_chunks::<8>();
    for (word, position) in words.iter().zip((0..).step_by(8)) {
        let found = special_in(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(position + found.trailing_zeros() as usize / 8);
        }
    }
    let found = tail.iter().position(|&byte| is_special(byte))?;
    Some(bytes.len() - tail.len() + found)
}

/// Whether a block has no special byte: bytes that are special become zero, and no others.
fn is_plain_block(block: &[u8; BLOCK]) -> bool {
    let distance = |byte: u8| {
        let beyond_controls = byte.max(0x1F) - 0x1F;
        beyond_controls.min(byte ^ b'"').min(byte ^ b'\\')
    };
    block.iter().fold(u8::MAX, |least, &byte| least.min(distance(byte))) > 0
}

/// Whether all bytes are ASCII and none is special, so that the text is UTF-8 and needs no escape.
pub(crate) fn is_plain_ascii(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<BLOCK>() else {
        return bytes.iter().all(|&byte| byte.is_ascii() && !is_special(byte));
    };
    // Zero where a byte was a quote or a backslash; how far one was beyond the control characters.
    let (mut least, mut most) = ([u8::MAX; BLOCK], [0; BLOCK]);
    let mut look = |block: &[u8; BLOCK]| {
        for ((least, most), &byte) in least.iter_mut().zip(&mut most).zip(block) {
            *least = (*least).min(byte ^ b'"').min(byte ^ b'\\');
            *most = (*most).max(byte.wrapping_sub(b' '));
        }
    };
    bytes.as_chunks().0.iter().for_each(&mut look);
    // The last bytes, some of them for the second time, are quicker than what is left one by one.
    look(last);
    let least = least.iter().fold(u8::MAX, |a, &b| a.min(b));
    let most = most.iter().fold(0, |a, &b| a.max(b));
    least > 0 && most < 0x80 - b' '
}

/// The highest bit of each byte that is special. Bytes above a special one may be marked wrongly, so
/// only whether there is one, and the lowest, can be relied on.
fn special_in(word: u64) -> u64 {
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = zero_bytes(word ^ (ONES * u64::from(b'"')));
    let backslash = zero_bytes(word ^ (ONES * u64::from(b'\\')));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_byte_is_found_at_every_place() {
        for byte in 0..=u8::MAX {
            for length in 1..80 {
                for place in [0, length / 2, length - 1] {
                    let mut text = vec![b'x'; length];
                    if let Some(slot) = text.get_mut(place) {
                        *slot = byte;
                    }
                    let expected = if is_special(byte) { place } else { length };
                    assert_eq!(plain_prefix(&text), expected, "{byte} at {place} of {length}");
                    let plain = !is_special(byte) && byte.is_ascii();
                    assert_eq!(is_plain_ascii(&text), plain, "{byte} at {place} of {length}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged_as_one_by_one(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let first = bytes.iter().position(|&b| is_special(b)).unwrap_or(bytes.len());
            prop_assert_eq!(plain_prefix(&bytes), first);
            let plain = bytes.iter().all(|&b| !is_special(b) && b.is_ascii());
            prop_assert_eq!(is_plain_ascii(&bytes), plain);
        }
    }
}
