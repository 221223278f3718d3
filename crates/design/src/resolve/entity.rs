//! Entities and their key templates.

use std::cell::RefCell;
use std::sync::Arc;

use keyloom_keys::{FieldFormat, FieldType, KeyRole, TemplateError};

use super::Resolver;
use super::ambiguity::same_key;
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::{EntityDraft, KeyDraft};
use crate::key::KeyTemplate;
use crate::model::{
    Entity, EntityKey, Escape, Field, FieldKind, KeyAttribute, KeyShape, KeyType, Table, Volume,
};
use crate::source::{Span, Spanned};
use crate::suggest::{did_you_mean, nearest};

impl Resolver<'_> {
    pub(super) fn entity(&mut self, draft: EntityDraft) {
        let name = draft.name.value.clone();
        let Some(table) = self.table_of(&draft) else { return };
        let mut fields: Vec<Field> = Vec::new();
        for field in draft.fields {
            fields.push(self.field(field, &name));
        }
        let mut keys = Vec::new();
        let written: Vec<String> =
            draft.keys.iter().map(|key| key.attribute.value.clone()).collect();
        for key in draft.keys {
            keys.extend(self.key(key, &table, &mut fields, &name));
        }
        self.add_native_keys(&mut keys, &fields, &table, &name);
        self.check_shards(&fields, &name);
        let entity = Entity {
            name,
            span: draft.name.span,
            table,
            fields,
            was: draft.was.into_iter().map(|name| name.value).collect(),
            unique_by: draft.identity.iter().map(|field| field.value.clone()).collect(),
            keys,
            description: draft.description.map(|text| text.value).unwrap_or_default(),
            volume: Volume {
                count: draft.count,
                size: draft.size,
                max_size: draft.max_size,
                growth: draft.growth,
                size_growth: draft.size_growth,
                lives: draft.lives.as_ref().map(|lives| lives.value),
            },
        };
        let Volume { size, max_size, .. } = &entity.volume;
        if let (Some(size), Some(max)) = (size, max_size)
            && max < size
        {
            let message = format!("`{}` is larger on average than at most", entity.name);
            self.report(
                Diagnostic::error(Code::BadValue, entity.span, message)
                    .because(format!("`size` is {size} bytes, `max_size` is {max}"))
                    .about(entity.name.clone()),
            );
        }
        if let Some(lives) = draft.lives.as_ref().filter(|_| entity.table.ttl.is_none()) {
            let (name, table) = (&entity.name, &entity.table.name);
            let message = format!("`{name}` has `lives`, but nothing expires in table `{table}`");
            self.report(
                Diagnostic::error(Code::BadValue, lives.span, message)
                    .because("items expire by an attribute that the table's `ttl` names")
                    .fix(Some(format!("say it in [table.{table}]: ttl = \"expires_at\"")))
                    .about(name.clone()),
            );
        }
        for field in &draft.identity {
            self.has_field(&entity, &field.value, field.span, &entity.name);
        }
        self.check_keys(&entity, &written);
        self.entities.push(Arc::new(entity));
    }

    fn table_of(&mut self, draft: &EntityDraft) -> Option<Arc<Table>> {
        let subject = draft.name.value.as_str();
        let Some(written) = &draft.table else {
            if let [only] = self.tables.as_slice() {
                return Some(only.clone());
            }
            let message = format!("entity `{subject}` does not say which table it is in");
            let problem = Diagnostic::error(Code::BadValue, draft.name.span, message);
            self.report(problem.about(subject));
            return None;
        };
        let found = self.tables.iter().find(|table| table.name == written.value).cloned();
        if found.is_none() {
            let known: Vec<&str> = self.tables.iter().map(|table| table.name.as_str()).collect();
            let message = format!(
                "entity `{subject}` is in table `{}`, which is not declared",
                written.value
            );
            let problem = Diagnostic::error(Code::UnknownName, written.span, message)
                .fix(did_you_mean(&written.value, known))
                .about(subject);
            self.report(problem);
        }
        found
    }

    fn key(
        &mut self,
        draft: KeyDraft,
        table: &Table,
        fields: &mut Vec<Field>,
        entity: &str,
    ) -> Option<EntityKey> {
        let attribute = self.key_attribute(&draft.attribute, table, entity)?;
        if attribute.kind != KeyType::S {
            let problem = Diagnostic::error(
                Code::BadTemplate,
                draft.template.span,
                format!(
                    "`{}` has type {}, so it cannot be built from a template",
                    attribute.name,
                    attribute.kind.as_str()
                ),
            )
            .because("a template makes a text")
            .fix(Some(format!(
                "declare a field `{}` in [entity.{entity}.fields]; it becomes the key as it is",
                attribute.name
            )))
            .about(entity);
            self.report(problem);
            return None;
        }
        let template = self.template(&draft.template, &attribute, table, fields, entity)?;
        let when = draft.when.and_then(|text| self.when(&text, fields, entity));
        Some(EntityKey {
            attribute: attribute.name,
            span: draft.attribute.span,
            shape: KeyShape::Template(template),
            when,
        })
    }

    fn key_attribute(
        &mut self,
        written: &Spanned<String>,
        table: &Table,
        entity: &str,
    ) -> Option<KeyAttribute> {
        let known = table.key_attributes();
        let found = known.iter().find(|attribute| attribute.name == written.value);
        if found.is_none() {
            let names: Vec<&str> = known.iter().map(|attribute| attribute.name.as_str()).collect();
            let problem = Diagnostic::error(
                Code::UnknownKey,
                written.span,
                format!(
                    "`{}` is neither a setting of an entity nor a key attribute of table `{}`",
                    written.value, table.name
                ),
            )
            .fix(did_you_mean(&written.value, names.iter().copied().chain(ENTITY_SETTINGS)))
            .about(entity);
            self.report(problem);
        }
        found.map(|attribute| (*attribute).clone())
    }

    fn template(
        &mut self,
        text: &Spanned<String>,
        attribute: &KeyAttribute,
        table: &Table,
        fields: &mut Vec<Field>,
        entity: &str,
    ) -> Option<KeyTemplate> {
        let unknown: RefCell<Vec<String>> = RefCell::new(Vec::new());
        let format_of = |name: &str| {
            let known = fields.iter().find(|field| field.name == name);
            if known.is_none() {
                unknown.borrow_mut().push(name.to_owned());
            }
            known.and_then(Field::format)
        };
        let role = role_of(table, &attribute.name);
        let parsed =
            KeyTemplate::parse(&text.value, &table.separator, table.escape, role, format_of);
        let unknown = unknown.into_inner();
        for name in &unknown {
            self.unknown_field(name, text, fields, entity);
        }
        let template = match parsed {
            Ok(template) => template.with_shards(shards_in(fields)),
            Err(error) => {
                self.bad_template(&error, text, fields, entity);
                return None;
            }
        };
        if !unknown.is_empty() {
            return None;
        }
        self.check_documents(&template, text, fields, entity);
        for piece in template.field_pieces() {
            // A format written in the template declares the field.
            if fields.iter().all(|field| field.name != piece.name()) {
                fields.push(inline_field(piece.name(), piece.format(), text.span));
            }
        }
        Some(template)
    }

    fn unknown_field(
        &mut self,
        name: &str,
        text: &Spanned<String>,
        fields: &[Field],
        entity: &str,
    ) {
        let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        let at = text.value.find(&format!("{{{name}")).map_or(0, |at| at + 1);
        let span = self.inside(text, Span::new(at, at + name.len()));
        let fix = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "declare it in [entity.{entity}.fields], or write its type here: {{{name}:ulid}}"
            ),
        };
        let message = format!("entity `{entity}` has no field `{name}`");
        let problem =
            Diagnostic::error(Code::UnknownName, span, message).fix(Some(fix)).about(entity);
        self.report(problem);
    }

    fn bad_template(
        &mut self,
        error: &TemplateError,
        text: &Spanned<String>,
        fields: &[Field],
        entity: &str,
    ) {
        let at = error.span();
        let span = self.inside(text, Span::new(at.start, at.end));
        let problem = if error.is_ambiguous() {
            let message = format!("keys of `{}` cannot be parsed: {}", text.value, error.reason());
            Diagnostic::error(Code::AmbiguousTemplate, span, message)
                .because(same_key(&text.value, fields))
        } else {
            let message =
                format!("the key template `{}` cannot be used: {}", text.value, error.reason());
            Diagnostic::error(Code::BadTemplate, span, message)
        };
        let problem = problem.fix(Some(error.fix().to_owned())).about(entity);
        self.report(problem);
    }

    /// Lists, maps and the like have no place in a key.
    fn check_documents(
        &mut self,
        template: &KeyTemplate,
        text: &Spanned<String>,
        fields: &[Field],
        entity: &str,
    ) {
        for name in template.fields() {
            let field = fields.iter().find(|field| field.name == name);
            let Some(field) = field.filter(|field| field.format().is_none()) else { continue };
            let fix = match field.kind {
                FieldKind::Number => {
                    "use u32, u64, i64 or decimal, which keep their order in a text"
                }
                _ => "keys hold texts, numbers, times and identifiers",
            };
            let message =
                format!("field `{name}` is a {}, which cannot stand in a key", field.type_name());
            let problem = Diagnostic::error(Code::BadTemplate, text.span, message)
                .fix(Some(fix.to_owned()))
                .about(entity);
            self.report(problem);
        }
    }

    /// A key attribute that is named like a field takes the field as it is.
    fn add_native_keys(
        &mut self,
        keys: &mut Vec<EntityKey>,
        fields: &[Field],
        table: &Table,
        entity: &str,
    ) {
        for attribute in table.key_attributes() {
            if keys.iter().any(|key| key.attribute == attribute.name) {
                continue;
            }
            let Some(field) = fields.iter().find(|field| field.name == attribute.name) else {
                continue;
            };
            if !fits(field, attribute.kind) {
                let problem = Diagnostic::error(
                    Code::BadValue,
                    field.span,
                    format!(
                        "field `{}` is a {} and cannot be the {} key attribute of the same name",
                        field.name,
                        field.type_name(),
                        attribute.kind.as_str()
                    ),
                )
                .because("key attributes are S, N or B; booleans, lists, maps and sets are refused")
                .fix(Some(native_fix(field, attribute)))
                .about(entity);
                self.report(problem);
                continue;
            }
            let format = field.format().or_else(|| FieldFormat::parse("i64:plain").ok());
            let text = format!("{{{}}}", field.name);
            let role = role_of(table, &attribute.name);
            let parsed =
                KeyTemplate::parse(&text, &table.separator, Escape::None, role, |_| format.clone());
            if let Ok(template) = parsed {
                keys.push(EntityKey {
                    attribute: attribute.name.clone(),
                    span: field.span,
                    shape: KeyShape::Native(template),
                    when: None,
                });
            }
        }
    }

    fn check_shards(&mut self, fields: &[Field], entity: &str) {
        for field in fields {
            let FieldKind::Shard(shards) = &field.kind else { continue };
            for by in &shards.by {
                let source = fields.iter().find(|other| other.name == *by);
                if source.is_some_and(|source| matches!(source.kind, FieldKind::Shard(_))) {
                    let itself = if *by == field.name { "itself" } else { "another shard" };
                    let message = format!("shard `{}` is calculated from {itself}", field.name);
                    let problem = Diagnostic::error(Code::BadValue, field.span, message)
                        .because("a shard is not stored, and a reader could not calculate it")
                        .fix(Some(
                            "name stored fields in `by`, or leave it out for a random shard"
                                .to_owned(),
                        ));
                    self.report(problem.about(entity));
                }
                if source.is_none() {
                    let known: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
                    let message = format!("entity `{entity}` has no field `{by}`");
                    let problem = Diagnostic::error(Code::UnknownName, field.span, message)
                        .fix(did_you_mean(by, known))
                        .about(entity);
                    self.report(problem);
                }
            }
        }
    }

    /// The primary key must be whole, and every other key attribute must complete some index.
    fn check_keys(&mut self, entity: &Entity, written: &[String]) {
        let name = entity.name.as_str();
        for attribute in entity.table.primary().attributes() {
            // A key that was written with a mistake has been reported already.
            if entity.key(&attribute.name).is_none() && !written.contains(&attribute.name) {
                let message =
                    format!("entity `{name}` does not say what its key `{}` is", attribute.name);
                let problem = Diagnostic::error(Code::BadTemplate, entity.span, message)
                    .fix(Some(format!(
                        "add {} = \"{}#{{id}}\"",
                        attribute.name,
                        name.to_uppercase()
                    )))
                    .about(name);
                self.report(problem);
            }
        }
        for key in &entity.keys {
            let used = entity.table.indexes.iter().any(|index| {
                index.has_attribute(&key.attribute)
                    && (index.name.is_none() || entity.index_key(index).is_some())
            });
            let Some(index) = entity.table.indexes.iter().find(|i| i.has_attribute(&key.attribute))
            else {
                continue;
            };
            let missing: Vec<&str> = index
                .attributes()
                .map(|attribute| attribute.name.as_str())
                .filter(|attribute| entity.key(attribute).is_none())
                .filter(|attribute| !written.iter().any(|known| known == attribute))
                .collect();
            if !used && !key.shape.is_native() && !missing.is_empty() {
                let problem = Diagnostic::error(
                    Code::BadTemplate,
                    key.span,
                    format!(
                        "entity `{name}` writes `{}` but not `{}`",
                        key.attribute,
                        missing.join("`, `")
                    ),
                )
                .because(format!(
                    "an item without one of the key attributes is not in {}",
                    index.label()
                ))
                .fix(Some("add the missing key attribute, or drop this one".to_owned()))
                .about(name);
                self.report(problem);
            }
        }
    }
}

/// What an entity section may hold besides its key attributes.
const ENTITY_SETTINGS: [&str; 11] = [
    "table",
    "fields",
    "identity",
    "was",
    "count",
    "size",
    "max_size",
    "growth",
    "size_growth",
    "lives",
    "description",
];

fn role_of(table: &Table, attribute: &str) -> KeyRole {
    let sort =
        table.indexes.iter().any(|index| index.range.iter().any(|range| range.name == attribute));
    if sort { KeyRole::Sort } else { KeyRole::Partition }
}

fn fits(field: &Field, kind: KeyType) -> bool {
    let number = match &field.kind {
        FieldKind::Number | FieldKind::Shard(_) => true,
        FieldKind::Scalar(format) => format.kind().is_number(),
        _ => false,
    };
    match kind {
        KeyType::N => number,
        KeyType::B => field.kind == FieldKind::Binary,
        KeyType::S => match &field.kind {
            FieldKind::LooseTime => true,
            FieldKind::Scalar(format) => *format.kind() != FieldType::Bool && !number,
            _ => false,
        },
    }
}

fn native_fix(field: &Field, attribute: &KeyAttribute) -> String {
    if fits(field, KeyType::N) {
        return format!("declare the attribute as a number: \"{}:N\"", attribute.name);
    }
    if fits(field, KeyType::S) {
        return format!("declare the attribute as a text: \"{}\"", attribute.name);
    }
    "store it as a text such as \"yes\" / \"no\", or leave it out of the key".to_owned()
}

fn inline_field(name: &str, format: &FieldFormat, span: Span) -> Field {
    Field {
        name: name.to_owned(),
        was: None,
        span,
        kind: FieldKind::Scalar(format.clone().marked()),
        optional: false,
        key_only: false,
        immutable: false,
        sequential: false,
        distinct: None,
        top_share: None,
        present: None,
        max_bytes: None,
        size: None,
        since: None,
        until: None,
        max_items: None,
        item_size: None,
    }
}

/// The fields that are shard numbers, and how many shards each has.
fn shards_in(fields: &[Field]) -> Vec<(String, u32)> {
    let shards = fields.iter().filter_map(|field| match &field.kind {
        FieldKind::Shard(shards) => Some((field.name.clone(), shards.count)),
        _ => None,
    });
    shards.collect()
}
