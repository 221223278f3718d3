//! What items take in the memory of a server that keeps everything there.

use anyhow::Result;

use crate::bench::Bench;
use crate::contender::Contender;
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
        bench.say(&format!("memory: {} with {items} items", contender.label()));
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
        let setting = format!("{items} items");
        let place = (Section::Memory, LOADED, setting.as_str());
        bench.add(place, contender, Metric::Megabytes, loaded as f64 / 1e6);
        let per_item = loaded.saturating_sub(idle) as f64 / items as f64;
        bench.add(place, contender, Metric::BytesPerItem, per_item);
    }
    Ok(())
}
