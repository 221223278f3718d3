//! The bytes of a log segment.
//!
//! All integers are little-endian; a checksum is XXH3 (64 bits). A segment begins with a header:
//!
//! | bytes | meaning |
//! |---|---|
//! | 8 | `KLOOMLOG` |
//! | 4 | format, 1 |
//! | 4 | zero |
//! | 8 | number of the segment |
//! | 8 | offset at which the records of the segment before end |
//! | 8 | salt |
//! | 8 | checksum of the 40 bytes before |
//!
//! Records follow without gaps, then zeros. One record holds one group of transactions:
//!
//! | bytes | meaning |
//! |---|---|
//! | 8 | checksum of the payload |
//! | 4 | checksum of the next 12 bytes, lower half |
//! | 4 | length of the payload |
//! | 8 | offset up to which this segment was durable when the record was written |
//! | … | payload: per transaction its sequence number (8), its count of edits (4), and per edit the key's length (2), the value's length (4; all ones delete), key and value |
//!
//! Both checksums of a record are seeded with the segment's salt and the record's offset. So
//! bytes that merely look like a record (left by a deleted file, or stored by a user) are not one.

use bytes::Bytes;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::transaction::WriteSet;

const MAGIC: &[u8; 8] = b"KLOOMLOG";
const FORMAT: u32 = 1;
const DELETED: u32 = u32::MAX;

/// Length of a segment's header.
pub(crate) const SEGMENT_HEADER: usize = 48;

/// Length of a record's header.
pub(crate) const RECORD_HEADER: usize = 24;

/// What the header of a segment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// The segment's number.
    pub(crate) id: u64,
    /// Where the records of the segment before end; zero if there is none.
    pub(crate) previous_end: u64,
    /// What makes this segment's records its own.
    pub(crate) salt: u64,
}

impl SegmentHeader {
    /// The header's bytes.
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SEGMENT_HEADER);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.id.to_le_bytes());
        bytes.extend_from_slice(&self.previous_end.to_le_bytes());
        bytes.extend_from_slice(&self.salt.to_le_bytes());
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a header, or says what is wrong with it.
    pub(crate) fn decode(segment: &[u8]) -> Result<Self, String> {
        let (Some(covered), Some(header)) = (segment.get(..40), segment.get(..SEGMENT_HEADER))
        else {
            return Err(format!("it ends after {} bytes, inside its header", segment.len()));
        };
        let mut cursor = Cursor(header);
        let magic = cursor.take(8);
        let (format, _zero) = (cursor.u32(), cursor.u32());
        let (id, previous_end) = (cursor.u64(), cursor.u64());
        let (salt, checksum) = (cursor.u64(), cursor.u64());
        if magic != Some(MAGIC) || checksum != Some(xxh3_64(covered)) {
            return Err("its header is not that of a log segment".into());
        }
        match (format, id, previous_end, salt) {
            (Some(FORMAT), Some(id), Some(previous_end), Some(salt)) => {
                Ok(Self { id, previous_end, salt })
            }
            (format, ..) => Err(format!(
                "it has log format {}, but this version reads format {FORMAT}",
                format.unwrap_or_default()
            )),
        }
    }
}

/// A record as found in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// Up to which offset the segment was durable when this was written.
    pub(crate) durable_to: u64,
    /// The transactions, encoded.
    pub(crate) payload: &'a [u8],
}

/// Appends a record for `offset` to `out`. A group without transactions makes a *seal*: a record
/// whose only message is how far the segment is durable.
pub(crate) fn encode_record(
    out: &mut Vec<u8>,
    salt: u64,
    offset: u64,
    durable_to: u64,
    group: &[(u64, &WriteSet)],
) {
    let start = out.len();
    out.resize(start + RECORD_HEADER, 0);
    for (seqno, writes) in group {
        encode_transaction(out, *seqno, writes);
    }
    let payload = out.get(start + RECORD_HEADER..).unwrap_or_default();
    let body = xxh3_64_with_seed(payload, salt ^ offset).to_le_bytes();
    let len = (payload.len() as u32).to_le_bytes();
    let head = head_checksum(salt, offset, payload.len() as u32, durable_to).to_le_bytes();
    let header = [&body[..], &head, &len, &durable_to.to_le_bytes()].concat();
    if let Some(place) = out.get_mut(start..start + RECORD_HEADER) {
        place.copy_from_slice(&header);
    }
}

fn encode_transaction(out: &mut Vec<u8>, seqno: u64, writes: &WriteSet) {
    out.extend_from_slice(&seqno.to_le_bytes());
    out.extend_from_slice(&(writes.len() as u32).to_le_bytes());
    for (key, value) in writes {
        let value_len = value.as_ref().map_or(DELETED, |value| value.len() as u32);
        out.extend_from_slice(&(key.len() as u16).to_le_bytes());
        out.extend_from_slice(&value_len.to_le_bytes());
        out.extend_from_slice(key);
        out.extend_from_slice(value.as_deref().unwrap_or_default());
    }
}

/// The intact record at `offset`, if there is one.
pub(crate) fn decode_record(segment: &[u8], salt: u64, offset: usize) -> Option<Record<'_>> {
    let mut cursor = Cursor(segment.get(offset..)?);
    let (body, head, len, durable_to) =
        (cursor.u64()?, cursor.u32()?, cursor.u32()?, cursor.u64()?);
    if head != head_checksum(salt, offset as u64, len, durable_to) {
        return None;
    }
    let payload = cursor.take(len as usize)?;
    (body == xxh3_64_with_seed(payload, salt ^ offset as u64))
        .then_some(Record { durable_to, payload })
}

/// Guards the header by itself, so that looking for records costs one short hash per offset.
fn head_checksum(salt: u64, offset: u64, len: u32, durable_to: u64) -> u32 {
    let mut covered = [0; 12];
    let (length, mark) = covered.split_at_mut(4);
    length.copy_from_slice(&len.to_le_bytes());
    mark.copy_from_slice(&durable_to.to_le_bytes());
    xxh3_64_with_seed(&covered, salt ^ offset) as u32
}

/// The transactions of a record, or `None` if the payload is not well formed.
pub(crate) fn decode_payload(payload: &[u8]) -> Option<Vec<(u64, WriteSet)>> {
    let mut cursor = Cursor(payload);
    let mut transactions = Vec::new();
    while !cursor.0.is_empty() {
        let seqno = cursor.u64()?;
        let edits = cursor.u32()?;
        let mut writes = WriteSet::new();
        for _ in 0..edits {
            let key_len = cursor.u16()?;
            let value_len = cursor.u32()?;
            let key = Bytes::copy_from_slice(cursor.take(key_len.into())?);
            let value = match value_len {
                DELETED => None,
                len => Some(Bytes::copy_from_slice(cursor.take(len as usize)?)),
            };
            writes.insert(key, value);
        }
        transactions.push((seqno, writes));
    }
    Some(transactions)
}

/// Reads integers and slices off the front.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(pairs: &[(&'static str, Option<&'static str>)]) -> WriteSet {
        pairs.iter().map(|(key, value)| ((*key).into(), value.map(Into::into))).collect()
    }

    #[test]
    fn a_segment_header_survives_and_every_flipped_bit_is_noticed() {
        let header = SegmentHeader { id: 7, previous_end: 99, salt: 0xDEAD_BEEF };
        let bytes = header.encode();
        assert_eq!(bytes.len(), SEGMENT_HEADER);
        assert_eq!(SegmentHeader::decode(&bytes), Ok(header));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::decode(&damaged).is_err(), "bit {bit}");
        }
        assert!(SegmentHeader::decode(&bytes[..47]).is_err());
    }

    #[test]
    fn a_record_survives_and_every_flipped_bit_is_noticed() {
        let (first, second) =
            (writes(&[("a", Some("1")), ("b", None)]), writes(&[("c", Some(""))]));
        let group = [(5, &first), (9, &second)];
        let mut segment = vec![0; 40];
        encode_record(&mut segment, 11, 40, 40, &group);
        let record = decode_record(&segment, 11, 40).unwrap();
        assert_eq!(record.durable_to, 40);
        assert_eq!(
            decode_payload(record.payload),
            Some(vec![(5, first.clone()), (9, second.clone())])
        );
        for bit in 40 * 8..segment.len() * 8 {
            let mut damaged = segment.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode_record(&damaged, 11, 40), None, "bit {bit}");
        }
    }

    #[test]
    fn a_record_is_only_valid_in_its_segment_at_its_offset() {
        let mut segment = vec![0; 40];
        encode_record(&mut segment, 11, 40, 40, &[]);
        assert!(decode_record(&segment, 11, 40).is_some());
        assert_eq!(decode_record(&segment, 12, 40), None);
        segment.insert(0, 0);
        assert_eq!(decode_record(&segment, 11, 41), None);
    }

    #[test]
    fn zeros_are_not_a_record() {
        for offset in 40..400 {
            assert_eq!(decode_record(&[0; 512], 0x1234_5678_9ABC, offset), None);
        }
    }
}
