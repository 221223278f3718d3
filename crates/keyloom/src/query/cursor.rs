//! Cursors: the position of a query as text, to be sent to a client and back.

use std::fmt;
use std::str::FromStr;
#[cfg(feature = "signing")]
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyloom_core::json::{self, Json};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::stream::Position;
use crate::error::{Error, Result};

/// Where a query continues. An opaque text that is valid only for the same pattern with the same inputs.
///
/// The inputs come from the program and never from the cursor, and a position outside of what they ask for is refused: a
/// forged cursor can skip or repeat items of the same answer, and reach no others. Where even that matters,
/// `Table::with_cursor_key` signs cursors (feature `signing`).
///
/// It holds the keys of the last items, unencrypted: do not hand it to clients that may not see them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor(String);

/// The format of a cursor: with a checksum, or with a signature.
const CHECKED: u8 = 1;
#[cfg(feature = "signing")]
const SIGNED: u8 = 2;

/// The bytes of the checksum, and of the signature.
const SUM_BYTES: usize = 4;
#[cfg(feature = "signing")]
const SIGNATURE_BYTES: usize = 32;

/// Identifies the table in its cursors.
#[derive(Clone, Default)]
pub(crate) struct Seal {
    /// Changes the fingerprints of its queries.
    scope: u64,
    #[cfg(feature = "signing")]
    key: Option<Arc<[u8]>>,
}

impl Seal {
    /// The same seal for tables whose cursors are not those of tables of other scopes.
    pub(crate) fn scoped(mut self, scope: &str) -> Self {
        self.scope = keyloom_keys::stable_hash(&[scope]);
        self
    }

    /// The same seal with a key, by which cursors are signed.
    #[cfg(feature = "signing")]
    pub(crate) fn keyed(mut self, key: &[u8]) -> Self {
        self.key = Some(key.into());
        self
    }

    #[cfg_attr(
        not(feature = "signing"),
        expect(clippy::unused_self, reason = "only a signed seal has a key")
    )]
    fn form(&self) -> u8 {
        #[cfg(feature = "signing")]
        if self.key.is_some() {
            return SIGNED;
        }
        CHECKED
    }

    /// Appends the signature or the checksum.
    #[cfg_attr(
        not(feature = "signing"),
        expect(clippy::unused_self, reason = "only a signed seal has a key")
    )]
    fn seal(&self, bytes: &mut Vec<u8>) {
        #[cfg(feature = "signing")]
        if let Some(key) = &self.key {
            let code = crate::mac::mac(key, bytes);
            bytes.extend(code);
            return;
        }
        bytes.extend(checksum(bytes));
    }

    /// What was sealed, if it was sealed by this.
    fn open<'b>(&self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let is_of_this_form = |content: &[u8]| content.first() == Some(&self.form());
        #[cfg(feature = "signing")]
        if let Some(key) = &self.key {
            let (content, code) = bytes.split_last_chunk::<SIGNATURE_BYTES>()?;
            let is_signed = crate::mac::is_mac(key, content, code);
            return (is_signed && is_of_this_form(content)).then_some(content);
        }
        let (content, sum) = bytes.split_last_chunk::<SUM_BYTES>()?;
        (*sum == checksum(content) && is_of_this_form(content)).then_some(content)
    }
}

impl Cursor {
    pub(super) fn new(fingerprint: u64, positions: &[Position], seal: &Seal) -> Self {
        let mut bytes = vec![seal.form()];
        bytes.extend_from_slice(&(fingerprint ^ seal.scope).to_be_bytes());
        bytes.push(b'[');
        for (at, position) in positions.iter().enumerate() {
            if at > 0 {
                bytes.push(b',');
            }
            match position {
                Position::Start => bytes.push(b'0'),
                Position::Done => bytes.push(b'1'),
                Position::After(key) => json::write_item(key, &mut bytes),
            }
        }
        bytes.push(b']');
        seal.seal(&mut bytes);
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Why a pattern with `or` has no cursors.
    pub(super) fn of_alternatives() -> Error {
        Error::Cursor(
            "a pattern with `or` is read in one go: a row of two alternatives would come again"
                .into(),
        )
    }

    pub(super) fn positions(
        &self,
        fingerprint: u64,
        reads: usize,
        seal: &Seal,
    ) -> Result<Vec<Position>> {
        let damaged = || Error::Cursor("it is damaged: run the query again from its start".into());
        let bytes = URL_SAFE_NO_PAD.decode(&self.0).map_err(|_| damaged())?;
        let content = seal.open(&bytes).ok_or_else(damaged)?;
        let (made_for, list) =
            content.get(1..).and_then(|rest| rest.split_first_chunk::<8>()).ok_or_else(damaged)?;
        if u64::from_be_bytes(*made_for) != fingerprint ^ seal.scope {
            return Err(Error::Cursor(
                "it belongs to another query: use it with the pattern and the inputs it came from"
                    .into(),
            ));
        }
        let Ok(Json::Array(list)) = json::parse(list) else { return Err(damaged()) };
        if list.len() != reads {
            return Err(Error::Cursor(
                "the design has changed since it was made: run the query again from its start"
                    .into(),
            ));
        }
        let position = |json: &Json<'_>| match json {
            Json::Number(number) if number.as_str() == "0" => Ok(Position::Start),
            Json::Number(_) => Ok(Position::Done),
            key => json::item_from(key).map(Position::After).map_err(|_| damaged()),
        };
        list.iter().map(position).collect()
    }

    /// The cursor as a text of letters, digits, `-` and `_`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Catches damage and idle editing.
fn checksum(bytes: &[u8]) -> [u8; SUM_BYTES] {
    (keyloom_keys::stable_hash(&[&String::from_utf8_lossy(bytes)]) as u32).to_be_bytes()
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Any text is taken; whether it is a cursor of the query shows when it is used.
impl FromStr for Cursor {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_back_and_strangers_are_refused() {
        let key = crate::item! { "PK" => "A#1", "SK" => "ä\"" };
        let positions = vec![Position::Start, Position::After(key), Position::Done];
        let seal = Seal::default();
        let cursor = Cursor::new(7, &positions, &seal);
        assert_eq!(cursor.positions(7, 3, &seal).unwrap(), positions);
        assert!(cursor.positions(8, 3, &seal).unwrap_err().to_string().contains("another query"));
        assert!(cursor.positions(7, 2, &seal).unwrap_err().to_string().contains("changed"));
        let mut text = cursor.to_string();
        text.replace_range(12..13, if text.as_bytes()[12] == b'A' { "B" } else { "A" });
        let damaged: Cursor = text.parse().unwrap();
        assert!(damaged.positions(7, 3, &seal).unwrap_err().to_string().contains("damaged"));
        assert!("".parse::<Cursor>().unwrap().positions(7, 3, &seal).is_err());
    }

    #[test]
    fn cursors_of_one_scope_are_none_of_another() {
        let positions = vec![Position::Start];
        let (one, other) = (Seal::default().scoped("old"), Seal::default().scoped("new"));
        let cursor = Cursor::new(7, &positions, &one);
        assert_eq!(cursor.positions(7, 1, &one).unwrap(), positions);
        assert!(cursor.positions(7, 1, &other).is_err());
    }

    #[cfg(feature = "signing")]
    #[test]
    fn a_signed_cursor_is_taken_only_with_its_key() {
        let positions = vec![Position::Start];
        let (key, other, none) =
            (Seal::default().keyed(b"key"), Seal::default().keyed(b"other"), Seal::default());
        let signed = Cursor::new(7, &positions, &key);
        assert_eq!(signed.positions(7, 1, &key).unwrap(), positions);
        assert!(signed.positions(7, 1, &other).is_err());
        assert!(signed.positions(7, 1, &none).is_err());
        assert!(Cursor::new(7, &positions, &none).positions(7, 1, &key).is_err());
    }
}
