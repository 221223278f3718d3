//! The comparison as text, JSON and Markdown.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::{
    AttributeChange, DesignDiff, Effort, EntityDiff, Hazard, IndexChange, ItemChange, KeyChange,
    KeyMove, PatternChange, PatternDiff, PatternSide, TableChange, TableDiff,
};
use crate::lint::short;
use crate::report::{cell, dollars};
use crate::words::about;

/// The comparison for a terminal.
pub fn human(diff: &DesignDiff) -> String {
    let mut out = String::new();
    if diff.is_empty() {
        return "no differences in tables, indexes, items or access patterns\n".to_owned();
    }
    section(&mut out, "tables", diff.tables.iter().flat_map(table_lines));
    section(&mut out, "items", diff.entities.iter().flat_map(entity_lines));
    section(&mut out, "access patterns", diff.patterns.iter().filter_map(pattern_line));
    let steps = diff.steps.iter().enumerate();
    section(&mut out, "steps", steps.map(|(at, step)| format!("{}. {}", at + 1, step.describe())));
    section(&mut out, "cost of the change", effort_line(&diff.effort));
    out
}

fn section(out: &mut String, title: &str, lines: impl IntoIterator<Item = String>) {
    let mut lines = lines.into_iter().peekable();
    if lines.peek().is_none() {
        return;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    let _ = writeln!(out, "{title}");
    for line in lines {
        let _ = writeln!(out, "  {line}");
    }
}

fn table_lines(table: &TableDiff) -> Vec<String> {
    let name = &table.name;
    let mut lines = Vec::new();
    match &table.change {
        TableChange::Same => {}
        TableChange::Created => lines.push(format!("+ {name}")),
        TableChange::Removed => lines.push(format!("- {name}")),
        TableChange::Changed(changes) => lines.extend(
            changes.iter().map(|c| format!("~ {name}: {} {} → {}", c.setting, c.before, c.after)),
        ),
        TableChange::Rebuilt { why } => {
            lines.extend(why.iter().map(|why| format!("! {name}: a new table is needed: {why}")));
        }
    }
    for index in &table.indexes {
        let label = format!("{name}.{}", index.name);
        match &index.change {
            IndexChange::Same => {}
            IndexChange::Created => lines.push(format!("+ {label}")),
            IndexChange::Removed => lines.push(format!("- {label}")),
            IndexChange::Rebuilt { why } => {
                lines.push(format!("! {label}: deleted and created again: {}", why.join("; ")));
            }
        }
    }
    lines
}

fn entity_lines(entity: &EntityDiff) -> Vec<String> {
    if entity.is_unchanged() {
        return Vec::new();
    }
    let count = entity.count.map(|count| format!(", {}", about(count, "item"))).unwrap_or_default();
    let was = entity.was.as_ref().map_or_else(String::new, |was| format!(" (was {was})"));
    let mut lines = vec![format!("{}{was}: {}{count}", entity.name, items_text(&entity.items))];
    lines.extend(entity.keys.iter().map(|change| format!("  {}", key_line(change))));
    lines.extend(entity.attributes.iter().map(|change| format!("  {}", attribute_line(change))));
    lines.extend(entity.hazards.iter().map(|hazard| format!("  ! {}", hazard_text(hazard))));
    lines
}

fn items_text(items: &ItemChange) -> String {
    match items {
        ItemChange::Untouched => "stored items stay as they are".to_owned(),
        ItemChange::Added => "new".to_owned(),
        ItemChange::Removed => "removed; its items are left over".to_owned(),
        ItemChange::Rewritten => "rewritten in place".to_owned(),
        ItemChange::Rekeyed => {
            "new primary key: each item is written anew, the old one deleted".to_owned()
        }
        ItemChange::Moved { from, to } if from == to => {
            format!("moves to the new table in place of {from}")
        }
        ItemChange::Moved { from, to } => format!("moves from {from} to {to}"),
    }
}

fn key_line(change: &KeyChange) -> String {
    let indexes = change.indexes.join(", ");
    let before = change.before.as_deref().unwrap_or_default();
    let after = change.after.as_deref().unwrap_or_default();
    let name = &change.attribute;
    match change.kind {
        KeyMove::Joins => format!("+ {name} = {after} (joins {indexes})"),
        KeyMove::Leaves => format!("- {name} = {before} (leaves {indexes})"),
        KeyMove::Recomputed => format!("~ {name} = {before} → {after} ({indexes})"),
    }
}

fn attribute_line(change: &AttributeChange) -> String {
    match change {
        AttributeChange::Added { name, optional: false } => format!("+ {name}"),
        AttributeChange::Added { name, optional: true } => {
            format!("+ {name} (optional: stored items may lack it)")
        }
        AttributeChange::Removed { name } => format!("- {name}"),
        AttributeChange::Renamed { before, after } => format!("~ {before} is called {after}"),
        AttributeChange::Retyped { name, before, after } => format!("~ {name}: {before} → {after}"),
    }
}

fn hazard_text(hazard: &Hazard) -> String {
    match hazard {
        Hazard::NoValue { attribute, field } => format!(
            "{attribute} needs `{field}`, which stored items do not have: declare it optional, or fill it in first"
        ),
        Hazard::NoAttribute { field } => format!(
            "stored items have no `{field}`: declare it optional, or fill it in while they are migrated"
        ),
        Hazard::OtherType { field, before, after } => {
            format!("stored values of `{field}` are {before}, not {after}: they must be converted")
        }
        Hazard::MayLack { field } => {
            format!("stored items may lack `{field}`, which every item must have now")
        }
        Hazard::Unlisted { field, values } => format!(
            "stored items may have `{field}` = {}, which is no longer among its values",
            values.join(", ")
        ),
        Hazard::Narrower { field, beyond } => format!(
            "stored items may have a `{field}` {}, which no longer fits",
            beyond.join(" or ")
        ),
        Hazard::NeverExpires { attribute } => format!(
            "stored items have no `{attribute}`, so they never expire: fill it in while they are migrated"
        ),
        Hazard::Collision { fields } => format!(
            "two items that differ only in `{}` would get the same key, and one would be lost",
            fields.join("`, `")
        ),
    }
}

fn change_word(change: PatternChange) -> &'static str {
    match change {
        PatternChange::Same => "same",
        PatternChange::Gained => "gained",
        PatternChange::Lost => "lost",
        PatternChange::Dearer => "dearer",
        PatternChange::Cheaper => "cheaper",
        PatternChange::Reads => "reads differently",
        PatternChange::Asks => "asks something else",
    }
}

fn pattern_line(pattern: &PatternDiff) -> Option<String> {
    let change = match pattern.change {
        PatternChange::Same => return None,
        change => change_word(change),
    };
    let side = |side: &Option<PatternSide>| side.as_ref().map_or("none".to_owned(), side_text);
    let (before, after) = (side(&pattern.before), side(&pattern.after));
    Some(format!("{change}: {} ({before} → {after})", pattern.name))
}

fn side_text(side: &PatternSide) -> String {
    let mut text = side.verdict.as_str().to_owned();
    if let Some(index) = &side.index {
        let _ = write!(text, " on {index}");
    }
    if let Some(units) = side.read_units {
        let _ = write!(text, ", {} units", short(units));
    }
    if !side.proven {
        text.push_str(", not proven");
    }
    text
}

fn effort_line(effort: &Effort) -> Option<String> {
    if effort.items == 0.0 && !effort.is_partial {
        return None;
    }
    let more = if effort.is_partial { ", and entities whose count is not declared" } else { "" };
    Some(format!(
        "{} written{more}: {}, {}, {} on demand",
        about(effort.items, "item"),
        about(effort.write_units, "write unit"),
        about(effort.read_units, "read unit"),
        dollars(effort.dollars)
    ))
}

/// The comparison for pull requests.
pub fn markdown(diff: &DesignDiff) -> String {
    if diff.is_empty() {
        return "No differences in tables, indexes, items or access patterns.\n".to_owned();
    }
    let mut out = String::new();
    let mut list = |title: &str, lines: Vec<String>| {
        if lines.is_empty() {
            return;
        }
        let _ = writeln!(out, "### {title}\n");
        for line in lines {
            let text = line.trim_start();
            let indent = " ".repeat(line.len() - text.len());
            // A leading sign would be a list of its own.
            let text = text.replacen("- ", "− ", usize::from(text.starts_with("- ")));
            let text = text.replacen("+ ", "＋ ", usize::from(text.starts_with("+ ")));
            let _ = writeln!(out, "{indent}- {text}");
        }
        out.push('\n');
    };
    list("Tables", diff.tables.iter().flat_map(table_lines).collect());
    list("Items", diff.entities.iter().flat_map(entity_lines).collect());
    let changed: Vec<&PatternDiff> =
        diff.patterns.iter().filter(|pattern| pattern.change != PatternChange::Same).collect();
    if !changed.is_empty() {
        out.push_str(
            "### Access patterns\n\n| pattern | change | before | after |\n|---|---|---|---|\n",
        );
        for pattern in changed {
            let side = |side: &Option<PatternSide>| side.as_ref().map_or(String::new(), side_text);
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                cell(&pattern.name),
                change_word(pattern.change),
                cell(&side(&pattern.before)),
                cell(&side(&pattern.after))
            );
        }
        out.push('\n');
    }
    if !diff.steps.is_empty() {
        out.push_str("### Steps\n\n");
        for (at, step) in diff.steps.iter().enumerate() {
            let _ = writeln!(out, "{}. {}", at + 1, step.describe());
        }
        out.push('\n');
    }
    if let Some(line) = effort_line(&diff.effort) {
        let _ = writeln!(out, "Cost of the change: {line}.");
    }
    out
}

/// The comparison for programs.
pub fn json(diff: &DesignDiff) -> Json {
    json!({
        "tables": diff.tables.iter().map(table_json).collect::<Vec<_>>(),
        "entities": diff.entities.iter().map(entity_json).collect::<Vec<_>>(),
        "patterns": diff.patterns.iter().map(pattern_json).collect::<Vec<_>>(),
        "steps": diff.steps.iter().map(super::Step::describe).collect::<Vec<_>>(),
        "effort": {
            "items": diff.effort.items,
            "read_units": diff.effort.read_units,
            "write_units": diff.effort.write_units,
            "dollars": diff.effort.dollars,
            "is_partial": diff.effort.is_partial,
        },
        "is_empty": diff.is_empty(),
        "has_hazards": diff.has_hazards(),
    })
}

fn table_json(table: &TableDiff) -> Json {
    let (change, why) = match &table.change {
        TableChange::Same => ("same", Vec::new()),
        TableChange::Created => ("created", Vec::new()),
        TableChange::Removed => ("removed", Vec::new()),
        TableChange::Changed(_) => ("changed", Vec::new()),
        TableChange::Rebuilt { why } => ("rebuilt", why.clone()),
    };
    let settings = match &table.change {
        TableChange::Changed(changes) => changes.as_slice(),
        _ => &[],
    };
    let settings: Vec<Json> = settings
        .iter()
        .map(|c| json!({ "setting": c.setting, "before": c.before, "after": c.after }))
        .collect();
    let indexes: Vec<Json> = table
        .indexes
        .iter()
        .map(|index| {
            let (change, why) = match &index.change {
                IndexChange::Same => ("same", Vec::new()),
                IndexChange::Created => ("created", Vec::new()),
                IndexChange::Removed => ("removed", Vec::new()),
                IndexChange::Rebuilt { why } => ("rebuilt", why.clone()),
            };
            json!({ "name": index.name, "change": change, "why": why })
        })
        .collect();
    json!({
        "name": table.name, "change": change, "why": why, "settings": settings, "indexes": indexes,
    })
}

fn entity_json(entity: &EntityDiff) -> Json {
    let items = match &entity.items {
        ItemChange::Untouched => "untouched",
        ItemChange::Added => "added",
        ItemChange::Removed => "removed",
        ItemChange::Rewritten => "rewritten",
        ItemChange::Rekeyed => "rekeyed",
        ItemChange::Moved { .. } => "moved",
    };
    let keys: Vec<Json> = entity
        .keys
        .iter()
        .map(|change| {
            let kind = match change.kind {
                KeyMove::Joins => "joins",
                KeyMove::Leaves => "leaves",
                KeyMove::Recomputed => "recomputed",
            };
            json!({
                "attribute": change.attribute, "change": kind, "indexes": change.indexes,
                "before": change.before, "after": change.after,
            })
        })
        .collect();
    let attributes: Vec<Json> = entity
        .attributes
        .iter()
        .map(|change| match change {
            AttributeChange::Added { name, optional } => {
                json!({ "name": name, "change": "added", "optional": optional })
            }
            AttributeChange::Removed { name } => json!({ "name": name, "change": "removed" }),
            AttributeChange::Renamed { before, after } => {
                json!({ "name": after, "change": "renamed", "before": before })
            }
            AttributeChange::Retyped { name, before, after } => {
                json!({ "name": name, "change": "retyped", "before": before, "after": after })
            }
        })
        .collect();
    let (from, to) = match &entity.items {
        ItemChange::Moved { from, to } => (Some(from), Some(to)),
        _ => (None, None),
    };
    json!({
        "name": entity.name, "was": entity.was, "items": items, "from": from, "to": to,
        "keys": keys, "attributes": attributes,
        "hazards": entity.hazards.iter().map(hazard_json).collect::<Vec<_>>(),
        "count": entity.count, "write_units_per_item": entity.write_units,
    })
}

fn hazard_json(hazard: &Hazard) -> Json {
    let (kind, fields) = match hazard {
        Hazard::NoValue { field, .. } => ("no-value", vec![field.clone()]),
        Hazard::NoAttribute { field } => ("no-attribute", vec![field.clone()]),
        Hazard::OtherType { field, .. } => ("other-type", vec![field.clone()]),
        Hazard::MayLack { field } => ("may-lack", vec![field.clone()]),
        Hazard::Unlisted { field, .. } => ("unlisted", vec![field.clone()]),
        Hazard::Narrower { field, .. } => ("narrower", vec![field.clone()]),
        Hazard::NeverExpires { attribute } => ("never-expires", vec![attribute.clone()]),
        Hazard::Collision { fields } => ("collision", fields.clone()),
    };
    json!({ "kind": kind, "fields": fields, "message": hazard_text(hazard) })
}

fn pattern_json(pattern: &PatternDiff) -> Json {
    let side = |side: &Option<PatternSide>| {
        side.as_ref().map(|side| {
            json!({
                "verdict": side.verdict.as_str(), "index": side.index, "proven": side.proven,
                "requests": side.requests, "read_units": side.read_units,
            })
        })
    };
    json!({
        "name": pattern.name,
        "change": change_word(pattern.change),
        "before": side(&pattern.before),
        "after": side(&pattern.after),
    })
}
