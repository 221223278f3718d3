//! Pages of listings, and the tokens that name where a page ended.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use keyloom_core::Result;
use keyloom_core::error::table as message;

/// The first `limit` entries that are `wanted`, and whether there are more.
pub(crate) fn page<T>(
    entries: impl Iterator<Item = T>,
    limit: usize,
    wanted: impl FnMut(&T) -> bool,
) -> (Vec<T>, bool) {
    let mut page: Vec<T> = entries.filter(wanted).take(limit.saturating_add(1)).collect();
    let more = page.len() > limit;
    page.truncate(limit);
    (page, more)
}

/// The token for a page that ended with this name.
pub(crate) fn token(last: &str) -> String {
    BASE64.encode(last)
}

/// The name that a token stands for; none without a token.
pub(crate) fn decode_token(token: Option<&str>) -> Result<Option<String>> {
    let decode = |token| String::from_utf8(BASE64.decode(token).ok()?).ok();
    token.map(|token| decode(token).ok_or_else(message::next_token_invalid)).transpose()
}

/// A token in the form that some listings want: hexadecimal, in blocks of 16 digits, at least 112.
pub(crate) fn hex_token(last: &str) -> String {
    let mut bytes = last.as_bytes().to_vec();
    bytes.resize(bytes.len().next_multiple_of(8).max(56), 0);
    let mut token = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(token, "{byte:02x}");
    }
    token
}

/// The name that a token of [`hex_token`] stands for.
pub(crate) fn decode_hex_token(token: Option<&str>) -> Result<Option<String>> {
    let decode = |token: &str| {
        let digits = token.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> = digits
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        let text = String::from_utf8(bytes?).ok()?;
        Some(text.trim_end_matches('\0').to_owned())
    };
    token.map(|token| decode(token).ok_or_else(message::next_token_invalid)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back() {
        for name in ["", "music", "01794700800000-1a2b3c4d"] {
            assert_eq!(decode_token(Some(&token(name))).unwrap().as_deref(), Some(name));
            let hex = hex_token(name);
            assert_eq!((hex.len() % 16, hex.len() >= 112), (0, true));
            assert_eq!(decode_hex_token(Some(&hex)).unwrap().as_deref(), Some(name));
        }
        assert_eq!(decode_token(None).unwrap(), None);
        assert!(decode_token(Some("?")).is_err());
        assert!(decode_hex_token(Some("xy")).is_err());
    }
}
