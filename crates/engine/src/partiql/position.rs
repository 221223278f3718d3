//! `NextToken`: the position at which the next page of a statement begins.
//!
//! A token is Base64 of: a version byte, a fingerprint of statement and parameters, the number of the
//! key range, the last key read in it if any (an image of its attributes), and a checksum of all that.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom_core::error::message::partiql as message;
use keyloom_core::hash::fnv1a;
use keyloom_core::image::{self, ImageRef};
use keyloom_core::{AttributeValue, Item, Result, json};

const VERSION: u8 = 1;
const CHECKSUM_BYTES: usize = 8;

/// A place between two rows of a read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Position {
    /// The key range to go on with.
    pub(crate) read: usize,
    /// The last key read in it; none if it has not begun.
    pub(crate) after: Option<Item>,
}

/// A hash of a statement and its parameters, to which their tokens are bound.
pub(crate) fn fingerprint(statement: &str, parameters: &[AttributeValue]) -> u64 {
    let mut text = statement.as_bytes().to_vec();
    for parameter in parameters {
        text.push(0);
        json::write_value(parameter, &mut text);
    }
    fnv1a(&text)
}

impl Position {
    pub(crate) fn encode(&self, fingerprint: u64) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&fingerprint.to_be_bytes());
        bytes.extend_from_slice(&(self.read as u32).to_be_bytes());
        if let Some(key) = &self.after {
            bytes.extend_from_slice(&image::encode(key));
        }
        bytes.extend_from_slice(&fnv1a(&bytes).to_be_bytes());
        STANDARD.encode(bytes)
    }

    /// Reads a token of the statement with this fingerprint.
    pub(crate) fn decode(token: &str, fingerprint: u64) -> Result<Self> {
        let invalid = message::next_token_invalid;
        let bytes = STANDARD.decode(token).map_err(|_| invalid())?;
        let (owner, position) = parse(&bytes).ok_or_else(invalid)?;
        if owner != fingerprint {
            return Err(message::next_token_mismatch());
        }
        Ok(position)
    }
}

/// The fingerprint and the position in a token; none if it is damaged.
fn parse(bytes: &[u8]) -> Option<(u64, Position)> {
    let (content, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
    if fnv1a(content).to_be_bytes() != *checksum {
        return None;
    }
    let (&version, rest) = content.split_first()?;
    let (owner, rest) = rest.split_first_chunk::<8>()?;
    let (read, key) = rest.split_first_chunk::<4>()?;
    let after = match key {
        [] => None,
        image => Some(ImageRef::new(image).ok()?.decode().ok()?),
    };
    let read = u32::from_be_bytes(*read) as usize;
    (version == VERSION).then_some((u64::from_be_bytes(*owner), Position { read, after }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position() -> Position {
        let mut key = Item::new();
        key.insert("pk", "a");
        Position { read: 3, after: Some(key) }
    }

    #[test]
    fn a_token_comes_back_as_its_position() {
        for position in [position(), Position { read: 0, after: None }] {
            let token = position.encode(7);
            assert_eq!(Position::decode(&token, 7), Ok(position));
            assert_eq!(Position::decode(&token, 8), Err(message::next_token_mismatch()));
        }
    }

    #[test]
    fn a_token_that_was_changed_anywhere_is_invalid() {
        let token = position().encode(7);
        for at in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            if let Some(byte) = changed.get_mut(at) {
                *byte = if *byte == b'A' { b'B' } else { b'A' };
            }
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(Position::decode(&changed, 7), Err(message::next_token_invalid()), "{at}");
        }
        for nonsense in ["", "a", "AAAA", "not base64!", &token[..8]] {
            assert_eq!(Position::decode(nonsense, 7), Err(message::next_token_invalid()));
        }
    }

    #[test]
    fn the_fingerprint_tells_statements_and_parameters_apart() {
        let prints = [
            fingerprint("a", &[]),
            fingerprint("b", &[]),
            fingerprint("a", &["x".into()]),
            fingerprint("a", &[1.into()]),
            fingerprint("a", &["x".into(), "x".into()]),
        ];
        for (at, print) in prints.iter().enumerate() {
            assert!(!prints.iter().skip(at + 1).any(|other| other == print));
        }
    }
}
