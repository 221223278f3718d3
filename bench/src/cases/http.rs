//! Servers over HTTP: throughput, latency and what the server's process spends per operation.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::bench::{Bench, turns};
use crate::contender::Contender;
use crate::echo;
use crate::http::Client;
use crate::load::{self, Outcome, Question};
use crate::peers::Storage;
use crate::process::Server;
use crate::results::{Metric, Section};
use crate::workload::{Call, ITEM_BYTES, Operation, Workload};

/// How many connections ask at the same time.
const CONNECTIONS: [usize; 3] = [1, 16, 128];

/// The number that slow peers are tried with, too.
const MIDDLE: usize = 16;

/// As a setting is called in the results.
pub(crate) fn connections_label(connections: usize) -> String {
    if connections == 1 { "1 connection".into() } else { format!("{connections} connections") }
}

/// Servers that keep everything in memory, beside an echo server.
pub(crate) fn memory(bench: &mut Bench) -> Result<()> {
    let operations: Vec<Operation> = Operation::ALL
        .into_iter()
        .filter(|each| bench.wants(&case("http memory", *each)))
        .collect();
    if operations.is_empty() {
        return Ok(());
    }
    let wanted = [
        Contender::Keyloom,
        Contender::Dynoxide,
        Contender::Echo,
        Contender::Dynalite,
        Contender::Moto,
    ];
    let workload = Workload::new(bench.settings.items);
    let servers = start(bench, &wanted, Storage::Memory, &workload)?;
    for operation in operations {
        measure(bench, Section::HttpMemory, operation, &workload, &servers, None)?;
    }
    Ok(())
}

/// Servers that keep everything on disk, beside bare syncs of the same bytes.
pub(crate) fn disk(bench: &mut Bench) -> Result<()> {
    let operations = [
        Operation::Get,
        Operation::Put,
        Operation::Update,
        Operation::PutIndexed,
        Operation::Query,
        Operation::Batch,
        Operation::Transact,
    ];
    let operations: Vec<Operation> =
        operations.into_iter().filter(|each| bench.wants(&case("http disk", *each))).collect();
    if operations.is_empty() {
        return Ok(());
    }
    let wanted =
        [Contender::Keyloom, Contender::KeyloomRelaxed, Contender::Dynoxide, Contender::Dynalite];
    let workload = Workload::new(bench.settings.items);
    let directory = bench.directory("http-disk")?;
    let servers = start(bench, &wanted, Storage::Disk(&directory), &workload)?;
    let mut syncs = Syncs::new(&directory)?;
    for operation in operations {
        let limit = (operation == Operation::Put).then_some(&mut syncs);
        measure(bench, Section::HttpDisk, operation, &workload, &servers, limit)?;
    }
    drop(servers);
    crate::bench::remove_directory(&directory)
}

fn case(family: &str, operation: Operation) -> String {
    format!("{family} {operation:?} {}", operation.label())
}

/// Starts and fills those of the servers that are installed.
fn start(
    bench: &mut Bench,
    wanted: &[Contender],
    storage: Storage<'_>,
    workload: &Workload,
) -> Result<Vec<Server>> {
    let mut servers = Vec::new();
    for contender in bench.programs.installed(wanted) {
        bench.say(&format!("HTTP: starting and filling {}", contender.label()));
        let started = start_one(bench, contender, storage, workload)
            .with_context(|| format!("start and fill {}", contender.label()));
        servers.extend(bench.forgive(contender, started)?);
    }
    Ok(servers)
}

fn start_one(
    bench: &Bench,
    contender: Contender,
    storage: Storage<'_>,
    workload: &Workload,
) -> Result<Server> {
    let own;
    let storage = match storage {
        Storage::Memory => Storage::Memory,
        Storage::Disk(path) => {
            own = path.join(format!("{contender:?}"));
            std::fs::create_dir_all(&own)?;
            Storage::Disk(&own)
        }
    };
    let server = bench.programs.start(contender, storage)?;
    if contender != Contender::Echo {
        workload.prepare(&mut Client::new(server.address))?;
    }
    Ok(server)
}

fn measure(
    bench: &mut Bench,
    section: Section,
    operation: Operation,
    workload: &Workload,
    servers: &[Server],
    mut limit: Option<&mut Syncs>,
) -> Result<()> {
    let bodies: Vec<String> = workload.calls(operation).iter().map(Call::body).collect();
    let mut questions: Vec<Question> =
        bodies.iter().map(|body| Question::new(operation.target(), body)).collect();
    teach_echo(operation, bodies.first().context("there are no calls")?, servers)?;
    for connections in CONNECTIONS {
        if is_large(operation) && connections > MIDDLE {
            continue;
        }
        let setting = connections_label(connections);
        bench.say(&format!("{section:?}: {}, {setting}", operation.label()));
        let place = (section, operation.label(), setting.as_str());
        let with_slow = connections == MIDDLE && slow_peers_take(operation);
        let takes = |server: &&Server| with_slow || !server.contender.is_slow();
        let mut taking = Vec::new();
        for server in servers.iter().filter(takes) {
            let warm_up = bench.settings.sample / 5;
            let warm = ask(server, place, connections, warm_up, &mut questions);
            taking.extend(bench.forgive(server.contender, warm)?.map(|_| server));
        }
        for round in 0..bench.settings.rounds {
            for turn in turns(round, taking.len()) {
                let Some(server) = taking.get(turn) else { continue };
                let sampled = sample(bench, place, server, connections, &mut questions);
                if bench.forgive(server.contender, sampled)?.is_none() {
                    taking.remove(turn);
                }
            }
            if let Some(syncs) = limit.as_deref_mut().filter(|_| connections == 1) {
                let rate = syncs.rate(bench.settings.sample)?;
                bench.add(place, Contender::Fdatasync, Metric::Rate, rate);
            }
        }
    }
    Ok(())
}

/// Many connections with large requests or answers measure a queue, and some peers take minutes.
fn is_large(operation: Operation) -> bool {
    matches!(operation, Operation::Page | Operation::Batch | Operation::Transact)
}

/// A page of 1 MB takes them seconds. dynalite knows no transactions, and moto copies its tables for
/// each of them.
fn slow_peers_take(operation: Operation) -> bool {
    !matches!(operation, Operation::Page | Operation::Transact)
}

fn ask(
    server: &Server,
    (_, case, setting): (Section, &str, &str),
    connections: usize,
    duration: Duration,
    questions: &mut [Question],
) -> Result<Outcome> {
    load::run(&[server.address], connections, duration, questions)
        .with_context(|| format!("{}: {case}, {setting}", server.contender.label()))
}

/// Lets the echo server give Keyloom's answer.
fn teach_echo(operation: Operation, body: &str, servers: &[Server]) -> Result<()> {
    let find = |contender| servers.iter().find(|server| server.contender == contender);
    let (Some(keyloom), Some(echo)) = (find(Contender::Keyloom), find(Contender::Echo)) else {
        return Ok(());
    };
    let answer = Client::new(keyloom.address).call(operation.target(), body)?;
    echo::teach(echo.address, operation.target(), &answer)
}

fn sample(
    bench: &mut Bench,
    place: (Section, &str, &str),
    server: &Server,
    connections: usize,
    questions: &mut [Question],
) -> Result<()> {
    let cpu_before = server.cpu()?;
    let outcome = ask(server, place, connections, bench.settings.sample, questions)?;
    let cpu = server.cpu()?.saturating_sub(cpu_before);
    let per_operation =
        |spent: Duration| spent.as_secs_f64() * 1e6 / outcome.operations.max(1) as f64;
    let micros = |fraction| outcome.quantile(fraction).as_secs_f64() * 1e6;
    let values = [
        (Metric::Rate, outcome.rate()),
        (Metric::CpuMicros, per_operation(cpu)),
        (Metric::GeneratorMicros, per_operation(outcome.own_cpu)),
        (Metric::MedianMicros, micros(0.5)),
        (Metric::P99Micros, micros(0.99)),
    ];
    for (metric, value) in values {
        bench.add(place, server.contender, metric, value);
    }
    Ok(())
}

/// The limit of the disk: an item's bytes written into a file that was filled before, and synced.
struct Syncs {
    file: File,
    record: Vec<u8>,
    at: u64,
}

/// Long enough that a run does not soon come round.
const SYNC_FILE_BYTES: usize = 64 << 20;

/// A record of the log has more than the item: its key, its place, a checksum.
const RECORD_BYTES: usize = ITEM_BYTES + 64;

impl Syncs {
    fn new(directory: &Path) -> Result<Self> {
        let mut file = File::create(directory.join("syncs"))?;
        file.write_all(&vec![0; SYNC_FILE_BYTES])?;
        file.sync_all()?;
        Ok(Self { file, record: vec![0x5A; RECORD_BYTES], at: 0 })
    }

    fn rate(&mut self, duration: Duration) -> Result<f64> {
        let start = Instant::now();
        let mut count = 0;
        while start.elapsed() < duration {
            self.file.seek(SeekFrom::Start(self.at))?;
            self.file.write_all(&self.record)?;
            self.file.sync_data()?;
            self.at = (self.at + RECORD_BYTES as u64) % (SYNC_FILE_BYTES - RECORD_BYTES) as u64;
            count += 1;
        }
        Ok(f64::from(count) / start.elapsed().as_secs_f64())
    }
}
