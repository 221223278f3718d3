//! What `keyloom migrate` says.

use std::fmt::Write as _;

use keyloom::migrate::{
    Contracted, CopiedTable, MigrationPlan, Phase, Progress, Status, Told, Verification,
};
use keyloom_design::diff::{self, DesignDiff};
use keyloom_design::migration::{Manner, Route};
use serde_json::{Value as Json, json};

use super::Designs;
use super::watch::duration;
use crate::output::{Failure, Format, Output};

/// The most problems that are listed.
const LISTED: usize = 20;

/// A sentence.
pub(super) fn said(text: &str, format: Format, output: &mut Output) -> Result<(), Failure> {
    match format {
        Format::Human => output.prose(text),
        Format::Json => output.line(format_args!("{:#}", json!({ "done": text }))),
    }
}

fn manner(route: &Route) -> &'static str {
    match route.manner {
        Manner::Keep => "stay as they are",
        Manner::Amend if !route.rewritten.is_empty() => "get other index keys, in place",
        Manner::Amend => "get attributes more, under the same key",
        Manner::Copy if route.from.table.name == route.to.table.name => {
            "get another key in their table"
        }
        Manner::Copy => "are written into another table",
    }
}

/// What a migration does.
pub(super) fn plan(
    plan: &MigrationPlan,
    difference: &DesignDiff,
    designs: &Designs,
    output: &mut Output,
) -> Result<bool, Failure> {
    let gone = |name: &&String| !designs.left_behind.contains(*name);
    let vanishing: Vec<&String> = plan.left_behind.iter().filter(gone).collect();
    let gaps: Vec<String> = plan.gaps.iter().map(ToString::to_string).collect();
    let accepted = vanishing.is_empty() && (gaps.is_empty() || designs.gaps_accepted);
    let is_open = plan.obstacles.is_empty() && accepted;
    let texts = |list: &[keyloom_design::migration::Obstacle]| -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    };
    if designs.format == Format::Json {
        let route = |route: &Route| {
            json!({
                "from": route.from.name, "to": route.to.name, "items": manner(route),
                "from_table": route.from.table.name, "to_table": route.to.table.name,
            })
        };
        let routes: Vec<Json> = plan.forward.routes().iter().map(route).collect();
        let document = json!({
            "routes": routes, "obstacles": texts(&plan.obstacles), "one_way": plan.one_way,
            "left_behind": plan.left_behind, "gaps": gaps, "possible": is_open,
            "changes": diff::json(difference),
        });
        output.line(format_args!("{document:#}"))?;
        return Ok(is_open);
    }
    output.prose(diff::human(difference).trim_end())?;
    output.prose("\nmigration")?;
    for route in plan.forward.routes() {
        let (from, to) = (&route.from, &route.to);
        let name = if from.name == to.name {
            to.name.clone()
        } else {
            format!("{} → {}", from.name, to.name)
        };
        output.prose(format_args!(
            "  items of {name} {} ({} → {})",
            manner(route),
            from.table.name,
            to.table.name
        ))?;
    }
    for name in &plan.left_behind {
        output.prose(format_args!(
            "  items of {name} are left where they are: no program of the new design sees them"
        ))?;
    }
    for name in vanishing {
        output.prose(format_args!(
            "  ! the new design has no {name}: if that is meant, say --left-behind {name}; if it has another name there, \
             write was = \"{name}\""
        ))?;
    }
    for gap in &gaps {
        output.prose(format_args!("  ! {gap}"))?;
    }
    if !gaps.is_empty() && !designs.gaps_accepted {
        output.prose("  ! if that is acceptable, say --gaps-accepted; else give the new key another attribute and index")?;
    }
    for reason in &plan.one_way {
        output.prose(format_args!("  ! no way back after the switch: {reason}"))?;
    }
    for obstacle in &plan.obstacles {
        output.prose(format_args!("  ! impossible online: {obstacle}"))?;
    }
    if is_open {
        output.prose("  nothing is in the way: `keyloom migrate run` begins it")?;
    }
    Ok(is_open)
}

/// How far a migration is, as JSON: also for the console.
pub(crate) fn status_json(status: &Status) -> Json {
    let table = |table: &CopiedTable| {
        json!({
            "name": table.name, "items": table.items, "of_items": table.of_items,
            "segments_done": table.segments.0, "segments": table.segments.1,
        })
    };
    let told = |told: &Told| {
        json!({
            "items_per_s": told.items_per_s, "changes": told.changes, "lag_ms": told.lag_ms,
            "read_units": told.units.0, "write_units": told.units.1, "problems": told.problems,
        })
    };
    json!({
        "phase": status.phase.as_str(), "side": status.side.as_str(), "generation": status.generation,
        "started_ms": status.started_ms, "seen_ms": status.seen_ms, "verified_ms": status.verified_ms,
        "items": status.items, "segments_done": status.segments.0, "segments": status.segments.1,
        "tables": status.tables.iter().map(table).collect::<Vec<_>>(),
        "remaining": status.remaining(), "remaining_s": status.remaining_s(),
        "runner": status.told.as_ref().map(told),
    })
}

/// What the runner last said of its work.
fn work(status: &Status, told: &Told) -> String {
    let mut text = String::from("the runner: ");
    if let Some(rate) = told.items_per_s.filter(|_| status.phase == Phase::Backfill) {
        let _ = write!(text, "{rate} items/s lately, about {} left", status.remaining());
        if let Some(seconds) = status.remaining_s() {
            let _ = write!(text, " ({})", duration(seconds as f64));
        }
        text.push_str("; ");
    }
    let (changes, lag, problems) = (told.changes, told.lag_ms as f64 / 1000.0, told.problems);
    let (read, written) = told.units;
    text + &format!(
        "{changes} changes carried over, lag {lag:.0} s; {read} read and {written} write units; \
         {problems} items cannot be moved"
    )
}

/// How far a migration is.
pub(super) fn status(
    status: Option<&Status>,
    format: Format,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some(status) = status else {
        return match format {
            Format::Human => output.prose("not begun: `keyloom migrate run` begins it"),
            Format::Json => output.line(json!({ "phase": null })),
        };
    };
    if format == Format::Json {
        return output.line(format_args!("{:#}", status_json(status)));
    }
    output.prose(format_args!(
        "phase {}; programs use the {} form",
        status.phase.as_str(),
        status.side.as_str()
    ))?;
    let (done, all) = status.segments;
    if all > 0 {
        output.prose(format_args!(
            "copied: {} items read, {done} of {all} segments finished",
            status.items
        ))?;
    }
    if let Some(told) = &status.told {
        output.prose(work(status, told))?;
    }
    if status.generation > 1 {
        output.prose(format_args!(
            "everything was copied {} times: the stream lost records, or the migration was begun again after a rollback",
            status.generation
        ))?;
    }
    output.prose(match status.verified_ms {
        Some(_) => "every item was compared and found right in this phase",
        None => "not verified yet: `keyloom migrate verify`, and `switch` does it, too",
    })
}

/// What a comparison found.
pub(super) fn verification(
    verified: &Verification,
    format: Format,
    output: &mut Output,
) -> Result<(), Failure> {
    if format == Format::Json {
        let range = |range: &keyloom::migrate::Range| {
            json!({
                "table": range.table, "segment": range.segment, "items": range.items,
                "expected": format!("{:016x}", range.expected), "found": format!("{:016x}", range.found),
            })
        };
        let problems: Vec<Json> = verified
            .problems
            .iter()
            .map(|p| json!({ "item": p.item, "reason": p.reason }))
            .collect();
        let document = json!({
            "right": verified.is_right(), "items": verified.items(), "settled": verified.settled,
            "calls": verified.calls,
            "ranges": verified.ranges.iter().map(range).collect::<Vec<_>>(), "problems": problems,
        });
        return output.line(format_args!("{document:#}"));
    }
    for problem in verified.problems.iter().take(LISTED) {
        output.prose(format_args!("! {problem}"))?;
    }
    let more = verified.problems.len().saturating_sub(LISTED);
    if more > 0 {
        output.prose(format_args!("! and {more} more"))?;
    }
    let (items, calls, settled) = (verified.items(), verified.calls, verified.settled);
    let compared = format!("{items} items and {calls} calls of patterns compared");
    output.prose(match verified.problems.len() {
        0 => format!(
            "{compared}, all right ({settled} were on their way when they were first looked at)"
        ),
        wrong => {
            format!("{compared}, {wrong} not as they should be; is `keyloom migrate run` running?")
        }
    })
}

/// What the end of a migration left.
pub(super) fn ended(
    what: &str,
    ended: &Contracted,
    format: Format,
    output: &mut Output,
) -> Result<(), Failure> {
    if format == Format::Json {
        let left: Vec<String> = ended.left.iter().map(ToString::to_string).collect();
        let document = json!({ "done": what, "unused_tables": ended.tables, "left": left });
        return output.line(format_args!("{document:#}"));
    }
    for problem in ended.left.iter().take(LISTED) {
        output.prose(format_args!("! {problem}"))?;
    }
    for table in &ended.tables {
        output.prose(format_args!("table `{table}` is not needed any more, and can be deleted"))?;
    }
    output.prose(what)
}

/// That everything has been carried over.
pub(super) fn caught_up(
    progress: &Progress,
    format: Format,
    output: &mut Output,
) -> Result<(), Failure> {
    let (read, written) = progress.units;
    if format == Format::Json {
        let document = json!({
            "phase": progress.phase.as_str(), "side": progress.side.as_str(), "items": progress.items,
            "changes": progress.changes, "read_units": read, "write_units": written, "problems": progress.problems,
        });
        return output.line(format_args!("{document:#}"));
    }
    if progress.phase.is_over() {
        let way_on = match progress.phase {
            Phase::RolledBack => "; `keyloom migrate run --again` begins it anew",
            _ => "",
        };
        let phase = progress.phase.as_str();
        return output.prose(format_args!("{phase}: the migration is over{way_on}"));
    }
    output.prose(format_args!(
        "caught up: all items have their other form ({} changes carried over, {read:.0} read and {written:.0} write \
         units); {} items cannot be moved",
        progress.changes, progress.problems
    ))
}
