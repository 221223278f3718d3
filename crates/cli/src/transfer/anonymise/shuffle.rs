//! Keyed permutations: of the numbers below a bound, and of the texts of one shape. Two values never become the same one.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Rounds of the Feistel network.
const ROUNDS: u8 = 8;

/// A secret that values are replaced with.
#[derive(Clone)]
pub(super) struct Secret(Hmac<Sha256>);

impl Secret {
    pub(super) fn new(secret: &[u8]) -> Self {
        let mut block = [0_u8; 64];
        let digest = <Sha256 as sha2::Digest>::digest(secret);
        for (to, from) in block.iter_mut().zip(digest) {
            *to = from;
        }
        Self(Hmac::<Sha256>::new(&block.into()))
    }

    /// The keyed hash of texts.
    pub(super) fn hash(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// The first bits of the hash as a number.
    pub(super) fn number(&self, parts: &[&[u8]]) -> u128 {
        self.hash(parts).iter().take(16).fold(0, |sum, byte| sum << 8 | u128::from(*byte))
    }

    /// A permutation of the numbers below `bound`, another one for each `tweak`: a Feistel network over the next power of
    /// four, walked until it is below the bound again.
    pub(super) fn shuffle(&self, tweak: &[u8], bound: u128, value: u128) -> u128 {
        if bound < 2 || value >= bound {
            return value;
        }
        let bits = 128 - (bound - 1).leading_zeros();
        let half = bits.div_ceil(2);
        let mask = (1_u128 << half) - 1;
        let mut at = value;
        loop {
            let (mut left, mut right) = (at >> half & mask, at & mask);
            for round in 0..ROUNDS {
                let mixed =
                    self.number(&[tweak, &[round], &half.to_be_bytes(), &right.to_be_bytes()]);
                (left, right) = (right, left ^ mixed & mask);
            }
            at = left << half | right;
            if at < bound {
                return at;
            }
        }
    }

    /// A text of the same shape: ASCII letters and digits for their like, other letters within their block of Unicode,
    /// everything else as it is.
    pub(super) fn reshape(&self, text: &str) -> String {
        let mut made = String::with_capacity(text.len());
        let chars: Vec<char> = text.chars().collect();
        // Each part is permuted depending on those before it, so that the whole is a permutation.
        for part in chars.chunks(CHUNK) {
            let bound = part.iter().map(|c| class(*c).1).product();
            let value = part.iter().fold(0, |sum, c| {
                let (first, size) = class(*c);
                sum * size + (u128::from(u32::from(*c)) - first)
            });
            let shape: String = part.iter().map(|c| shape(*c)).collect();
            let mut left = self.shuffle(format!("{made}\u{0}{shape}").as_bytes(), bound, value);
            let mut new: Vec<char> = Vec::with_capacity(part.len());
            for c in part.iter().rev() {
                let (first, size) = class(*c);
                let code = u32::try_from(first + left % size).unwrap_or_default();
                new.push(char::from_u32(code).unwrap_or(*c));
                left /= size;
            }
            made.extend(new.iter().rev());
        }
        made
    }
}

/// Characters that are permuted together: the greatest class has 256, and 256 to the power of 15 fits.
const CHUNK: usize = 15;

/// The first character of a class and how many there are.
fn class(c: char) -> (u128, u128) {
    match c {
        'a'..='z' => (u128::from(u32::from('a')), 26),
        'A'..='Z' => (u128::from(u32::from('A')), 26),
        '0'..='9' => (u128::from(u32::from('0')), 10),
        _ if c.is_ascii() => (u128::from(u32::from(c)), 1),
        '\u{80}'..='\u{ff}' => (0x80, 128),
        // Every block of 256 from here on takes one number of bytes in UTF-8, and none has surrogates in part.
        _ => (u128::from(u32::from(c) & !0xff), 256),
    }
}

/// The name of a character's class.
fn shape(c: char) -> char {
    char::from_u32(u32::try_from(class(c).0).unwrap_or_default()).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn numbers_are_permuted() {
        let secret = Secret::new(b"a secret of some length");
        for bound in [1, 2, 3, 7, 10, 26, 100, 255, 1000, 1025] {
            let all: HashSet<u128> = (0..bound).map(|n| secret.shuffle(b"t", bound, n)).collect();
            assert_eq!(all.len() as u128, bound);
            assert!(all.iter().all(|n| *n < bound));
        }
        let large = u128::MAX / 3;
        assert_ne!(secret.shuffle(b"t", large, 5), secret.shuffle(b"t", large, 6));
        assert_ne!(secret.shuffle(b"t", large, 5), Secret::new(b"other").shuffle(b"t", large, 5));
    }

    #[test]
    fn texts_keep_their_shape_and_stay_different() {
        let secret = Secret::new(b"a secret of some length");
        let mut seen = HashSet::new();
        for n in 0..2000 {
            let text = format!("Ann.O'Hara-{n:04}@example.org and a long tail é日本");
            let made = secret.reshape(&text);
            assert_eq!(made.len(), text.len(), "{made}");
            let shapes = |text: &str| text.chars().map(shape).collect::<String>();
            assert_eq!(shapes(&made), shapes(&text));
            assert_eq!(made, secret.reshape(&text));
            assert!(seen.insert(made));
        }
        let short: HashSet<String> = (0..100).map(|n| secret.reshape(&format!("{n:02}"))).collect();
        assert_eq!(short.len(), 100);
    }
}
