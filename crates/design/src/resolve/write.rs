//! Writes and uniqueness rules.

use std::sync::Arc;

use super::Resolver;
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::{UniqueDraft, WriteDraft};
use crate::model::{Entity, UniqueRule, UpdateExpression, Write, WriteKind};
use crate::suggest::did_you_mean;

impl Resolver<'_> {
    pub(super) fn write(&mut self, draft: WriteDraft) -> Option<Write> {
        let name = draft.name.value.clone();
        let entities: Vec<Arc<Entity>> =
            draft.entities.iter().filter_map(|entity| self.entity_named(entity, &name)).collect();
        let kind = self.write_kind(&draft)?;
        if entities.is_empty() || entities.len() != draft.entities.len() {
            return None;
        }
        for field in draft.sets.iter().chain(&draft.given) {
            for entity in &entities {
                self.has_field(entity, &field.value, field.span, &name);
            }
        }
        let mut given: Vec<String> = draft.given.into_iter().map(|field| field.value).collect();
        if given.is_empty() {
            let identity = entities.iter().flat_map(|entity| entity.identity());
            given = identity.map(str::to_owned).collect();
        }
        given.extend(draft.sets.iter().map(|field| field.value.clone()));
        given.sort_unstable();
        given.dedup();
        let names =
            draft.names.into_iter().map(|(short, long)| (short.value, long.value)).collect();
        Some(Write {
            name,
            span: draft.name.span,
            entities,
            kind,
            sets: draft.sets,
            given,
            rate: draft.rate,
            reads_first: draft.reads_first,
            expression: draft.expression.map(|text| UpdateExpression { text, names }),
            description: draft.description.map(|text| text.value).unwrap_or_default(),
        })
    }

    fn write_kind(&mut self, draft: &WriteDraft) -> Option<WriteKind> {
        const KINDS: [WriteKind; 5] = [
            WriteKind::Put,
            WriteKind::Create,
            WriteKind::Update,
            WriteKind::Delete,
            WriteKind::Transact,
        ];
        let found = KINDS.into_iter().find(|kind| kind.as_str() == draft.kind.value);
        if found.is_none() {
            let message = format!("`{}` is not a kind of write", draft.kind.value);
            let problem = Diagnostic::error(Code::BadValue, draft.kind.span, message)
                .fix(did_you_mean(&draft.kind.value, KINDS.iter().map(|kind| kind.as_str())))
                .about(draft.name.value.clone());
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
