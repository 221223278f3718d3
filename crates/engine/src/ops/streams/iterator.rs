//! Shard iterators: opaque to clients, and verified on use.
//!
//! An iterator is the stream's ARN, a version, and in base64 the position, the creation time and a checksum, so that
//! a corrupted iterator is rejected instead of reading from a wrong position.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use keyloom_core::error::stream as message;
use keyloom_core::hash::fnv1a;
use keyloom_core::{Result, limits};

use crate::layout::Keyspace;

/// The form of the iterators that are given out.
const VERSION: &str = "1";
const BODY_BYTES: usize = 25;

/// Where a reader stands in a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) stream: Keyspace,
    pub(super) shard: u32,
    /// The first sequence number that has not been read.
    pub(super) next: u64,
    /// Whether the reader asked for whatever is oldest, so that nothing can be trimmed before it.
    pub(super) from_horizon: bool,
}

impl Position {
    /// The iterator for this position.
    pub(super) fn iterator(&self, arn: &str, now_ms: u64) -> String {
        let mut body = Vec::with_capacity(BODY_BYTES + 8);
        body.extend_from_slice(&self.stream.to_be_bytes());
        body.extend_from_slice(&self.shard.to_be_bytes());
        body.extend_from_slice(&self.next.to_be_bytes());
        body.extend_from_slice(&now_ms.to_be_bytes());
        body.push(u8::from(self.from_horizon));
        let sum = check_sum(arn, &body);
        body.extend_from_slice(&sum.to_be_bytes());
        format!("{arn}|{VERSION}|{}", BASE64.encode(body))
    }

    /// Reads an iterator back: the position and the stream's ARN.
    pub(super) fn decode(iterator: &str, now_ms: u64) -> Result<(Self, &str)> {
        let (position, made_ms, arn) = parse(iterator).ok_or_else(message::iterator_invalid)?;
        if now_ms.saturating_sub(made_ms) > limits::SHARD_ITERATOR_SECONDS * 1000 {
            return Err(message::iterator_expired());
        }
        Ok((position, arn))
    }
}

/// The ARN, the version and the rest of an iterator.
fn parts(iterator: &str) -> Option<(&str, &str, &str)> {
    let (rest, body) = iterator.rsplit_once('|')?;
    let (arn, version) = rest.rsplit_once('|')?;
    Some((arn, version, body))
}

/// The ARN of the stream that an iterator claims to read.
pub(crate) fn stream_arn(iterator: &str) -> Option<&str> {
    parts(iterator).map(|(arn, ..)| arn)
}

fn parse(iterator: &str) -> Option<(Position, u64, &str)> {
    let (arn, version, body) = parts(iterator)?;
    let bytes = BASE64.decode(body).ok()?;
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    if version != VERSION || u64::from_be_bytes(*sum) != check_sum(arn, body) {
        return None;
    }
    let (stream, rest) = body.split_first_chunk::<4>()?;
    let (shard, rest) = rest.split_first_chunk::<4>()?;
    let (next, rest) = rest.split_first_chunk::<8>()?;
    let (made_ms, rest) = rest.split_first_chunk::<8>()?;
    let position = Position {
        stream: Keyspace::from_be_bytes(*stream),
        shard: u32::from_be_bytes(*shard),
        next: u64::from_be_bytes(*next),
        from_horizon: rest == [1],
    };
    Some((position, u64::from_be_bytes(*made_ms), arn))
}

fn check_sum(arn: &str, body: &[u8]) -> u64 {
    fnv1a(&[arn.as_bytes(), body].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iterator_comes_back_until_it_is_changed_or_old() {
        let position = Position { stream: 7, shard: 2, next: 99, from_horizon: true };
        let arn = "arn:aws:dynamodb:r:1:table/music/stream/label";
        let iterator = position.iterator(arn, 1000);
        assert_eq!(Position::decode(&iterator, 1000).unwrap(), (position, arn));
        assert!(Position::decode(&iterator, 1000 + 15 * 60 * 1000).is_ok());
        let old = Position::decode(&iterator, 1001 + 15 * 60 * 1000).unwrap_err();
        assert_eq!(old.code(), "ExpiredIteratorException");
        for at in 0..iterator.len() {
            let mut changed = iterator.clone().into_bytes();
            changed[at] ^= 1;
            let changed = String::from_utf8(changed).unwrap();
            assert!(Position::decode(&changed, 1000).is_err(), "{at}");
        }
        assert!(Position::decode("", 0).is_err());
    }
}
