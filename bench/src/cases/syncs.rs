//! How often the disk is synced for one durable call, as the store counts it.

use anyhow::Result;
use keyloom_engine::Database;

use crate::bench::Bench;
use crate::contender::Contender;
use crate::embedded::{Embedded, KeyloomJson};
use crate::results::{Metric, Section};
use crate::workload::{Operation, Workload};

/// The setting of these cases.
pub(crate) const DURABLE: &str = "durable";

/// Calls per case.
const CALLS: usize = 50;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    if !bench.wants("syncs") {
        return Ok(());
    }
    bench.say("syncs per durable call");
    let directory = bench.directory("syncs")?;
    let database = Database::open(&directory)?;
    let keyloom = KeyloomJson(database.clone());
    let workload = Workload::new(4096);
    keyloom.prepare(&workload)?;
    for operation in [Operation::Put, Operation::PutIndexed, Operation::Batch, Operation::Transact]
    {
        let Some(ready) = keyloom.ready(&workload.calls(operation))? else { continue };
        for round in 0..bench.settings.rounds {
            let before = database.store_stats()?.syncs;
            for n in round * CALLS..(round + 1) * CALLS {
                ready(n)?;
            }
            let syncs = database.store_stats()?.syncs - before;
            let place = (Section::Syncs, operation.label(), DURABLE);
            bench.add(place, Contender::Keyloom, Metric::SyncsPerCall, syncs as f64 / CALLS as f64);
        }
    }
    drop((keyloom, database));
    crate::bench::remove_directory(&directory)
}
