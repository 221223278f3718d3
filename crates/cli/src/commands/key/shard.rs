//! `keyloom key TEMPLATE shard`: the keys of a partition that is spread over several.

use clap::Args;
use keyloom_keys::{Shards, Template};
use serde_json::json;

use super::{Pair, values};
use crate::output::{Failure, Format, Output};

/// What to spread, and over how many.
#[derive(Args, Debug)]
pub(super) struct Shard {
    /// The fields of the key without its shard, as name=value.
    #[arg(value_name = "FIELD=VALUE")]
    values: Vec<Pair>,
    /// Number of shards.
    #[arg(long, value_name = "N", required_unless_present_any = ["writes", "reads"])]
    #[arg(conflicts_with_all = ["writes", "reads"])]
    count: Option<u32>,
    /// Write units per second at the peak: as many shards as they need, half as many again for safety.
    #[arg(long, value_name = "UNITS", default_value_t = 0.0)]
    writes: f64,
    /// Read units per second at the peak.
    #[arg(long, value_name = "UNITS", default_value_t = 0.0)]
    reads: f64,
    /// A value that identifies the item, such as its id: prints the key of its shard only; may be repeated.
    #[arg(long = "of", value_name = "VALUE")]
    parts: Vec<String>,
}

/// Partitions are not to be filled to the brim.
const SAFETY: f64 = 1.5;

impl Shard {
    pub(super) fn run(
        &self,
        template: &Template,
        format: Format,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let shards = match self.count {
            Some(count) => Shards::new(count),
            None => Shards::for_rate(self.writes, self.reads, SAFETY),
        };
        let shards = shards.map_err(Failure::refused)?;
        let base = template.build(&values(&self.values)).map_err(Failure::refused)?;
        if !self.parts.is_empty() {
            let parts: Vec<&str> = self.parts.iter().map(String::as_str).collect();
            let (key, shard) = (shards.calculated_key(&base, &parts), shards.of(&parts));
            return match format {
                Format::Human => output.line(key),
                Format::Json => {
                    output.line(json!({ "key": key, "shard": shard, "shards": shards.count() }))
                }
            };
        }
        if format == Format::Json {
            let keys: Vec<String> = shards.keys(&base).collect();
            return output.line(json!({ "keys": keys, "shards": shards.count() }));
        }
        shards.keys(&base).try_for_each(|key| output.line(key))
    }
}
