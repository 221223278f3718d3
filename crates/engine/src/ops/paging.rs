//! Pagination of list operations, and the tokens with which the next page begins.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use keyloom_core::Result;
use keyloom_core::error::table as message;
use keyloom_core::hex::{self, Hex};

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
    Hex(&bytes).to_string()
}

/// The name that a token of [`hex_token`] stands for.
pub(crate) fn decode_hex_token(token: Option<&str>) -> Result<Option<String>> {
    let decode = |token: &str| {
        let text = String::from_utf8(hex::decode(token)?).ok()?;
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
