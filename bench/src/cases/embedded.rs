//! Databases in this process, one thread: what the engine costs without a protocol.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use keyloom_engine::{Database, DiskOptions, Durability, Options};
use keyloom_store::{DiskStore, MemoryStore};

use crate::bench::{Bench, turns};
use crate::contender::Contender;
use crate::embedded::{
    DynoxideJson, DynoxideTyped, Embedded, KeyloomJson, KeyloomTyped, RawStore, Ready,
};
use crate::process::own_thread_cpu;
use crate::results::{Metric, Section};
use crate::workload::{Operation, Workload};

/// The setting of all these cases.
pub(crate) const ONE_THREAD: &str = "1 thread";

type Contenders = Vec<(Contender, Box<dyn Embedded>)>;

/// In memory: typed and in JSON, beside the raw store.
pub(crate) fn memory(bench: &mut Bench) -> Result<()> {
    let contenders = || -> Result<Contenders> {
        Ok(vec![
            (Contender::Keyloom, Box::new(KeyloomTyped(Database::memory()))),
            (Contender::KeyloomJson, Box::new(KeyloomJson(Database::memory()))),
            (Contender::Dynoxide, Box::new(DynoxideTyped(dynoxide::Database::memory()?))),
            (Contender::DynoxideJson, Box::new(DynoxideJson(dynoxide::Database::memory()?))),
            (Contender::RawStore, Box::new(RawStore(MemoryStore::new()))),
        ])
    };
    run(bench, Section::EmbeddedMemory, "embedded memory", &Operation::ALL, contenders)
}

/// On disk: durable and relaxed, beside the raw store.
pub(crate) fn disk(bench: &mut Bench) -> Result<()> {
    let directory = bench.directory("embedded-disk")?;
    let path = directory.clone();
    let contenders = || -> Result<Contenders> {
        let open = |name: &str, durability| {
            let disk = DiskOptions { durability, ..DiskOptions::default() };
            Database::open_with(path.join(name), disk, Options::default())
        };
        let file = path.join("dynoxide.db");
        let file = file.to_str().context("the path is no text")?;
        let (raw, _) = DiskStore::open(path.join("raw"), DiskOptions::default())?;
        Ok(vec![
            (Contender::Keyloom, Box::new(KeyloomTyped(open("durable", Durability::Sync)?))),
            (
                Contender::KeyloomRelaxed,
                Box::new(KeyloomTyped(open("relaxed", Durability::Relaxed)?)),
            ),
            (Contender::Dynoxide, Box::new(DynoxideTyped(dynoxide::Database::new(file)?))),
            (Contender::RawStore, Box::new(RawStore(raw))),
        ])
    };
    let operations = [
        Operation::Get,
        Operation::Put,
        Operation::PutIndexed,
        Operation::Query,
        Operation::Batch,
        Operation::Transact,
    ];
    run(bench, Section::EmbeddedDisk, "embedded disk", &operations, contenders)?;
    crate::bench::remove_directory(&directory)
}

fn run(
    bench: &mut Bench,
    section: Section,
    family: &str,
    operations: &[Operation],
    contenders: impl FnOnce() -> Result<Contenders>,
) -> Result<()> {
    let is_wanted = |operation: &&Operation| {
        bench.wants(&format!("{family} {operation:?} {}", operation.label()))
    };
    let operations: Vec<Operation> = operations.iter().filter(is_wanted).copied().collect();
    if operations.is_empty() {
        return Ok(());
    }
    bench.say(&format!("{family}: filling"));
    let workload = Workload::new(bench.settings.items);
    let contenders = contenders()?;
    for (contender, embedded) in &contenders {
        embedded.prepare(&workload).with_context(|| format!("fill {}", contender.label()))?;
    }
    for operation in operations {
        bench.say(&format!("{family}: {}", operation.label()));
        measure(bench, section, operation, &workload, &contenders)?;
    }
    Ok(())
}

fn measure(
    bench: &mut Bench,
    section: Section,
    operation: Operation,
    workload: &Workload,
    contenders: &Contenders,
) -> Result<()> {
    let calls = workload.calls(operation);
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    for (contender, embedded) in contenders {
        if let Some(ready) = embedded.ready(&calls)? {
            lanes.push(Lane { contender: *contender, ready, made: 0 });
        }
    }
    // One thread needs less time than sixteen connections for a steady figure.
    let sample = bench.settings.sample / 2;
    for lane in &mut lanes {
        lane.repeat(sample / 5)?;
    }
    let place = (section, operation.label(), ONE_THREAD);
    for round in 0..bench.settings.rounds {
        for turn in turns(round, lanes.len()) {
            let Some(lane) = lanes.get_mut(turn) else { continue };
            let (rate, cpu) = lane
                .repeat(sample)
                .with_context(|| format!("{} at {}", operation.label(), lane.contender.label()))?;
            bench.add(place, lane.contender, Metric::Rate, rate);
            bench.add(place, lane.contender, Metric::CpuMicros, cpu);
        }
    }
    Ok(())
}

/// A contender and its calls.
struct Lane<'e> {
    contender: Contender,
    ready: Ready<'e>,
    /// How many calls have been made. Rounds go on where the last one ended, so that each write
    /// changes something.
    made: usize,
}

impl Lane<'_> {
    /// Calls again and again for so long: calls per second, and this thread's CPU time per call in
    /// microseconds.
    fn repeat(&mut self, duration: Duration) -> Result<(f64, f64)> {
        let cpu_before = own_thread_cpu()?;
        let start = Instant::now();
        let made_before = self.made;
        // Asking for the time costs a part of the fastest call: ask now and then.
        let mut step = 1;
        while start.elapsed() < duration {
            for _ in 0..step {
                (self.ready)(self.made)?;
                self.made += 1;
            }
            if start.elapsed() < duration / 50 {
                step = (step * 2).min(64);
            }
        }
        let calls = (self.made - made_before) as f64;
        let rate = calls / start.elapsed().as_secs_f64();
        let cpu = own_thread_cpu()?.saturating_sub(cpu_before);
        Ok((rate, cpu.as_secs_f64() * 1e6 / calls))
    }
}
