//! Tables that a compaction has replaced: until the last reader has let go of them, their files stay,
//! and after that, their blocks should no longer fill the cache.
//!
//! The cache of `lsm-tree` (as of 3.1.10) cannot forget a table: blocks of removed tables stay until
//! newer ones push them out, so that overwriting a few keys for long fills all of it with blocks that
//! nobody can read any more. A block can be replaced, though, and so those of a removed table are
//! replaced by empty ones.
//!
//! Whether a table can still be read is told by its file: the engine removes it when the last reader
//! lets go, and not before. Numbers of tables are not used twice while a store is open.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::Arc;

use lsm_tree::table::block::{BlockType, Header};
use lsm_tree::table::{Block, BlockHandle, BlockOffset, IndexBlock};
use lsm_tree::{Cache, Checksum, Slice, Table, TableId, TreeId};
use parking_lot::Mutex;

use crate::disk::table_list::TableFile;

/// What an empty block counts for in the cache: about what its entry takes.
const EMPTY_BLOCK_BYTES: u32 = 200;

/// The tables of older versions of a tree.
pub(super) struct RetiredTables {
    tree: TreeId,
    cache: Arc<Cache>,
    tables: Mutex<HashMap<TableId, Retired>>,
}

struct Retired {
    file: TableFile,
    /// Where the blocks begin that may be in the cache.
    blocks: Vec<BlockOffset>,
}

impl RetiredTables {
    /// None yet, in the cache of this tree.
    pub(super) fn new(tree: TreeId, cache: Arc<Cache>) -> Self {
        Self { tree, cache, tables: Mutex::default() }
    }

    /// Notes the tables that may be replaced by what follows.
    pub(super) fn note<'a>(&self, tables: impl Iterator<Item = &'a Table>) {
        let mut noted = self.tables.lock();
        for table in tables {
            let blocks = Vec::new();
            noted.entry(table.id()).or_insert_with(|| Retired { file: file_of(table), blocks });
        }
    }

    /// Finds the blocks of the tables that have been replaced, while they still have a file, and
    /// forgets the noted ones that have not been.
    pub(super) fn retire<'a>(
        &self,
        before: impl Iterator<Item = &'a Table>,
        after: impl Iterator<Item = &'a Table>,
    ) {
        let kept: HashSet<TableId> = after.map(Table::id).collect();
        for table in before.filter(|table| !kept.contains(&table.id())) {
            // Without its index, the table's blocks leave the cache in their own time.
            let blocks = block_offsets(table).unwrap_or_default();
            self.tables.lock().insert(table.id(), Retired { file: file_of(table), blocks });
        }
        self.tables.lock().retain(|id, _| !kept.contains(id));
    }

    /// Forgets the tables that nobody can read any more, and empties their blocks in the cache.
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

    /// Those that may still be read.
    pub(super) fn files(&self) -> Vec<TableFile> {
        self.tables.lock().values().map(|table| table.file.clone()).collect()
    }
}

/// The file of a table, and what it must hold.
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

/// The blocks that a block of the index names.
pub(super) fn indexed(
    table: &Table,
    file: &File,
    index: BlockHandle,
) -> lsm_tree::Result<Vec<BlockHandle>> {
    let block = Block::from_file(file, index, table.metadata.index_block_compression)?;
    let items = IndexBlock::new(block);
    Ok(items.iter().map(|item| BlockHandle::new(item.offset, item.size)).collect())
}
