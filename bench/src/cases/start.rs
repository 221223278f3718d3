//! From the start of the process to the first answer, and the memory it takes until then.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;

use crate::bench::{Bench, turns};
use crate::contender::Contender;
use crate::figures::count;
use crate::peers::Storage;
use crate::results::{Metric, Section};

/// An empty server in memory, asked to list its tables.
pub(crate) const EMPTY: &str = "empty, in memory";

/// A server on disk that is asked for one of its items.
pub(crate) const FILLED: &str = "on disk, with items";

/// Memory when nothing has been asked but the first question.
pub(crate) const IDLE: &str = "idle";

/// Empty servers in memory.
pub(crate) fn memory(bench: &mut Bench) -> Result<()> {
    if !bench.wants("start memory") {
        return Ok(());
    }
    bench.say("cold start in memory");
    let wanted = [Contender::Keyloom, Contender::Dynoxide, Contender::Dynalite, Contender::Moto];
    let installed = bench.programs.installed(&wanted);
    for round in 0..bench.settings.starts {
        for turn in turns(round, installed.len()) {
            let Some(contender) = installed.get(turn).copied() else { continue };
            // It takes seconds, and always about the same.
            if contender == Contender::Moto && round >= 3 {
                continue;
            }
            let server = bench.programs.start(contender, Storage::Memory)?;
            let millis = server.first_answer.as_secs_f64() * 1e3;
            bench.add((Section::Start, EMPTY, ""), contender, Metric::Millis, millis);
            sleep(Duration::from_millis(100));
            let megabytes = server.resident_bytes()? as f64 / 1e6;
            bench.add((Section::Memory, IDLE, ""), contender, Metric::Megabytes, megabytes);
        }
    }
    Ok(())
}

/// Servers on disk that hold so many items; `question` asks for one of them.
pub(crate) fn disk(
    bench: &mut Bench,
    contenders: &[(Contender, &Path)],
    items: usize,
    question: (&str, &str),
) -> Result<()> {
    bench.say("cold start on disk");
    let setting = format!("{} items", count(items));
    for round in 0..bench.settings.starts {
        for turn in turns(round, contenders.len()) {
            let Some((contender, path)) = contenders.get(turn).copied() else { continue };
            let storage = Storage::Disk(path);
            let server = bench.programs.start_until(contender, storage, question)?;
            let millis = server.first_answer.as_secs_f64() * 1e3;
            bench.add((Section::Start, FILLED, &setting), contender, Metric::Millis, millis);
            server.stop()?;
        }
    }
    Ok(())
}
