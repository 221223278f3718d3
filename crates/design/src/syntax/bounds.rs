//! How large a design may be, so that every file is answered soon: far more than people write, and less than takes
//! minutes.

use crate::diagnostic::{Code, Diagnostic};
use crate::draft::Draft;
use crate::source::{Span, Spanned};

/// The longest design file.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// The most tables, and the most relationships and guards of unique values.
const MAX_TABLES: usize = 1_000;
/// The most indexes of one table; DynamoDB takes 25 at first.
const MAX_INDEXES: usize = 100;
/// The most entities.
const MAX_ENTITIES: usize = 5_000;
/// The most access patterns, and the most writes.
const MAX_PATTERNS: usize = 20_000;
/// The most fields of one entity.
const MAX_FIELDS: usize = 5_000;
/// The most values that one field lists.
const MAX_VALUES: usize = 2_000;
/// The longest name, as of DynamoDB's tables and key attributes.
const MAX_NAME_BYTES: usize = 255;

/// Why a text is too long to be read.
pub(super) fn check_length(text: &str) -> Option<Diagnostic> {
    let found = (text.len() > MAX_FILE_BYTES).then_some(text.len())?;
    let (found, most) = (found >> 20, MAX_FILE_BYTES >> 20);
    let message = format!("the file has {found} MB, and a design file at most {most}");
    Some(Diagnostic::error(Code::Syntax, Span::NONE, message).fix(divide()))
}

fn divide() -> String {
    "make several designs of it: tables that share no pattern need not share a file".to_owned()
}

/// What of a design is too much: nothing of it is planned then.
pub(super) fn check(draft: &Draft) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut count = |found: usize, most: usize, what: &str, span: Span| {
        if found > most {
            let message = format!("there are {found} {what}, and {most} are the most");
            problems.push(Diagnostic::error(Code::BadValue, span, message).fix(divide()));
        }
    };
    count(draft.tables.len(), MAX_TABLES, "tables", Span::NONE);
    count(draft.entities.len(), MAX_ENTITIES, "entities", Span::NONE);
    count(draft.accesses.len(), MAX_PATTERNS, "access patterns", Span::NONE);
    count(draft.writes.len(), MAX_PATTERNS, "writes", Span::NONE);
    count(draft.uniques.len(), MAX_TABLES, "unique values", Span::NONE);
    count(draft.relationships.len(), MAX_TABLES, "relationships", Span::NONE);
    for table in &draft.tables {
        let what = format!("indexes of `{}`", shown(&table.name.value));
        count(table.indexes.len(), MAX_INDEXES, &what, table.name.span);
    }
    for entity in &draft.entities {
        let what = format!("fields of `{}`", shown(&entity.name.value));
        count(entity.fields.len(), MAX_FIELDS, &what, entity.name.span);
        for field in &entity.fields {
            let what = format!("values of `{}`", shown(&field.name.value));
            count(field.values.len(), MAX_VALUES, &what, field.name.span);
        }
    }
    problems.extend(names(draft).filter_map(check_name));
    problems
}

fn names(draft: &Draft) -> impl Iterator<Item = &Spanned<String>> {
    let tables = draft.tables.iter().flat_map(|table| {
        let keys = table.partition_key.iter().chain(&table.sort_key);
        let others = table.ttl.iter().chain(&table.type_attribute);
        std::iter::once(&table.name).chain(keys).chain(others)
    });
    let indexes = draft.tables.iter().flat_map(|table| &table.indexes).flat_map(|index| {
        let keys = index.partition_key.iter().chain(&index.sort_key);
        std::iter::once(&index.name).chain(keys)
    });
    let entities = draft.entities.iter().flat_map(|entity| {
        let keys = entity.keys.iter().map(|key| &key.attribute);
        let fields = entity.fields.iter().map(|field| &field.name);
        std::iter::once(&entity.name).chain(keys).chain(fields)
    });
    let accesses = draft.accesses.iter().map(|access| &access.name);
    let writes = draft.writes.iter().map(|write| &write.name);
    let uniques = draft.uniques.iter().map(|unique| &unique.name);
    let relationships = draft.relationships.iter().map(|relationship| &relationship.name);
    let patterns = accesses.chain(writes).chain(uniques).chain(relationships);
    tables.chain(indexes).chain(entities).chain(patterns)
}

/// What is wrong with a name: reports, code and terminals show it as it is.
fn check_name(name: &Spanned<String>) -> Option<Diagnostic> {
    let (text, bytes) = (&name.value, name.value.len());
    let message = if bytes > MAX_NAME_BYTES {
        format!("the name `{}` has {bytes} bytes, and names at most {MAX_NAME_BYTES}", shown(text))
    } else if text.chars().any(char::is_control) {
        format!("the name `{}` has control characters", shown(text))
    } else {
        return None;
    };
    let problem = Diagnostic::error(Code::BadValue, name.span, message);
    Some(
        problem.fix(
            "give it a short name of visible characters; `description` takes the rest".to_owned(),
        ),
    )
}

/// The beginning of a name without what terminals obey.
fn shown(name: &str) -> String {
    let all = name.chars().take(40).collect::<String>().escape_debug().to_string();
    if name.chars().nth(40).is_some() { format!("{all}…") } else { all }
}
