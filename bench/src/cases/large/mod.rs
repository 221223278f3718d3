//! A large table: does anything cost more because there is much? Pages in small and large
//! partitions, a scan of everything, writes during the scan, the bytes on disk, a cold start.

mod database;
mod disk;
mod partitions;
mod scan;

use std::path::Path;

use anyhow::{Context, Result};
use keyloom_engine::{Database, DiskOptions, Durability, Options};

use crate::bench::Bench;
use crate::cases::start;
use crate::contender::Contender;
use crate::figures::count;
use crate::results::Section;
use crate::workload::{ITEM_BYTES, Random, Record, TABLE, create_table};

pub(crate) use disk::AFTER_COMPACTION;
pub(crate) use partitions::{PAGES, partition_label};
pub(crate) use scan::{DURING_SCAN, IN_MEMORY, ON_DISK, first_items_label};

use database::LargeDatabase;

/// Items that are generated, and loaded, at once.
const CHUNK: usize = 5_000;

/// A loaded database.
struct Loaded {
    contender: Contender,
    database: Box<dyn LargeDatabase>,
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let names = ["large memory partitions", "large memory scan"];
    if names.iter().any(|name| bench.wants(name)) {
        let dynoxide = dynoxide::Database::memory()?;
        let mut loaded = Vec::new();
        let databases: [(Contender, Box<dyn LargeDatabase>); 2] = [
            (Contender::Keyloom, Box::new(Database::memory())),
            (Contender::Dynoxide, Box::new(dynoxide)),
        ];
        for (contender, database) in databases {
            loaded.push(load(bench, contender, database, "memory")?);
        }
        partitions::run(bench, Section::PartitionsMemory, &loaded)?;
        scan::run(bench, scan::IN_MEMORY, &loaded)?;
    }
    let names = ["large disk partitions", "large disk scan", "large disk bytes", "start disk"];
    if names.iter().any(|name| bench.wants(name)) {
        on_disk(bench)?;
    }
    Ok(())
}

fn on_disk(bench: &mut Bench) -> Result<()> {
    let directory = bench.directory("large")?;
    let (keyloom, file) = (directory.join("keyloom"), directory.join("dynoxide.db"));
    let file = file.to_str().context("the path is no text")?;
    // Nothing that is measured here waits for a sync; loading would.
    let relaxed = DiskOptions { durability: Durability::Relaxed, ..DiskOptions::default() };
    let databases: [(Contender, Box<dyn LargeDatabase>); 2] = [
        (Contender::Keyloom, Box::new(Database::open_with(&keyloom, relaxed, Options::default())?)),
        (Contender::Dynoxide, Box::new(dynoxide::Database::new(file)?)),
    ];
    let mut loaded = Vec::new();
    for (contender, database) in databases {
        loaded.push(load(bench, contender, database, "disk")?);
    }
    bench.say("disk: waiting until the tables are compacted");
    disk::wait_until_quiet(&keyloom)?;
    partitions::run(bench, Section::PartitionsDisk, &loaded)?;
    // What is written during the scan must not count as items on disk.
    drop(loaded);
    let items = bench.settings.partitions.iter().sum();
    disk::run(
        bench,
        items,
        &[(Contender::Keyloom, &keyloom), (Contender::Dynoxide, file.as_ref())],
    )?;
    let question = format!(
        r#"{{"TableName":"{TABLE}","Key":{{"pk":{{"S":"{}"}},"sk":{{"S":"{}"}}}}}}"#,
        partition(10_000),
        sort_key(5_000)
    );
    let path: &Path = &directory;
    let contenders = [(Contender::Keyloom, path), (Contender::Dynoxide, path)];
    let installed = bench.programs.installed(&contenders.map(|(contender, _)| contender));
    let contenders: Vec<(Contender, &Path)> =
        contenders.into_iter().filter(|(each, _)| installed.contains(each)).collect();
    start::disk(bench, &contenders, items, ("GetItem", &question))?;
    let database = Database::open_with(&keyloom, relaxed, Options::default())?;
    let reopened = [Loaded { contender: Contender::Keyloom, database: Box::new(database) }];
    scan::run(bench, scan::ON_DISK, &reopened)?;
    drop(reopened);
    crate::bench::remove_directory(&directory)
}

/// Fills a database with partitions of all sizes.
fn load(
    bench: &Bench,
    contender: Contender,
    database: Box<dyn LargeDatabase>,
    place: &str,
) -> Result<Loaded> {
    let sizes = &bench.settings.partitions;
    bench.say(&format!(
        "{place}: loading {} items into {}",
        count(sizes.iter().sum()),
        contender.label()
    ));
    database.call("CreateTable", &create_table(TABLE, false))?;
    let mut random = Random::new(5);
    for size in sizes {
        for start in (0..*size).step_by(CHUNK) {
            let record = |n| Record::new(partition(*size), sort_key(n), ITEM_BYTES, &mut random);
            let records: Vec<Record> = (start..(start + CHUNK).min(*size)).map(record).collect();
            database.load(&records)?;
        }
    }
    Ok(Loaded { contender, database })
}

/// The key of the partition with so many items.
fn partition(size: usize) -> String {
    format!("PARTITION#{size}")
}

fn sort_key(n: usize) -> String {
    format!("EVENT#{n:08}")
}
