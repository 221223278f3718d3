//! Heat maps for the page: one table or index, one kind of load, dense cells.

use std::collections::HashMap;
use std::sync::Arc;

use keyloom_design::model::Entity;
use keyloom_design::{CheckReport, Design};
use keyloom_engine::{Clock as _, SystemClock};
use keyloom_observe::report::{HeatColumn, HeatKey, HeatLevel, HeatMap};
use keyloom_observe::{PlaceHeat, Report};
use keyloom_server::{ConsoleReply, ConsoleRequest};
use serde_json::{Value as Json, json};

use super::{Answer, DesignConsole, Observed, Refusal, usable};

/// The default period.
const SPAN_MS: u64 = 3 * 3_600_000;
/// Nothing is later than this after now, or after the end of a recording: clocks differ, days do not.
const DAY_MS: u64 = 24 * 3_600_000;
/// Columns and rows of a map; ours have far fewer, files may say anything.
const MOST_SIDE: usize = 1024;
/// Keys that are listed beside the map.
const LISTED: usize = 50;
/// Patterns that are named beside a key.
const MOST_PATTERNS: usize = 3;

/// The kind of load that is asked for.
#[derive(Clone, Copy)]
enum What {
    Reads,
    Writes,
    Refused,
}

impl What {
    fn of(request: &ConsoleRequest<'_>) -> Result<Self, Refusal> {
        match request.parameter("what").as_deref() {
            None | Some("reads") => Ok(Self::Reads),
            Some("writes") => Ok(Self::Writes),
            Some("refused") => Ok(Self::Refused),
            Some(other) => Err(Refusal::wrong(format_args!(
                "`what` {other:?} is none of reads, writes, refused"
            ))),
        }
    }

    fn of_key(self, key: &HeatKey) -> f64 {
        match self {
            Self::Reads => key.reads,
            Self::Writes => key.writes,
            Self::Refused => key.refused as f64,
        }
    }
}

impl Observed {
    /// The heat of one place, without all that a report has besides.
    fn heat(&self, table: &str, index: Option<&str>) -> Result<Report, Refusal> {
        let Self::Here(here) = self else { return self.report() };
        let Some(statistics) = &here.statistics else { return self.report() };
        let heat = statistics.heat(|of_table, of_index| of_table == table && of_index == index);
        let partitions = here.monitor.partitions();
        let now_ms = SystemClock.now_ms();
        // A local index lies in the partitions of its table.
        let own = partitions.heat(table, index, now_ms);
        let own = own.or_else(|| partitions.heat(table, None, now_ms));
        Ok(Report { heat, partitions: own.into_iter().collect(), ..Report::default() })
    }

    /// The tables and indexes that have heat.
    fn heated(&self) -> Result<Report, Refusal> {
        match self {
            Self::Here(here) => match &here.statistics {
                Some(statistics) => {
                    Ok(Report { heat: statistics.heat(|_, _| true), ..Report::default() })
                }
                None => self.report(),
            },
            _ => self.report(),
        }
    }
}

impl DesignConsole {
    /// The heat of a table or index; without a name, the list of those that have any.
    pub(super) fn heat(&self, request: &ConsoleRequest<'_>) -> Answer {
        let index = request.parameter("index").filter(|name| !name.is_empty());
        let index = index.as_deref();
        let is_recording = !request.body.is_empty();
        let Some(table) = request.parameter("table") else {
            let all =
                if is_recording { self.recorded(request)? } else { self.observed.heated()? };
            return Ok(ConsoleReply::json(&places(&all)));
        };
        let report = if is_recording {
            self.recorded(request)?
        } else {
            self.observed.heat(&table, index)?
        };
        let is_place = |map: &&HeatMap| map.table == *table && map.index.as_deref() == index;
        let empty = HeatMap { table: table.to_string(), rows: 1, ..HeatMap::default() };
        let map = report.heat.iter().find(is_place).unwrap_or(&empty);
        let number = |name: &str| -> Result<Option<u64>, Refusal> {
            let wrong =
                |_| Refusal::wrong(format_args!("`{name}` must be milliseconds since 1970"));
            request.parameter(name).map(|text| text.parse().map_err(wrong)).transpose()
        };
        let now = SystemClock.now_ms();
        let end = if is_recording { last_ms(map) } else { now };
        let to = number("to")?.unwrap_or(end).min(end.max(now).saturating_add(DAY_MS));
        let from = number("from")?.unwrap_or(to.saturating_sub(SPAN_MS)).min(to);
        let partitions = report.partitions.iter().find(|heat| {
            heat.table == *table && (heat.index.as_deref() == index || heat.index.is_none())
        });
        let shown = View { console: self, map, what: What::of(request)?, from, to };
        Ok(ConsoleReply::json(&shown.json(partitions)))
    }
}

/// The tables and indexes of a report that have heat, and from when to when.
fn places(report: &Report) -> Json {
    let place = |map: &HeatMap| {
        let columns = || map.levels.iter().flat_map(|level| &level.columns);
        json!({
            "table": map.table,
            "index": map.index,
            "from": columns().map(|column| column.start_ms).min(),
            "to": last_ms(map),
        })
    };
    json!({ "places": report.heat.iter().map(place).collect::<Vec<_>>() })
}

/// When the last column of a map ends.
fn last_ms(map: &HeatMap) -> u64 {
    let ends = map
        .levels
        .iter()
        .filter_map(|level| Some(level.columns.last()?.start_ms.saturating_add(level.step_ms)));
    // Finer columns end nearer to the last request.
    ends.min().unwrap_or_default()
}

/// One map as it is asked for.
struct View<'a> {
    console: &'a DesignConsole,
    map: &'a HeatMap,
    what: What,
    from: u64,
    to: u64,
}

impl View<'_> {
    fn json(&self, partitions: Option<&PlaceHeat>) -> Json {
        let none = HeatLevel { step_ms: 60_000, ..HeatLevel::default() };
        let level = self.map.level_for(self.to - self.from).unwrap_or(&none);
        let step = level.step_ms.max(1);
        // The column that is still open is shown; what is older than the level keeps has no cells.
        let end = (self.to / step).saturating_add(1).saturating_mul(step);
        let columns = (end - self.from / step * step) / step;
        let columns = columns.min(level.kept.clamp(1, MOST_SIDE) as u64) as usize;
        let start = end.saturating_sub(columns as u64 * step);
        let rows = self.map.rows.min(MOST_SIDE);
        let mut cells = vec![vec![0.0_f32; rows]; columns];
        let mut hot = Vec::new();
        let shown = level.columns.iter().filter_map(|column| {
            let number = column.start_ms.checked_sub(start)? / step;
            (number < columns as u64).then_some((number as usize, column))
        });
        let shown: Vec<(usize, &HeatColumn)> = shown.collect();
        let mut entities = Entities::new(self.console, self.map);
        for (number, column) in &shown {
            for cell in &column.cells {
                let units = match self.what {
                    What::Reads => cell.1,
                    What::Writes => cell.2,
                    What::Refused => cell.3,
                };
                if let Some(place) = cells.get_mut(*number).and_then(|row| row.get_mut(cell.0)) {
                    *place = units;
                }
            }
            for key in column.keys.iter().filter(|key| self.what.of_key(key) > 0.0) {
                hot.push(json!({
                    "column": number, "row": key.row, "key": key.key,
                    "units": self.what.of_key(key), "entity": entities.of(&key.key).entity(),
                    "pattern": entities.of(&key.key).pattern(),
                }));
            }
        }
        json!({
            "table": self.map.table, "index": self.map.index,
            "start": start, "step": step, "columns": columns, "rows": rows, "cells": cells,
            "keys": keys(&shown, &mut entities),
            "partitions": partitions.map(overlay).unwrap_or_default(),
            "splits": partitions.map(splits),
            "hot": hot,
        })
    }
}

/// The heaviest keys of all columns together.
fn keys(shown: &[(usize, &HeatColumn)], entities: &mut Entities<'_>) -> Json {
    let mut sums: HashMap<u64, HeatKey> = HashMap::new();
    for key in shown.iter().flat_map(|(_, column)| &column.keys) {
        let sum = sums.entry(key.hash).or_insert_with(|| HeatKey {
            reads: 0.0,
            writes: 0.0,
            refused: 0,
            ..key.clone()
        });
        sum.reads += key.reads;
        sum.writes += key.writes;
        sum.refused = sum.refused.saturating_add(key.refused);
    }
    let mut sums: Vec<HeatKey> = sums.into_values().collect();
    sums.sort_by(|a, b| b.load().total_cmp(&a.load()).then_with(|| a.key.cmp(&b.key)));
    sums.truncate(LISTED);
    let key = |key: &HeatKey| {
        json!({
            "key": key.key, "row": key.row, "reads": key.reads, "writes": key.writes,
            "refused": key.refused, "entity": entities.of(&key.key).entity(),
            "pattern": entities.of(&key.key).pattern(),
        })
    };
    sums.iter().map(key).collect()
}

/// How many partitions were split.
fn splits(heat: &PlaceHeat) -> u64 {
    let all = [heat.splits_for_heat, heat.splits_for_size, heat.splits_for_growth];
    all.into_iter().fold(0, u64::saturating_add)
}

/// The partitions that AWS would have, by their shares of the hash space.
fn overlay(heat: &PlaceHeat) -> Json {
    let share = |hash: u64| hash as f64 / u64::MAX as f64;
    let partition = |it: &keyloom_observe::PartitionHeat| {
        json!({
            "from": share(it.first_hash), "to": share(it.last_hash),
            "reads": it.read_rate, "writes": it.write_rate,
            "peakReads": it.peak_read_rate, "peakWrites": it.peak_write_rate,
            "utilisation": it.utilisation,
            "refusedReads": it.throttled_reads, "refusedWrites": it.throttled_writes,
            "noSplit": it.no_split,
        })
    };
    heat.partitions.iter().map(partition).collect()
}

/// Which entities keys are of, by the templates of the designs, and which patterns read those here.
struct Entities<'a> {
    designs: Vec<Arc<CheckReport>>,
    map: &'a HeatMap,
    known: HashMap<String, Known>,
}

/// The names of the entities that a key may be of, and of the patterns that find them in the place.
#[derive(Default)]
struct Known {
    entities: Vec<String>,
    patterns: Vec<String>,
}

impl Known {
    fn entity(&self) -> Option<String> {
        (!self.entities.is_empty()).then(|| self.entities.join(", "))
    }

    fn pattern(&self) -> Option<String> {
        (!self.patterns.is_empty()).then(|| self.patterns.join(", "))
    }
}

impl<'a> Entities<'a> {
    fn new(console: &DesignConsole, map: &'a HeatMap) -> Self {
        let reports = console.designs.iter().filter_map(|file| file.report(&console.config).ok());
        Self { designs: reports.collect(), map, known: HashMap::new() }
    }

    fn of(&mut self, key: &str) -> &Known {
        let (designs, map) = (&self.designs, self.map);
        self.known.entry(key.to_owned()).or_insert_with(|| {
            let mut known = Known::default();
            for report in designs {
                if let Ok(design) = usable(report) {
                    let entities = named(design, map, key);
                    known.patterns.extend(patterns(design, report, map, &entities));
                    known.entities.extend(entities);
                }
            }
            known
        })
    }
}

/// The entities of a design whose partition key in the place has this form.
fn named(design: &Design, map: &HeatMap, key: &str) -> Vec<String> {
    let table = design.tables().iter().find(|table| table.name == map.table);
    let index = table.and_then(|table| match &map.index {
        Some(name) => table.index(name),
        None => Some(table.primary()),
    });
    let (Some(table), Some(index)) = (table, index) else { return Vec::new() };
    let fits = |entity: &&Arc<Entity>| {
        entity.index_key(index).is_some_and(|parts| match parts.hash.as_slice() {
            [only] => only.shape.is_native() || only.shape.template().template().matches(key),
            _ => false,
        })
    };
    design.entities_in(table).filter(fits).map(|entity| entity.name.clone()).collect()
}

/// The patterns that find one of these entities, or reach it, by reading the place.
fn patterns(
    design: &Design,
    report: &CheckReport,
    map: &HeatMap,
    entities: &[String],
) -> Vec<String> {
    let place = map.index.as_deref().unwrap_or("table");
    let planned = design.accesses().iter().zip(&report.plans);
    let reads = planned.filter(|(access, plan)| {
        let asked = access.via.iter().chain(&access.find);
        plan.places().contains(&place)
            && asked.take(1).any(|entity| entities.contains(&entity.name))
    });
    reads.map(|(access, _)| access.name.clone()).take(MOST_PATTERNS).collect()
}
