//! Which bytes of a string stand for themselves in JSON, found many at a time.
//!
//! Everything is tested in blocks without branches: whole blocks compile to vector instructions, and
//! what is left is looked at in words of eight bytes. Most strings are short, plain and ASCII.

/// A block that is tested at once.
const BLOCK: usize = 32;
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
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let plain = blocks.iter().take_while(|block| is_plain_block(block)).count();
    // The word-wise search covers the block that ended the loop, too.
    let rest =
        if plain == blocks.len() { rest } else { bytes.get(plain * BLOCK..).unwrap_or(rest) };
    let (words, tail) = rest.as_chunks::<8>();
    let mut position = bytes.len() - rest.len();
    for word in words {
        let found = special_in(u64::from_le_bytes(*word));
        if found != 0 {
            return position + found.trailing_zeros() as usize / 8;
        }
        position += 8;
    }
    position + tail.iter().position(|&byte| is_special(byte)).unwrap_or(tail.len())
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
