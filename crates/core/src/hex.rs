//! Bytes in hexadecimal.

use std::fmt;

/// Shows bytes as lower-case hexadecimal digits.
///
/// ```
/// use keyloom_core::hex::{self, Hex};
///
/// assert_eq!(Hex(&[0, 171]).to_string(), "00ab");
/// assert_eq!(hex::decode("00AB"), Some(vec![0, 171]));
/// assert_eq!(hex::decode("0"), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The bytes of hexadecimal digits, two for each; none if the text is anything else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |&[high, low]: &[u8; 2]| Some((digit(high)? << 4 | digit(low)?) as u8);
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}
