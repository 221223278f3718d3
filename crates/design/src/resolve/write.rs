//! Writes and uniqueness rules.

use std::sync::Arc;

use keyloom_core::limits;

use super::Resolver;
use crate::cost::item_size;
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::{UniqueDraft, WriteDraft};
use crate::lint::{changed_fields, short_bytes, written_attributes};
use crate::model::{Entity, FieldKind, Member, UniqueRule, UpdateExpression, Write, WriteKind};
use crate::source::{Span, Spanned};
use crate::suggest::did_you_mean;

impl Resolver<'_> {
    pub(super) fn write(&mut self, draft: WriteDraft) -> Option<Write> {
        let name = draft.name.value.clone();
        let entities: Vec<Arc<Entity>> =
            draft.entities.iter().filter_map(|entity| self.entity_named(entity, &name)).collect();
        let kind = self.write_kind(&draft.kind, &name)?;
        if kind == WriteKind::Check {
            let message = "only a member of a transaction checks";
            let problem = Diagnostic::error(Code::BadValue, draft.kind.span, message)
                .fix(Some("kind = \"transact\", kinds = { … = \"check\" }".to_owned()));
            self.report(problem.about(name.clone()));
            return None;
        }
        if entities.is_empty() || entities.len() != draft.entities.len() {
            return None;
        }
        let members = self.members(entities, kind, &draft, &name)?;
        self.check_fields(&members, &draft, &name);
        let mut given: Vec<String> = draft.given.into_iter().map(|field| field.value).collect();
        if given.is_empty() {
            let identity = members.iter().flat_map(|member| member.entity.identity());
            given = identity.map(str::to_owned).collect();
        }
        given.extend(draft.sets.iter().map(|field| field.value.clone()));
        given.sort_unstable();
        given.dedup();
        let names =
            draft.names.into_iter().map(|(short, long)| (short.value, long.value)).collect();
        let write = Write {
            name,
            span: draft.name.span,
            members,
            kind,
            items: draft.items.unwrap_or(1),
            appends: draft.appends,
            sets: draft.sets,
            given,
            rate: draft.rate,
            reads_first: draft.reads_first,
            expression: draft.expression.map(|text| UpdateExpression { text, names }),
            description: draft.description.map(|text| text.value).unwrap_or_default(),
        };
        self.check_transaction(&write);
        self.check_expression(&write);
        self.check_immutable(&write);
        Some(write)
    }

    /// The entities with what is done to each; `kinds` says it for single ones.
    fn members(
        &mut self,
        entities: Vec<Arc<Entity>>,
        kind: WriteKind,
        draft: &WriteDraft,
        name: &str,
    ) -> Option<Vec<Member>> {
        let mut members: Vec<Member> =
            entities.into_iter().map(|entity| Member { entity, kind }).collect();
        for (entity, word) in &draft.kinds {
            let own = self.write_kind(word, name)?;
            let problem = match members.iter_mut().find(|m| m.entity.name == entity.value) {
                _ if kind != WriteKind::Transact => {
                    Diagnostic::error(Code::BadValue, entity.span, "`kinds` is for transactions")
                        .because("outside of one, each kind of write is a write of its own")
                        .fix(Some("kind = \"transact\"".to_owned()))
                }
                _ if own == WriteKind::Transact => {
                    let message = "a member of a transaction is no transaction";
                    Diagnostic::error(Code::BadValue, word.span, message)
                        .fix(Some("use put, create, update, delete or check".to_owned()))
                }
                None => {
                    let message = format!("`{name}` does not write `{}`", entity.value);
                    let known = draft.entities.iter().map(|known| known.value.as_str());
                    Diagnostic::error(Code::UnknownName, entity.span, message)
                        .fix(did_you_mean(&entity.value, known))
                }
                Some(member) => {
                    member.kind = own;
                    continue;
                }
            };
            self.report(problem.about(name));
            return None;
        }
        Some(members)
    }

    /// Fields must be fields of what is updated; lists that grow must be lists.
    fn check_fields(&mut self, members: &[Member], draft: &WriteDraft, name: &str) {
        let updates = |member: &&Member| {
            draft.kinds.is_empty() || matches!(member.kind, WriteKind::Update | WriteKind::Transact)
        };
        for field in draft.sets.iter().chain(&draft.appends) {
            for member in members.iter().filter(updates) {
                self.has_field(&member.entity, &field.value, field.span, name);
            }
        }
        for field in &draft.given {
            let known = members.iter().any(|member| member.entity.field(&field.value).is_some());
            if let (false, Some(member)) = (known, members.first()) {
                self.has_field(&member.entity, &field.value, field.span, name);
            }
        }
        for field in &draft.appends {
            let is_list = |member: &Member| {
                member.entity.field(&field.value).is_none_or(|field| {
                    let kind = &field.kind;
                    matches!(kind, FieldKind::List | FieldKind::TextSet | FieldKind::NumberSet)
                })
            };
            if !members.iter().all(is_list) {
                let message = format!("`{}` is no list or set, and cannot grow", field.value);
                let problem = Diagnostic::error(Code::BadValue, field.span, message)
                    .fix(Some("name it in `sets`".to_owned()));
                self.report(problem.about(name));
            }
        }
    }

    /// A hand-written expression must be one, and write what the item has.
    fn check_expression(&mut self, write: &Write) {
        let Some(expression) = &write.expression else { return };
        let span = expression.text.span;
        let (written, nameless) = match written_attributes(expression) {
            Ok(names) => names,
            Err(reason) => {
                let message = format!("the expression of `{}` is none", write.name);
                let problem = Diagnostic::error(Code::BadValue, span, message)
                    .because(format!("DynamoDB answers: Invalid UpdateExpression: {reason}"))
                    .fix(Some("SET, ADD, REMOVE or DELETE, as in \"ADD visits :one\"".to_owned()));
                self.report(problem.about(write.name.clone()));
                return;
            }
        };
        for alias in nameless {
            let message = format!("`{alias}` in the expression of `{}` has no name", write.name);
            let problem = Diagnostic::error(Code::UnknownName, span, message)
                .fix(Some(format!("names = {{ \"{alias}\" = \"…\" }}")));
            self.report(problem.about(write.name.clone()));
        }
        for name in written {
            let has = |entity: &Entity| {
                let table = &entity.table;
                entity.field(&name).is_some()
                    || [&table.type_attribute, &table.ttl].contains(&&Some(name.clone()))
                    || table.key_attributes().iter().any(|key| key.name == name)
            };
            if !write.entities().any(|entity| has(entity))
                && let Some(member) = write.members.first()
            {
                self.has_field(&Arc::clone(&member.entity), &name, span, &write.name);
            }
        }
    }

    /// What an update sets, makes longer or removes must be allowed to change.
    fn check_immutable(&mut self, write: &Write) {
        let listed = write.sets.iter().chain(&write.appends);
        let mut changed: Vec<(String, Span)> =
            listed.map(|field| (field.value.clone(), field.span)).collect();
        if let Some(expression) = &write.expression {
            let fields = changed_fields(expression).into_iter();
            changed.extend(fields.map(|field| (field, expression.text.span)));
        }
        let updated: Vec<&Arc<Entity>> = write
            .members
            .iter()
            .filter(|member| matches!(member.kind, WriteKind::Update | WriteKind::Transact))
            .map(|member| &member.entity)
            .collect();
        for (name, span) in changed {
            let keeps = |entity: &&&Arc<Entity>| entity.field(&name).is_some_and(|f| f.immutable);
            let Some(entity) = updated.iter().find(keeps) else { continue };
            let message = format!(
                "`{}` changes `{name}` of entity `{}`, which is immutable",
                write.name, entity.name
            );
            let problem = Diagnostic::error(Code::BadValue, span, message)
                .because("an immutable field never changes once it is written")
                .fix(Some(format!(
                    "keep `{name}` out of the update, or take `immutable` from the field; to write it once, \
                     use an expression with if_not_exists({name}, …)"
                )));
            self.report(problem.about(write.name.clone()));
        }
    }

    /// DynamoDB takes 100 items and 4 MB in one transaction.
    fn check_transaction(&mut self, write: &Write) {
        if write.kind != WriteKind::Transact {
            return;
        }
        let actions = write.members.len() as u64 * write.items;
        let bytes: f64 =
            write.entities().map(|entity| item_size(entity)).sum::<f64>() * write.items as f64;
        let message = if actions > limits::MAX_TRANSACTION_ACTIONS as u64 {
            format!(
                "`{}` writes {actions} items, and a transaction takes {}",
                write.name,
                limits::MAX_TRANSACTION_ACTIONS
            )
        } else if bytes > limits::MAX_TRANSACTION_BYTES as f64 {
            format!("`{}` writes {}, and a transaction takes 4 MB", write.name, short_bytes(bytes))
        } else {
            return;
        };
        let problem = Diagnostic::error(Code::BadValue, write.span, message)
            .because("DynamoDB refuses the whole request")
            .fix(Some(
                "write less in one transaction, and let each be complete in itself".to_owned(),
            ));
        self.report(problem.about(write.name.clone()));
    }

    fn write_kind(&mut self, word: &Spanned<String>, subject: &str) -> Option<WriteKind> {
        const KINDS: [WriteKind; 6] = [
            WriteKind::Put,
            WriteKind::Create,
            WriteKind::Update,
            WriteKind::Delete,
            WriteKind::Transact,
            WriteKind::Check,
        ];
        let found = KINDS.into_iter().find(|kind| kind.as_str() == word.value);
        if found.is_none() {
            let message = format!("`{}` is not a kind of write", word.value);
            let problem = Diagnostic::error(Code::BadValue, word.span, message)
                .fix(did_you_mean(&word.value, KINDS.iter().map(|kind| kind.as_str())))
                .about(subject);
            self.report(problem);
        }
        found
    }

    pub(super) fn unique(&mut self, draft: UniqueDraft) -> Option<UniqueRule> {
        let name = draft.name.value;
        let entity = self.entity_named(&draft.entity?, &name)?;
        let by = match &draft.by {
            Some(by) => Some(self.entity_named(by, &name)?),
            None => None,
        };
        for field in &draft.fields {
            self.has_field(&entity, &field.value, field.span, &name);
        }
        let fields = draft.fields.into_iter().map(|field| field.value).collect();
        Some(UniqueRule { name, span: draft.name.span, entity, fields, by })
    }
}
