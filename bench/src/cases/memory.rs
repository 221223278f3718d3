//! What items take in the memory of a server that keeps everything there.

use anyhow::{Context, Result};

use crate::bench::Bench;
use crate::contender::Contender;
use crate::figures::count;
use crate::http::Client;
use crate::peers::Storage;
use crate::results::{Metric, Section};
use crate::workload::{Random, TABLE, batch_body, create_table, item, wait_until_active};

/// Memory that the items take, divided by their number.
pub(crate) const LOADED: &str = "loaded with items of 1 KB";

/// Slow peers are filled with this many at most.
const SLOW_ITEMS: usize = 5_000;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    if !bench.wants("memory loaded") {
        return Ok(());
    }
    let wanted = [Contender::Keyloom, Contender::Dynoxide, Contender::Dynalite, Contender::Moto];
    for contender in bench.programs.installed(&wanted) {
        let items = bench.settings.loaded_items;
        let items = if contender.is_slow() { items.min(SLOW_ITEMS) } else { items };
        bench.say(&format!("memory: {} with {} items", contender.label(), count(items)));
        let measured = measure(bench, contender, items)
            .with_context(|| format!("load {} with items", contender.label()));
        let Some((loaded, per_item)) = bench.forgive(contender, measured)? else { continue };
        let setting = format!("{} items", count(items));
        let place = (Section::Memory, LOADED, setting.as_str());
        bench.add(place, contender, Metric::Megabytes, loaded as f64 / 1e6);
        bench.add(place, contender, Metric::BytesPerItem, per_item);
    }
    Ok(())
}

/// The memory of a server that holds so many items, and what each of them takes.
fn measure(bench: &Bench, contender: Contender, items: usize) -> Result<(u64, f64)> {
    let server = bench.programs.start(contender, Storage::Memory)?;
    let idle = server.resident_bytes()?;
    let mut client = Client::new(server.address);
    client.call("CreateTable", &create_table(TABLE, false))?;
    wait_until_active(&mut client, TABLE)?;
    let mut random = Random::new(3);
    let records: Vec<_> = (0..items).map(|n| item(n, &mut random)).collect();
    for chunk in records.chunks(25) {
        client.call("BatchWriteItem", &batch_body(TABLE, chunk))?;
    }
    let loaded = server.resident_bytes()?;
    Ok((loaded, loaded.saturating_sub(idle) as f64 / items as f64))
}
