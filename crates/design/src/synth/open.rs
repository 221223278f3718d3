//! A design with its keys left open: what is stored and asked, and what identifies an item.
//!
//! The file is read as any other. Its key templates are taken out; from them comes only what a design without keys would
//! have to say: types that templates declare, and the fields that make an item unique.

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::draft::{Draft, EntityDraft, FieldDraft, KeyDraft, TableDraft};
use crate::model::Design;
use crate::source::{Source, Span, Spanned};

use super::{Options, Tables};

/// A design without keys.
pub(super) struct Open {
    /// The draft without tables, keys and hand-written requests; every entity names its table.
    pub(super) draft: Draft,
    /// The same with placeholder keys: its conditions are understood, its keys mean nothing.
    pub(super) design: Design,
    /// The tables to fill, with their settings.
    pub(super) tables: Vec<TableDraft>,
    /// For each entity the keys that stay as they are.
    pub(super) kept: Vec<Vec<KeyDraft>>,
    /// For each entity the fields that templates declared.
    pub(super) declared: Vec<Vec<FieldDraft>>,
    /// Patterns that say only how they are read, not what they ask.
    pub(super) silent: Vec<String>,
}

impl Open {
    /// The same with one field of an entity declared otherwise, if that can be read.
    pub(super) fn with_field(&self, position: usize, field: FieldDraft) -> Option<Self> {
        let mut draft = self.draft.clone();
        let mut own = draft.entities.get_mut(position)?.fields.iter_mut();
        let place = own.find(|it| it.name.value == field.name.value)?;
        *place = field;
        let source = self.design.source().clone();
        let (design, problems) =
            crate::resolve::resolve(with_placeholders(&draft, &self.tables), source);
        problems.iter().all(|problem| problem.severity != Severity::Error).then(|| Self {
            draft,
            design,
            tables: self.tables.clone(),
            kept: self.kept.clone(),
            declared: self.declared.clone(),
            silent: self.silent.clone(),
        })
    }
}

const PLACEHOLDER: [&str; 2] = ["keyloom_open_pk", "keyloom_open_sk"];

/// Reads a design whose keys are open.
pub(super) fn open(source: &Source, options: &Options) -> Result<Open, Vec<Diagnostic>> {
    let (mut draft, mut problems) = crate::syntax::read(source);
    // Keys of tables are what is sought.
    problems.retain(|problem| {
        problem.severity == Severity::Error && !problem.message.contains("`partition_key`")
    });
    let written = std::mem::take(&mut draft.tables);
    problems.extend(unkept(&draft, &written, &options.keep));
    let mut silent = Vec::new();
    for access in &mut draft.accesses {
        if access.key.is_some() && access.condition.is_none() {
            silent.push(access.name.value.clone());
        }
        (access.key, access.filter, access.index) = (None, None, None);
    }
    draft.accesses.retain(|access| !silent.contains(&access.name.value));
    let (mut kept, mut declared) = (Vec::new(), Vec::new());
    for entity in &mut draft.entities {
        let table = table_of(entity, &written);
        let fields = inline_fields(entity);
        entity.fields.extend(fields.iter().cloned());
        declared.push(fields);
        if entity.identity.is_empty() {
            entity.identity = identity_of(entity, table);
        }
        if entity.identity.is_empty() {
            problems.push(unidentified(entity));
        }
        let (keep, _) = std::mem::take(&mut entity.keys)
            .into_iter()
            .partition(|key| options.keep.contains(&key.attribute.value));
        kept.push(keep);
    }
    let tables = tables_for(&mut draft, written, source, options.tables);
    if draft.entities.is_empty() && problems.is_empty() {
        let message = "there is no entity, so there is nothing to find keys for";
        problems.push(Diagnostic::error(Code::BadValue, Span::NONE, message));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let (design, problems) =
        crate::resolve::resolve(with_placeholders(&draft, &tables), source.clone());
    let errors: Vec<Diagnostic> =
        problems.into_iter().filter(|problem| problem.severity == Severity::Error).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Open { draft, design, tables, kept, declared, silent })
}

/// What is to be kept and cannot be.
fn unkept(draft: &Draft, tables: &[TableDraft], keep: &[String]) -> Vec<Diagnostic> {
    let mut keys: Vec<&str> = draft
        .entities
        .iter()
        .flat_map(|entity| &entity.keys)
        .map(|key| key.attribute.value.as_str())
        .collect();
    keys.sort_unstable();
    keys.dedup();
    let mut problems = Vec::new();
    for name in keep {
        let problem = if !keys.contains(&name.as_str()) {
            let known = if keys.is_empty() {
                "the file has no keys".to_owned()
            } else {
                format!("the keys of the file are `{}`", keys.join("`, `"))
            };
            Some((format!("`{name}` cannot be kept: no entity has a template for it"), known))
        } else {
            partition_of(tables, name).filter(|hash| !keep.contains(hash)).map(|hash| {
                let why = "a sort key says nothing without its partition key";
                (
                    format!("`{name}` cannot be kept without `{hash}`: {why}"),
                    format!("keep `{hash}`, too"),
                )
            })
        };
        problems.extend(problem.map(|(message, fix)| {
            Diagnostic::error(Code::BadValue, Span::NONE, message).fix(Some(fix))
        }));
    }
    problems
}

/// The partition key beside which an attribute is the sort key, if it is one.
fn partition_of(tables: &[TableDraft], name: &str) -> Option<String> {
    let plain =
        |text: &Spanned<String>| text.value.split(':').next().unwrap_or_default().to_owned();
    let pairs = tables.iter().flat_map(|table| {
        let own = std::iter::once((&table.partition_key, &table.sort_key));
        let indexes = table.indexes.iter().map(|index| {
            let hash = if index.local { &table.partition_key } else { &index.partition_key };
            (hash, &index.sort_key)
        });
        own.chain(indexes)
    });
    let mut pairs =
        pairs.filter(|(_, range)| range.iter().any(|attribute| plain(attribute) == name));
    pairs.find_map(|(hash, _)| hash.first().map(plain))
}

fn unidentified(entity: &EntityDraft) -> Diagnostic {
    let name = &entity.name.value;
    let message = format!("nothing says which fields make a `{name}` unique");
    Diagnostic::error(Code::BadValue, entity.name.span, message)
        .because("the primary key must hold them, or two items would be one")
        .fix(Some(format!("say it in [entity.{name}]: identity = [\"…\"]")))
        .about(name.clone())
}

fn table_of<'a>(entity: &EntityDraft, tables: &'a [TableDraft]) -> Option<&'a TableDraft> {
    match &entity.table {
        Some(name) => tables.iter().find(|table| table.name.value == name.value),
        None => tables.first(),
    }
}

/// The fields of a template with what stands after the colon.
pub(super) fn pieces(template: &str) -> Vec<(&str, Option<&str>)> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let after = rest.get(at + 1..).unwrap_or_default();
        if let Some(more) = after.strip_prefix('{') {
            rest = more;
            continue;
        }
        let Some(end) = after.find('}') else { break };
        let inner = after.get(..end).unwrap_or_default();
        found.push(inner.split_once(':').map_or((inner, None), |(name, form)| (name, Some(form))));
        rest = after.get(end + 1..).unwrap_or_default();
    }
    found
}

/// Fields that only templates declare.
fn inline_fields(entity: &EntityDraft) -> Vec<FieldDraft> {
    let mut fields: Vec<FieldDraft> = Vec::new();
    for key in &entity.keys {
        for (name, form) in pieces(&key.template.value) {
            let known = entity.fields.iter().chain(&fields).any(|field| field.name.value == name);
            if let (false, Some(form)) = (known, form) {
                fields.push(FieldDraft::new(name, form));
            }
        }
    }
    fields
}

/// What the written primary key holds, or the one identifier that is named after the entity.
fn identity_of(entity: &EntityDraft, table: Option<&TableDraft>) -> Vec<Spanned<String>> {
    let is_shard = |name: &str| {
        let field = entity.fields.iter().find(|field| field.name.value == name);
        field.is_some_and(|field| field.kind.value == "shard")
    };
    let mut names: Vec<String> = Vec::new();
    let attributes =
        table.into_iter().flat_map(|table| table.partition_key.iter().chain(&table.sort_key));
    for attribute in attributes {
        let attribute = attribute.value.split(':').next().unwrap_or_default();
        match entity.keys.iter().find(|key| key.attribute.value == attribute) {
            Some(key) => {
                names
                    .extend(pieces(&key.template.value).iter().map(|(name, _)| (*name).to_owned()));
            }
            None => names.extend(
                entity
                    .fields
                    .iter()
                    .filter(|f| f.name.value == attribute)
                    .map(|f| f.name.value.clone()),
            ),
        }
    }
    names.retain(|name| !is_shard(name));
    if names.is_empty() {
        let own = entity.name.value.to_lowercase();
        let wanted = ["id".to_owned(), own.clone(), format!("{own}_id"), format!("{own}id")];
        let is_own = |field: &&FieldDraft| {
            wanted.contains(&field.name.value.to_lowercase()) && !field.optional
        };
        names.extend(entity.fields.iter().find(is_own).map(|field| field.name.value.clone()));
    }
    let mut once: Vec<Spanned<String>> = Vec::new();
    for name in names {
        if once.iter().all(|known| known.value != name) {
            once.push(Spanned::free(name));
        }
    }
    once
}

/// The tables to fill; entities are told theirs.
fn tables_for(
    draft: &mut Draft,
    written: Vec<TableDraft>,
    source: &Source,
    tables: Tables,
) -> Vec<TableDraft> {
    let first = written.first().map(|table| table.name.value.clone());
    let file = source.name().rsplit(['/', '\\']).next().unwrap_or_default();
    let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let stem: String = file.split('.').next().unwrap_or_default().chars().map(legal).collect();
    let only = first.unwrap_or_else(|| if stem.len() < 3 { "app-table".to_owned() } else { stem });
    for entity in &mut draft.entities {
        let own = entity.name.value.to_lowercase();
        let name = match (tables, &entity.table) {
            (Tables::AsWritten, Some(table)) => table.value.clone(),
            (Tables::Several, _) if own.len() < 3 => format!("{own}-items"),
            (Tables::Several, _) => own,
            _ => only.clone(),
        };
        entity.table = Some(Spanned::free(name));
    }
    let mut all: Vec<TableDraft> = Vec::new();
    for name in draft.entities.iter().filter_map(|entity| entity.table.as_ref()) {
        if all.iter().any(|table| table.name.value == name.value) {
            continue;
        }
        let settings =
            written.iter().find(|table| table.name.value == name.value).or(written.first());
        let mut table = settings.cloned().unwrap_or_else(|| TableDraft::new(&name.value));
        table.name = Spanned::free(name.value.clone());
        all.push(table);
    }
    all
}

/// The draft with keys that make it readable.
fn with_placeholders(draft: &Draft, tables: &[TableDraft]) -> Draft {
    let mut draft = draft.clone();
    let [hash, range] = PLACEHOLDER;
    draft.tables = tables
        .iter()
        .map(|settings| {
            let mut table = TableDraft::new(&settings.name.value).keys(hash, range);
            table.separator.clone_from(&settings.separator);
            table.escape.clone_from(&settings.escape);
            table.ttl.clone_from(&settings.ttl);
            table
        })
        .collect();
    for entity in &mut draft.entities {
        let separator = tables
            .iter()
            .find(|table| Some(&table.name.value) == entity.table.as_ref().map(|name| &name.value))
            .and_then(|table| table.separator.clone())
            .map_or_else(|| "#".to_owned(), |text| text.value);
        let fields: Vec<String> =
            entity.identity.iter().map(|field| format!("{{{}}}", field.value)).collect();
        let name = entity.name.value.clone();
        let key = |attribute: &str, template: String| KeyDraft {
            attribute: Spanned::free(attribute),
            template: Spanned::new(template, entity.name.span),
            when: None,
        };
        entity.keys = vec![key(hash, name.clone()), key(range, fields.join(&separator))];
    }
    draft.allows.clear();
    draft
}
