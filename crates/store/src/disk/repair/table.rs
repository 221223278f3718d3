//! Recovers the intact part of a table.
//!
//! A table begins with its data blocks, one after another, each with its own checksums. Its index
//! has their offsets; if the index is damaged, the blocks are found by scanning for their headers.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use lsm_tree::coding::Decode;
use lsm_tree::table::block::decoder::ParsedItem;
use lsm_tree::table::block::{BlockType, Header};
use lsm_tree::table::{Block, BlockHandle, BlockOffset, DataBlock};
use lsm_tree::{Cache, Checksum, CompressionType, InternalValue, Table};

use super::files::Found;
use super::report::{Loss, RepairReport};
use crate::disk::obsolete_tables::indexed;
use crate::disk::table_list::TableFile;

/// Start of every block.
const MAGIC: &[u8] = b"LSM\x03";

/// The intact blocks of a table.
pub(super) struct Salvaged {
    pub(super) path: PathBuf,
    pub(super) blocks: Vec<BlockHandle>,
    pub(super) compression: CompressionType,
    /// The highest transaction number in it, as far as known.
    pub(super) highest: u64,
    /// Whether nothing is missing.
    pub(super) is_whole: bool,
}

/// Opens all tables as far as they can be read, and reports what cannot.
pub(super) fn open_all(found: &Found, report: &mut RepairReport) -> Vec<Salvaged> {
    let mut tables = Vec::new();
    for (path, checksum) in &found.tables {
        let damage = match checksum {
            Some(checksum) => TableFile { path: path.clone(), checksum: *checksum }.damage(),
            None => None,
        };
        let whole =
            if damage.is_none() && checksum.is_some() { open_whole(path).ok() } else { None };
        match whole {
            Some(table) => tables.push(table),
            None => match fs::read(path) {
                Ok(bytes) => tables.extend(salvage(path, &bytes, checksum.is_some(), report)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    report.lose(path, "the table is missing");
                }
                Err(error) => report.lose(path, format!("the table cannot be read: {error}")),
            },
        }
    }
    tables
}

/// A table that matches its checksum.
fn open_whole(path: &Path) -> lsm_tree::Result<Salvaged> {
    let (table, blocks) = open_index(path)?;
    Ok(Salvaged {
        path: path.to_owned(),
        blocks,
        compression: table.metadata.data_block_compression,
        highest: table.get_highest_seqno(),
        is_whole: true,
    })
}

/// The table, and the data blocks in its index.
fn open_index(path: &Path) -> lsm_tree::Result<(Table, Vec<BlockHandle>)> {
    let cache = Arc::new(Cache::with_capacity_bytes(0));
    // The checksum is not verified when a table is opened.
    let checksum = Checksum::from_raw(0);
    let table = Table::recover(path.to_owned(), checksum, 0, 0, cache, None, false, false)?;
    let file = File::open(path)?;
    let mut blocks = indexed(&table, &file, table.regions.tli)?;
    if table.regions.index.is_some() {
        let parts = std::mem::take(&mut blocks);
        for part in parts {
            blocks.extend(indexed(&table, &file, part)?);
        }
    }
    Ok((table, blocks))
}

/// A section of a table's data.
enum Piece {
    Block(BlockHandle),
    Damage,
}

/// Recovers a table that may be damaged; `is_damaged` if it certainly is.
fn salvage(
    path: &Path,
    bytes: &[u8],
    is_damaged: bool,
    report: &mut RepairReport,
) -> Option<Salvaged> {
    let index = open_index(path).ok();
    let (pieces, compression, has_end) = match &index {
        Some((table, blocks)) => {
            let pieces = blocks.iter().map(|block| Piece::Block(*block)).collect();
            (pieces, table.metadata.data_block_compression, true)
        }
        None => find_blocks(bytes),
    };
    let mut reading = Reading::default();
    for piece in pieces {
        let entries = match piece {
            Piece::Block(handle) => {
                decode(bytes, handle, compression).map(|entries| (handle, entries))
            }
            Piece::Damage => None,
        };
        reading.take(entries);
    }
    if !has_end {
        reading.take(None);
    }
    let Reading { blocks, gaps, entries, highest, last, .. } = reading;
    let expected = index.as_ref().map(|(table, _)| table.metadata.item_count);
    let missing = expected.map(|expected| expected.saturating_sub(entries));
    let is_whole = gaps.is_empty() && missing.unwrap_or(0) == 0;
    let only_gap = gaps.len() == 1;
    for (after, before) in gaps {
        let before = before.or_else(|| upper_end(index.as_ref(), last.as_ref()));
        let detail = "blocks of the table are damaged or missing".to_owned();
        let entries = missing.filter(|_| only_gap);
        let between = (after, before);
        report.losses.push(Loss { between, entries, ..Loss::new(path, detail) });
    }
    if is_whole && is_damaged {
        report.doubts.push(format!(
            "{} does not match the checksum in the list of tables, though all its entries are \
             intact: either its index or filter is damaged, and nothing is lost, or it is another \
             file (of another store, or an older copy), and its entries do not belong here",
            path.display()
        ));
    }
    if blocks.is_empty() && bytes.is_empty() {
        return None;
    }
    let highest = index.map_or(highest, |(table, _)| table.get_highest_seqno().max(highest));
    Some(Salvaged { path: path.to_owned(), blocks, compression, highest, is_whole })
}

/// The last key of a table whose end is missing, if its metadata is readable.
fn upper_end(index: Option<&(Table, Vec<BlockHandle>)>, last: Option<&Bytes>) -> Option<Bytes> {
    let (table, _) = index?;
    let end = Bytes::copy_from_slice(table.metadata.key_range.max());
    (last != Some(&end)).then_some(end)
}

/// State of reading a table: its intact blocks, and the keys around missing ones.
#[derive(Default)]
struct Reading {
    blocks: Vec<BlockHandle>,
    gaps: Vec<(Option<Bytes>, Option<Bytes>)>,
    entries: u64,
    highest: u64,
    last: Option<Bytes>,
    in_gap: bool,
}

impl Reading {
    fn take(&mut self, block: Option<(BlockHandle, Vec<InternalValue>)>) {
        let first = block.as_ref().and_then(|(_, entries)| Some(key(entries.first()?)));
        // A block with keys out of order cannot belong to this table.
        let fits = first.as_ref().is_some_and(|first| self.last.as_ref() <= Some(first));
        let Some((handle, entries)) = block.filter(|_| fits) else {
            if !std::mem::replace(&mut self.in_gap, true) {
                self.gaps.push((self.last.clone(), None));
            }
            return;
        };
        if std::mem::replace(&mut self.in_gap, false)
            && let Some(gap) = self.gaps.last_mut()
        {
            gap.1 = first;
        }
        self.blocks.push(handle);
        self.entries += entries.len() as u64;
        self.last = entries.last().map(key);
        let highest = entries.iter().map(|entry| entry.key.seqno).max();
        self.highest = self.highest.max(highest.unwrap_or(0));
    }
}

fn key(entry: &InternalValue) -> Bytes {
    Bytes::from(entry.key.user_key.clone())
}

/// The entries of a block, if it is intact.
fn decode(
    bytes: &[u8],
    handle: BlockHandle,
    compression: CompressionType,
) -> Option<Vec<InternalValue>> {
    let from = usize::try_from(*handle.offset()).ok()?;
    let mut bytes = bytes.get(from..from.checked_add(handle.size() as usize)?)?;
    read_entries(&mut bytes, compression)
}

/// Decodes the entries of the block at the reader's position.
pub(super) fn read_entries(
    reader: &mut impl io::Read,
    compression: CompressionType,
) -> Option<Vec<InternalValue>> {
    let block = Block::from_reader(reader, compression).ok()?;
    if block.header.block_type != BlockType::Data {
        return None;
    }
    let block = DataBlock::new(block);
    Some(block.iter().map(|entry| entry.materialize(&block.inner.data)).collect())
}

/// Finds blocks without an index: the blocks, their compression, and whether the data ends where it
/// should.
fn find_blocks(bytes: &[u8]) -> (Vec<Piece>, CompressionType, bool) {
    let (mut pieces, mut offset) = (Vec::new(), 0);
    let mut is_packed = false;
    let mut has_end = false;
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        match intact_header(rest) {
            Some((header, size)) if header.block_type == BlockType::Data => {
                is_packed |= header.data_length != header.uncompressed_length;
                let handle = BlockHandle::new(BlockOffset(offset as u64), size as u32);
                pieces.push(Piece::Block(handle));
                offset += size;
            }
            // The index, the filter and the metadata follow the data.
            Some(_) => {
                has_end = true;
                break;
            }
            None => {
                pieces.push(Piece::Damage);
                let next = (1..rest.len()).find(|at| {
                    rest.get(*at..).is_some_and(|rest| {
                        rest.starts_with(MAGIC) && intact_header(rest).is_some()
                    })
                });
                offset += next.unwrap_or(rest.len());
            }
        }
    }
    let compression = if is_packed { CompressionType::Lz4 } else { CompressionType::None };
    (pieces, compression, has_end)
}

/// The header of an intact block at the start of `bytes`, and the size of both.
fn intact_header(bytes: &[u8]) -> Option<(Header, usize)> {
    let header = Header::decode_from(&mut &*bytes).ok()?;
    let size = Header::serialized_len() + header.data_length as usize;
    let data = bytes.get(Header::serialized_len()..size)?;
    let checksum = xxhash_rust::xxh3::xxh3_128(data);
    (Checksum::from_raw(checksum) == header.checksum).then_some((header, size))
}
