//! Changes of a design file: made in its text, proven to be a design again, shown as a difference.

use std::fmt::Write as _;

use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_design::model::{Entity, Index, Table};
use keyloom_design::plan::{Verdict, plan};

/// Lines shown around a change.
const CONTEXT: usize = 1;

/// The difference that an edit makes; none if the result is not a design.
fn checked(design: &Design, edited: Option<String>) -> Option<String> {
    let edited = edited?;
    let before = design.source().text();
    if before.is_empty() || edited == before {
        return None;
    }
    Design::parse(design.source().name(), &edited).0?;
    Some(difference(before, &edited))
}

/// Spreads a partition key over shards.
pub(super) fn add_shard(
    design: &Design,
    entity: &Entity,
    index: &Index,
    shards: u32,
) -> Option<String> {
    let [key] = index.hash.as_slice() else { return None };
    let key = entity.key(&key.name)?;
    if key.shape.is_native() || entity.field("shard").is_some() {
        return None;
    }
    let template = key.shape.template();
    let by = entity.identity().into_iter().find(|field| !template.fields().any(|f| f == *field))?;
    let text = design.source().text();
    // The span is the attribute's; its template follows on the line.
    let start = key.span.start();
    let end = text.get(start..)?.find('\n').map_or(text.len(), |length| start + length);
    let separator = template.template().separator();
    let new = format!("{}{separator}{{shard}}", template.text());
    let old = text.get(start..end)?;
    let changed = old.replacen(template.text(), &new, 1);
    if changed == old {
        return None;
    }
    let edited = format!("{}{changed}{}", text.get(..start)?, text.get(end..)?);
    let field = format!("shard = {{ type = \"shard\", shards = {shards}, by = \"{by}\" }}");
    checked(design, into_section(&edited, &format!("[entity.{}.fields]", entity.name), &field))
}

/// Takes an index away, and the keys that only it needs.
pub(super) fn remove_index(design: &Design, table: &Table, index: &Index) -> Option<String> {
    let name = index.name.as_deref()?;
    let header = format!("[table.{}.index.{name}]", table.name);
    let needed = |attribute: &str| {
        let mut others = table.indexes.iter().filter(|other| other.name != index.name);
        others.any(|other| other.has_attribute(attribute))
    };
    let dropped: Vec<&str> = index
        .attributes()
        .map(|attribute| attribute.name.as_str())
        .filter(|attribute| !needed(attribute))
        .collect();
    let (mut inside, mut in_entity) = (false, false);
    let mut lines = Vec::new();
    for line in design.source().text().lines() {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            inside = trimmed == header;
            in_entity = trimmed.starts_with("[entity.") && !trimmed.ends_with(".fields]");
        }
        let key = trimmed.split('=').next().unwrap_or_default().trim();
        if !(inside || in_entity && dropped.contains(&key)) {
            lines.push(line);
        }
    }
    checked(design, Some(lines.join("\n") + "\n"))
}

/// Adds an index on an attribute, sorted by the table's own partition key.
pub(super) fn add_index(design: &Design, table: &Table, attribute: &str) -> Option<String> {
    let entity = design.entities_in(table).find(|entity| entity.field(attribute).is_some())?;
    let sort = entity
        .identity()
        .into_iter()
        .find(|field| entity.field(field).is_some_and(|f| !f.key_only))?;
    let sort = if sort == attribute { return None } else { sort };
    let section = format!(
        "[table.{}.index.by_{attribute}]\npartition_key = \"{attribute}\"\nsort_key      = \"{sort}\"",
        table.name
    );
    let header = format!("[table.{}]", table.name);
    checked(design, after_section(design.source().text(), &header, &section))
}

/// Declares an access pattern that finds an entity by its partition in an index, if that can be
/// planned.
pub(super) fn add_access(
    design: &Design,
    entity: &Entity,
    index: &Index,
    name: &str,
) -> Option<String> {
    let key = entity.index_key(index)?;
    let fields: Vec<String> = key.hash_fields().map(|field| format!("{field} = ?")).collect();
    if fields.is_empty() {
        return None;
    }
    let mut section = format!(
        "[access.{name:?}]\nfind  = \"{}\"\nwhere = \"{}\"",
        entity.name,
        fields.join(" and ")
    );
    if let Some(index) = &index.name {
        let _ = write!(section, "\nindex = \"{index}\"");
    }
    let edited = format!("{}\n\n{section}\n", design.source().text().trim_end());
    let (planned, _) = Design::parse(design.source().name(), &edited);
    let plans = plan(&planned?, &Prices::default());
    let proven = plans.iter().any(|p| p.name == name && p.verdict != Verdict::Refused);
    if proven { checked(design, Some(edited)) } else { None }
}

/// Appends a line to a section.
fn into_section(text: &str, header: &str, line: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| line.trim() == header)?;
    let length =
        lines.iter().skip(start + 1).take_while(|line| !line.trim_start().starts_with('['));
    let filled = length.collect::<Vec<_>>();
    let blank = filled.iter().rev().take_while(|line| line.trim().is_empty()).count();
    lines.insert(start + 1 + filled.len() - blank, line);
    Some(lines.join("\n") + "\n")
}

/// Puts a section behind another one.
fn after_section(text: &str, header: &str, section: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| line.trim() == header)?;
    let length =
        lines.iter().skip(start + 1).take_while(|line| !line.trim_start().starts_with('[')).count();
    let added: Vec<&str> = section.lines().chain([""]).collect();
    lines.splice(start + 1 + length..start + 1 + length, added);
    Some(lines.join("\n") + "\n")
}

/// The lines that differ, with a few around them.
fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let marked = aligned(&old, &new);
    let is_change = |&(mark, line): &(char, &str)| mark != ' ' && !line.is_empty();
    let near = |at: usize| {
        let from = at.saturating_sub(CONTEXT);
        marked.iter().skip(from).take(at - from + CONTEXT + 1).any(is_change)
    };
    let section = |at: usize| {
        let (mark, line) = marked.get(at).copied().unwrap_or((' ', ""));
        let rest = marked.iter().skip(at + 1);
        let own = rest.take_while(|(_, line)| !line.starts_with('['));
        mark == ' ' && line.starts_with('[') && own.clone().any(is_change)
    };
    let mut out = String::new();
    for (at, (mark, line)) in marked.iter().enumerate() {
        if (near(at) || section(at)) && !line.is_empty() {
            out.push_str(format!("{mark} {line}").trim_end());
            out.push('\n');
        }
    }
    out
}

/// Both texts line by line: kept, taken away, added. The longest common subsequence decides.
fn aligned<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    let width = new.len() + 1;
    // How many lines the rests from here on have in common.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    let get = |common: &[u32], row: usize, column: usize| {
        common.get(row * width + column).copied().unwrap_or(0)
    };
    for (row, left) in old.iter().enumerate().rev() {
        for (column, right) in new.iter().enumerate().rev() {
            let best = if left == right {
                get(&common, row + 1, column + 1) + 1
            } else {
                get(&common, row + 1, column).max(get(&common, row, column + 1))
            };
            if let Some(cell) = common.get_mut(row * width + column) {
                *cell = best;
            }
        }
    }
    let (mut row, mut column, mut marked) = (0, 0, Vec::new());
    loop {
        let drops = get(&common, row + 1, column) >= get(&common, row, column + 1);
        match (old.get(row), new.get(column)) {
            (Some(left), Some(right)) if left == right => {
                marked.push((' ', *left));
                (row, column) = (row + 1, column + 1);
            }
            (Some(left), right) if right.is_none() || drops => {
                marked.push(('-', *left));
                row += 1;
            }
            (_, Some(right)) => {
                marked.push(('+', *right));
                column += 1;
            }
            _ => return marked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASKS: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/designs/tasks.toml"));

    fn tasks() -> Design {
        Design::parse("tasks.toml", TASKS).0.unwrap_or_else(|| unreachable!())
    }

    #[test]
    fn a_shard_is_added_to_the_key_and_to_the_fields() {
        let design = tasks();
        let task = design.entity("Task").unwrap_or_else(|| unreachable!());
        let diff = add_shard(&design, task, task.table.primary(), 4).unwrap_or_default();
        assert!(diff.contains("- PK     = \"PROJECT#{project_id}\"\n"), "{diff}");
        assert!(diff.contains("+ PK     = \"PROJECT#{project_id}#{shard}\"\n"), "{diff}");
        assert!(
            diff.contains("+ shard = { type = \"shard\", shards = 4, by = \"task_id\" }"),
            "{diff}"
        );
    }

    #[test]
    fn what_would_not_be_a_design_is_not_proposed() {
        let design = tasks();
        let table = design.tables().first().unwrap_or_else(|| unreachable!());
        let used = table.index("GSI1").unwrap_or_else(|| unreachable!());
        let diff = remove_index(&design, table, used);
        assert!(diff.is_none_or(|diff| diff.contains("- [table.tasks.index.GSI1]")));
        let user = design.entity("User").unwrap_or_else(|| unreachable!());
        assert_eq!(
            add_shard(&design, user, table.primary(), 4),
            None,
            "a profile has no other key"
        );
        assert_eq!(add_index(&design, table, "no_such_field"), None);
    }

    #[test]
    fn indexes_and_patterns_are_added_where_they_belong() {
        let design = tasks();
        let table = design.tables().first().unwrap_or_else(|| unreachable!());
        let diff = add_index(&design, table, "due_date").unwrap_or_default();
        assert!(diff.contains("+ [table.tasks.index.by_due_date]"), "{diff}");
        let tag = design.entity("Tag").unwrap_or_else(|| unreachable!());
        let diff = add_access(&design, tag, table.primary(), "tags of a task").unwrap_or_default();
        assert!(diff.contains("+ where = \"task_id = ?\""), "{diff}");
    }

    #[test]
    fn a_difference_shows_the_section_it_is_in() {
        let (before, after) = (
            "[a]\nx = 1\ny = 2\nz = 3\n\n[b]\nx = 1\n",
            "[a]\nx = 1\ny = 2\nz = 4\n\n[b]\nx = 1\n",
        );
        assert_eq!(difference(before, after), "  [a]\n  y = 2\n- z = 3\n+ z = 4\n");
    }
}
