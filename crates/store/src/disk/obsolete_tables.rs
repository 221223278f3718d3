//! Tables replaced by a compaction: their files stay while a snapshot reads them, and afterwards
//! their blocks are evicted from the cache.
//!
//! The cache of `lsm-tree` (as of 3.1.10) cannot evict a table: blocks of removed tables stay until
//! newer ones displace them, so overwriting a few keys for long fills the whole cache with
//! unreachable blocks. A cached block can be replaced, though, so those of a removed table are
//! replaced by empty ones.
//!
//! A table is unreachable once its file is gone: the engine removes the file when the last reader
//! releases it. Table numbers are not reused while a store is open.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::Arc;

use lsm_tree::table::block::{BlockType, Header};
use lsm_tree::table::{Block, BlockHandle, BlockOffset, IndexBlock};
use lsm_tree::{Cache, Checksum, Slice, Table, TableId, TreeId};
use parking_lot::Mutex;

use crate::disk::table_list::TableFile;

/// The size of an empty block in the cache: about that of a cache entry.
const EMPTY_BLOCK_BYTES: u32 = 200;

/// The obsolete tables of a tree.
pub(super) struct ObsoleteTables {
    tree: TreeId,
    cache: Arc<Cache>,
    tables: Mutex<HashMap<TableId, ObsoleteTable>>,
}

struct ObsoleteTable {
    file: TableFile,
    /// Offsets of the blocks that may be in the cache.
    blocks: Vec<BlockOffset>,
}

impl ObsoleteTables {
    /// An empty set for this tree's cache.
    pub(super) fn new(tree: TreeId, cache: Arc<Cache>) -> Self {
        Self { tree, cache, tables: Mutex::default() }
    }

    /// Records the tables that the next operation may replace.
    pub(super) fn note<'a>(&self, tables: impl Iterator<Item = &'a Table>) {
        let mut noted = self.tables.lock();
        for table in tables {
            let blocks = Vec::new();
            noted
                .entry(table.id())
                .or_insert_with(|| ObsoleteTable { file: file_of(table), blocks });
        }
    }

    /// Reads the block offsets of the tables that have been replaced, while their files still
    /// exist, and drops the recorded tables that have not been.
    pub(super) fn retire<'a>(
        &self,
        before: impl Iterator<Item = &'a Table>,
        after: impl Iterator<Item = &'a Table>,
    ) {
        let kept: HashSet<TableId> = after.map(Table::id).collect();
        for table in before.filter(|table| !kept.contains(&table.id())) {
            // If the index cannot be read, the blocks are evicted as newer ones displace them.
            let blocks = block_offsets(table).unwrap_or_default();
            self.tables.lock().insert(table.id(), ObsoleteTable { file: file_of(table), blocks });
        }
        self.tables.lock().retain(|id, _| !kept.contains(id));
    }

    /// Drops the tables that are no longer reachable and evicts their blocks.
    pub(super) fn sweep(&self) {
        let mut gone = Vec::new();
        self.tables.lock().retain(|id, table| {
            let is_there = table.file.path.exists();
            if !is_there {
                gone.push((*id, std::mem::take(&mut table.blocks)));
            }
            is_there
        });
        for (id, blocks) in gone {
            for offset in blocks {
                if self.cache.get_block((self.tree, id).into(), offset).is_some() {
                    self.cache.insert_block((self.tree, id).into(), offset, empty_block());
                }
            }
        }
    }

    /// The files of obsolete tables that may still be read.
    pub(super) fn files(&self) -> Vec<TableFile> {
        self.tables.lock().values().map(|table| table.file.clone()).collect()
    }
}

/// The file of a table with its checksum.
pub(super) fn file_of(table: &Table) -> TableFile {
    TableFile { path: table.path.to_path_buf(), checksum: table.checksum().into_u128() }
}

fn empty_block() -> Block {
    let header = Header {
        block_type: BlockType::Data,
        checksum: Checksum::from_raw(0),
        data_length: 0,
        uncompressed_length: EMPTY_BLOCK_BYTES,
    };
    Block { header, data: Slice::from(&[][..]) }
}

/// The offsets of all blocks of a table: data, index and filter.
fn block_offsets(table: &Table) -> lsm_tree::Result<Vec<BlockOffset>> {
    let file = File::open(&*table.path)?;
    let regions = &table.regions;
    let mut offsets = vec![regions.tli.offset()];
    offsets.extend(regions.filter.map(|filter| filter.offset()));
    if let Some(filters) = regions.filter_tli {
        offsets.extend(indexed(table, &file, filters)?.iter().map(BlockHandle::offset));
    }
    let top = indexed(table, &file, regions.tli)?;
    offsets.extend(top.iter().map(BlockHandle::offset));
    if regions.index.is_some() {
        for part in top {
            offsets.extend(indexed(table, &file, part)?.iter().map(BlockHandle::offset));
        }
    }
    Ok(offsets)
}

/// The blocks that an index block refers to.
pub(super) fn indexed(
    table: &Table,
    file: &File,
    index: BlockHandle,
) -> lsm_tree::Result<Vec<BlockHandle>> {
    let block = Block::from_file(file, index, table.metadata.index_block_compression)?;
    let items = IndexBlock::new(block);
    Ok(items.iter().map(|item| BlockHandle::new(item.offset, item.size)).collect())
}
