//! The change that moves the first limit: a shard in the partition key that is too hot, or more of them, which is applied to
//! the file, checked and simulated before it is shown; where not a key but the table is at its limit, the setting of it that
//! is simulated.

use std::sync::Arc;

use keyloom_design::cost::Prices;
use keyloom_design::model::{Design, Entity, FieldKind};
use keyloom_design::{CheckReport, check_text};
use keyloom_keys::MAX_SHARDS;

use crate::ahead::aged;
use crate::forecast::first_break;
use crate::lanes::Lane;
use crate::limits::{Break, breaks};
use crate::profile::Options;
use crate::run::{Bottleneck, Limit};
use crate::workload::Workload;

/// How far the limit should move.
const TIMES: f64 = 10.0;

/// A change of the design.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// What to do.
    pub text: String,
    /// The lines of the file that go, and those that come; none if it is no change of the file.
    pub diff: Vec<(char, String)>,
    /// The first limit before, as a multiple of the load.
    pub before: f64,
    /// The first limit afterwards; none if there is none.
    pub after: Option<f64>,
    /// Patterns that cost more requests or are no longer proven afterwards.
    pub dearer: Vec<String>,
}

/// Looks for a change that moves a limit.
pub fn advise(
    report: &CheckReport,
    workload: &Workload,
    first: &Break,
    observed: &impl Fn(&mut Workload),
    options: &Options,
    prices: &Prices,
) -> Option<Advice> {
    let (bottleneck, before) = (first.bottleneck.as_ref()?, first.multiple?);
    let setting = || setting(workload, bottleneck, before, options);
    match bottleneck.limit {
        Limit::Key { spread, is_alone, .. } => {
            sharded(report, workload, (bottleneck.place, spread, before), observed, options, prices)
                .or_else(|| (!is_alone).then(setting).flatten())
        }
        Limit::EveryKey { spread } => {
            sharded(report, workload, (bottleneck.place, spread, before), observed, options, prices)
        }
        Limit::Partitions | Limit::Whole => setting(),
    }
}

/// A shard in a partition key, by its place and spread, or more of them.
fn sharded(
    report: &CheckReport,
    workload: &Workload,
    (place, spread, before): (usize, usize, f64),
    observed: &impl Fn(&mut Workload),
    options: &Options,
    prices: &Prices,
) -> Option<Advice> {
    let design = report.design.as_ref()?;
    let place = workload.places.get(place)?;
    let label = &place.spreads.get(spread)?.label;
    let edit = Edit { design, table: &place.table, index: place.index.as_deref(), label };
    let text = edit.apply(report.source.text())?;
    let changed = check_text(report.source.name(), &text, prices);
    if changed.has_errors() && !report.has_errors() {
        return None;
    }
    let changed = aged(&changed, options.months, prices);
    let new = Workload::ahead(&changed, observed, options);
    let after = first_break(&breaks(&new, options)).and_then(|it| it.multiple);
    if after.is_some_and(|after| after < before * 1.1) {
        return None;
    }
    Some(Advice {
        text: edit.text(),
        diff: lines(report.source.text(), &text),
        before,
        after,
        dearer: dearer(report, &changed),
    })
}

/// The warm throughput, or the maximum, at which a table is no longer what limits.
fn setting(
    workload: &Workload,
    bottleneck: &Bottleneck,
    before: f64,
    options: &Options,
) -> Option<Advice> {
    let lane = Lane::of(bottleneck.is_write);
    // Twice that, so that what is not quite even has room.
    let wanted = workload.demand(bottleneck.place).map(|units| units * before * TIMES * 2.0);
    let units = nice(wanted[lane]);
    let (what, options) = if bottleneck.limit == Limit::Whole {
        let mut most = options.most;
        most[lane] = most[lane].map(|most| most.max(units));
        (most != options.most).then_some(())?;
        ("the maximum", Options { most, ..options.clone() })
    } else {
        let mut warm = options.warm;
        warm[lane] = warm[lane].max(units);
        ("the warm throughput", Options { warm, ..options.clone() })
    };
    let after = first_break(&breaks(workload, &options)).and_then(|it| it.multiple);
    if after.is_some_and(|after| after < before * 1.1) {
        return None;
    }
    let kind = if bottleneck.is_write { "writes" } else { "reads" };
    let name = workload.places.get(bottleneck.place)?.name();
    let text = format!("set {what} of {name} to {} {kind}/s", thousands(units));
    Some(Advice { text, diff: Vec::new(), before, after, dearer: Vec::new() })
}

/// The next greater number with one digit that is not zero.
fn nice(units: f64) -> f64 {
    let power = 10f64.powf(units.max(1.0).log10().floor());
    (units / power).ceil() * power
}

/// A whole number with commas.
fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Patterns whose cost per call grows, or that lose a proof.
fn dearer(old: &CheckReport, new: &CheckReport) -> Vec<String> {
    let mut found = Vec::new();
    for plan in &old.plans {
        let Some(after) = new.plans.iter().find(|it| it.name == plan.name) else { continue };
        let units = |it: &keyloom_design::plan::Plan| it.estimate.read_units.unwrap_or(0.0);
        if plan.is_proven() && !after.is_proven() {
            found.push(format!("{} is no longer proven", plan.name));
        } else if units(after) > units(plan) * 1.01 {
            found.push(format!(
                "{}: {} → {} read units",
                plan.name,
                short(units(plan)),
                short(units(after))
            ));
        }
    }
    found
}

fn short(units: f64) -> String {
    if units < 10.0 { format!("{units:.1}") } else { format!("{units:.0}") }
}

/// A change of every key with one partition key template in one table or index.
struct Edit<'a> {
    design: &'a Design,
    table: &'a str,
    index: Option<&'a str>,
    label: &'a str,
}

impl Edit<'_> {
    fn members(&self) -> impl Iterator<Item = &Arc<Entity>> {
        self.design
            .entities()
            .iter()
            .filter(|entity| entity.table.name == self.table && self.attribute(entity).is_some())
    }

    /// The attribute of an entity whose template is the hot one.
    fn attribute<'e>(&self, entity: &'e Entity) -> Option<&'e keyloom_design::model::EntityKey> {
        let index =
            entity.table.indexes.iter().find(|index| index.name.as_deref() == self.index)?;
        let key = entity.index_key(index)?;
        let [part] = key.hash.as_slice() else { return None };
        (part.shape.template().text() == self.label && !part.shape.is_native()).then_some(*part)
    }

    /// The shard field that the key has already, with its count.
    fn shard(entity: &Entity, label: &str) -> Option<(String, u32)> {
        let named = |name: &str| label.contains(&format!("{{{name}}}"));
        entity.fields.iter().find_map(|field| match &field.kind {
            FieldKind::Shard(shards) if named(&field.name) => {
                Some((field.name.clone(), shards.count))
            }
            _ => None,
        })
    }

    fn text(&self) -> String {
        let place = self
            .index
            .map_or_else(|| self.table.to_owned(), |index| format!("{}.{index}", self.table));
        match self.members().find_map(|entity| Self::shard(entity, self.label)) {
            Some((name, _)) => {
                format!("give `{name}` in {} of {place} ten times as many shards", self.label)
            }
            None => format!("add a shard to {} of {place}", self.label),
        }
    }

    fn apply(&self, text: &str) -> Option<String> {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let members: Vec<&Arc<Entity>> = self.members().collect();
        for entity in members {
            match Self::shard(entity, self.label) {
                Some((name, count)) => {
                    let more = (f64::from(count) * TIMES).min(f64::from(MAX_SHARDS)) as u32;
                    let field = entity.field(&name)?;
                    let line = lines.get_mut(line_of(text, field.span.start()))?;
                    let changed =
                        line.replacen(&format!("shards = {count}"), &format!("shards = {more}"), 1);
                    if changed == *line {
                        return None;
                    }
                    *line = changed;
                }
                None => self.add_shard(entity, text, &mut lines)?,
            }
        }
        Some(lines.join("\n") + "\n")
    }

    fn add_shard(&self, entity: &Entity, text: &str, lines: &mut [String]) -> Option<()> {
        let key = self.attribute(entity)?;
        let name = ["shard", "key_shard", "spread"]
            .into_iter()
            .find(|name| entity.field(name).is_none())?;
        let by = entity
            .identity()
            .into_iter()
            .rfind(|field| !self.label.contains(&format!("{{{field}")))?
            .to_owned();
        let separator = &entity.table.separator;
        let line = lines.get_mut(line_of(text, key.span.start()))?;
        let (old, new) =
            (format!("{}\"", self.label), format!("{}{separator}{{{name}}}\"", self.label));
        if !line.contains(&old) {
            return None;
        }
        *line = line.replacen(&old, &new, 1);
        let field = entity.fields.first()?;
        let at = line_of(text, field.span.start());
        let first = lines.get_mut(at)?;
        let indent: String = first.chars().take_while(|letter| letter.is_whitespace()).collect();
        let declared = format!(
            "{indent}{name} = {{ type = \"shard\", shards = {}, by = \"{by}\" }}",
            TIMES as u32
        );
        *first = format!("{declared}\n{first}");
        Some(())
    }
}

/// The line of a position in a text, from 0.
fn line_of(text: &str, position: usize) -> usize {
    text.get(..position).map_or(0, |before| before.matches('\n').count())
}

/// The lines that differ, in order. Lines are only changed or inserted, never moved.
fn lines(old: &str, new: &str) -> Vec<(char, String)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut shown = Vec::new();
    let (mut at, mut after) = (0, 0);
    while at < old.len() || after < new.len() {
        match (old.get(at), new.get(after)) {
            (Some(a), Some(b)) if a == b => (at, after) = (at + 1, after + 1),
            (Some(a), Some(b)) if new.get(after + 1) != Some(a) => {
                shown.extend([('-', (*a).to_owned()), ('+', (*b).to_owned())]);
                (at, after) = (at + 1, after + 1);
            }
            (_, Some(b)) => {
                shown.push(('+', (*b).to_owned()));
                after += 1;
            }
            (Some(a), None) => {
                shown.push(('-', (*a).to_owned()));
                at += 1;
            }
            (None, None) => break,
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many meters, of which none is busier than the others.
    const METERS: &str = r#"[table.meters]
partition_key = "PK"
sort_key      = "SK"

[entity.Reading]
PK    = "METER#{meter}"
SK    = "{reading}"
count = 1_000_000
size  = "200 B"

[entity.Reading.fields]
meter   = { type = "ulid", distinct = 1_000 }
reading = "ulid"

[access."a reading"]
find  = "Reading"
where = "meter = ? and reading = ?"
rate  = "10/s"

[write."note a reading"]
entity = "Reading"
rate   = "100/s"
"#;

    #[test]
    fn keys_that_are_all_too_hot_get_shards() {
        let prices = Prices::default();
        let report = check_text("meters.toml", METERS, &prices);
        let options = Options { scales: vec![1.0], ..Options::default() };
        let forecast = crate::forecast(&report, |_| {}, &options, &prices);
        let first = forecast.first_break().and_then(|it| it.bottleneck.as_ref()).unwrap();
        assert!(matches!(first.limit, Limit::EveryKey { .. }), "{first:?}");
        let advice = forecast.advice.unwrap();
        assert_eq!(advice.text, "add a shard to METER#{meter} of meters");
        assert!(advice.after.is_none_or(|after| after > advice.before * 5.0), "{advice:?}");
    }

    #[test]
    fn numbers_are_round_and_readable() {
        let shown = [0.3, 9.5, 4_000.0, 4_001.0, 1_234_567.0].map(|it| thousands(nice(it)));
        assert_eq!(shown, ["1", "10", "4,000", "5,000", "2,000,000"]);
    }
}
