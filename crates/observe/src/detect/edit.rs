//! Changes to a design file: applied to its text, parsed and checked again, and shown as a diff.

use std::fmt::Write as _;

use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_design::model::{Entity, Index, Table};
use keyloom_design::plan::{Verdict, plan};

/// Lines shown around a change.
const CONTEXT: usize = 1;

/// The difference that an edit makes; none if the result is not a design, or refuses what the design did not.
fn checked(design: &Design, edited: Option<String>) -> Option<String> {
    let edited = edited?;
    let before = design.source().text();
    if before.is_empty() {
        return None;
    }
    let changed = Design::parse(design.source().name(), &edited).0?;
    let was_refused = refused(design);
    if refused(&changed).iter().any(|name| !was_refused.contains(name)) {
        return None;
    }
    let difference = difference(before, &edited);
    (!difference.is_empty()).then_some(difference)
}

/// The access patterns that no key answers.
fn refused(design: &Design) -> Vec<String> {
    let plans = plan(design, &Prices::default()).into_iter();
    plans.filter(|plan| plan.verdict == Verdict::Refused).map(|plan| plan.name).collect()
}

/// Spreads a partition key over shards, with a comment that explains the number.
pub(super) fn add_shard(
    design: &Design,
    entity: &Entity,
    index: &Index,
    shards: u32,
    why: &str,
) -> Option<String> {
    let [key] = index.hash.as_slice() else { return None };
    let key = entity.key(&key.name)?;
    if key.shape.is_native() || entity.field("shard").is_some() {
        return None;
    }
    let template = key.shape.template();
    let by = entity.identity().into_iter().find(|field| !template.fields().any(|f| f == *field))?;
    let text = design.source().text();
    // The span is the attribute's; its template follows on the line, in quotes.
    let start = key.span.start();
    let line = text.get(start..)?.lines().next()?;
    let (value, at) = ['"', '\''].iter().find_map(|quote| {
        let value = format!("{quote}{}{quote}", template.text());
        line.find(&value).map(|at| (value, start + at))
    })?;
    // Behind the template, before the quote.
    let (head, tail) = text.split_at_checked(at + value.len() - 1)?;
    let edited = format!("{head}{}{{shard}}{tail}", template.template().separator());
    let field = format!("shard = {{ type = \"shard\", shards = {shards}, by = \"{by}\" }} # {why}");
    checked(design, into_section(&edited, &["entity", &entity.name, "fields"], &field))
}

/// Takes an index away, and the keys that only it needs.
pub(super) fn remove_index(design: &Design, table: &Table, index: &Index) -> Option<String> {
    let name = index.name.as_deref()?;
    let own = ["table", &table.name, "index", name];
    let needed = |attribute: &str| {
        let mut others = table.indexes.iter().filter(|other| other.name != index.name);
        others.any(|other| other.has_attribute(attribute))
    };
    let dropped: Vec<&str> = index
        .attributes()
        .map(|attribute| attribute.name.as_str())
        .filter(|attribute| !needed(attribute))
        .collect();
    let is_here = |entity: &str| design.entities_in(table).any(|known| known.name == entity);
    let (mut inside, mut in_entity, mut is_found) = (false, false, false);
    let mut lines = Vec::new();
    for line in design.source().text().lines() {
        if let Some(names) = header(line) {
            inside = names == own;
            is_found |= inside;
            in_entity = match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                ["entity", entity, rest @ ..] => is_here(entity) && rest != ["fields"],
                _ => false,
            };
        }
        let key = line.split('=').next().unwrap_or_default().trim();
        if !(inside || in_entity && dropped.contains(&key)) {
            lines.push(line);
        }
    }
    checked(design, is_found.then(|| lines.join("\n") + "\n"))
}

/// Adds an index on an attribute, sorted by a field that identifies the table's items.
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
    checked(design, after_section(design.source().text(), &["table", &table.name], &section))
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

/// The names in the header of a section: `[table.tasks.index."by date"] # why`.
fn header(line: &str) -> Option<Vec<String>> {
    let (mut names, mut name, mut quote) = (Vec::new(), String::new(), None);
    for c in line.trim_start().strip_prefix('[')?.chars() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, ']') => {
                names.push(name);
                return Some(names);
            }
            (None, '.') => names.push(std::mem::take(&mut name)),
            (None, _) if c.is_whitespace() => {}
            _ => name.push(c),
        }
    }
    None
}

/// The number of the section's first line, behind its header.
fn section_start(lines: &[&str], section: &[&str]) -> Option<usize> {
    let is_header = |line: &&str| header(line).is_some_and(|names| names == section);
    Some(lines.iter().position(is_header)? + 1)
}

/// Appends a line to a section.
fn into_section(text: &str, section: &[&str], line: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let start = section_start(&lines, section)?;
    let length = lines.iter().skip(start).take_while(|line| !line.trim_start().starts_with('['));
    let filled = length.collect::<Vec<_>>();
    let blank = filled.iter().rev().take_while(|line| line.trim().is_empty()).count();
    lines.insert(start + filled.len() - blank, line);
    Some(lines.join("\n") + "\n")
}

/// Puts a section behind another one.
fn after_section(text: &str, before: &[&str], section: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let start = section_start(&lines, before)?;
    let length =
        lines.iter().skip(start).take_while(|line| !line.trim_start().starts_with('[')).count();
    let added: Vec<&str> = section.lines().chain([""]).collect();
    lines.splice(start + length..start + length, added);
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
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let ((kept, old), (_, new)) = (old.split_at(head), new.split_at(head));
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, end) = old.split_at(old.len() - tail);
    let (new, _) = new.split_at(new.len() - tail);
    let unchanged = |lines: &[&'t str]| lines.iter().map(|line| (' ', *line)).collect::<Vec<_>>();
    [unchanged(kept), changed(old, new), unchanged(end)].concat()
}

/// [`aligned`] for what lies between the lines that both begin and end with.
fn changed<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
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
        let diff = add_shard(&design, task, task.table.primary(), 4, "seen").unwrap_or_default();
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
        assert_eq!(remove_index(&design, table, used), None, "patterns need it");
        let user = design.entity("User").unwrap_or_else(|| unreachable!());
        assert_eq!(
            add_shard(&design, user, table.primary(), 4, "seen"),
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

    const TWO: &str = r#"
[design]
name = "two"

[table.people]
partition_key = "PK"
sort_key = "SK"

[table.people.index."GSI1"] # nobody needs it
partition_key = "GSI1PK"
sort_key = "GSI1SK"

[table.orders]
partition_key = "PK"
sort_key = "SK"

[table.orders.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"

[entity.User]
table = "people"
PK = "USER#{user_id}"
SK = "PROFILE"
GSI1PK = "MAIL#{mail}"
GSI1SK = "USER"
[entity.User.fields]
user_id = "string"
mail = "string"

[entity.Order]
table = "orders"
PK = "ORDER#{order_id}"
SK = "ORDER"
GSI1PK = "MAIL#{mail}"
GSI1SK = "ORDER"
[entity.Order.fields]
order_id = "string"
mail = "string"

[access."user"]
find = "User"
where = "user_id = ?"

[access."orders of a mail address"]
find = "Order"
where = "mail = ?"
index = "GSI1"
"#;

    #[test]
    fn an_index_goes_with_the_keys_of_its_own_table_only() {
        let (design, found) = Design::parse("two.toml", TWO);
        let design = design.unwrap_or_else(|| unreachable!("{found:?}"));
        let [a, b] = design.tables() else { unreachable!() };
        let index = |table: &Table| table.index("GSI1").cloned().unwrap_or_else(|| unreachable!());
        let diff = remove_index(&design, a, &index(a)).unwrap_or_default();
        assert!(diff.contains("- [table.people.index.\"GSI1\"] # nobody needs it"), "{diff}");
        assert_eq!(diff.matches("- GSI1PK = ").count(), 1, "{diff}");
        assert_eq!(remove_index(&design, b, &index(b)), None, "a pattern needs it");
    }

    #[test]
    fn a_shard_goes_into_the_template_and_not_into_what_looks_like_it() {
        let text = r#"
[design]
name = "named"
[table.users]
partition_key = "USER"
sort_key = "SK"
[entity.User]
table = "users"
USER = "USER"
SK = "{user_id}"
[entity.User.fields]
user_id = "string"
"#;
        let (design, found) = Design::parse("named.toml", &text.replace('\n', "\r\n"));
        let design = design.unwrap_or_else(|| unreachable!("{found:?}"));
        let user = design.entity("User").unwrap_or_else(|| unreachable!());
        let diff = add_shard(&design, user, user.table.primary(), 4, "seen").unwrap_or_default();
        assert!(diff.contains("- USER = \"USER\"\n+ USER = \"USER#{shard}\"\n"), "{diff}");
        let same = design.source().text().replace('\r', "");
        assert_eq!(checked(&design, Some(same)), None, "nothing has changed");
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
