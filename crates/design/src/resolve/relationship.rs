//! Relationships. Each direction that is asked for becomes an access pattern of its own.

use std::sync::Arc;

use super::Resolver;
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::{AccessDraft, RelationshipDraft};
use crate::model::{Access, Entity, Relationship, RelationshipKind};
use crate::source::{Span, Spanned};
use crate::suggest::did_you_mean;

impl Resolver<'_> {
    pub(super) fn relationship(
        &mut self,
        draft: RelationshipDraft,
    ) -> Option<(Relationship, Vec<Access>)> {
        let name = draft.name.value.clone();
        let from = self.entity_named(draft.from.as_ref()?, &name)?;
        let to = self.entity_named(draft.to.as_ref()?, &name)?;
        let through = match &draft.through {
            Some(through) => Some(self.entity_named(through, &name)?),
            None => None,
        };
        let kind = self.relationship_kind(&draft, through.is_some())?;
        let on: Vec<String> = if draft.on.is_empty() {
            from.identity().into_iter().map(str::to_owned).collect()
        } else {
            draft.on.iter().map(|field| field.value.clone()).collect()
        };
        let span = draft.on.first().map_or(draft.name.span, |field| field.span);
        let (forward, backward) = self.directions(&draft)?;
        let mut implied = Vec::new();
        let other = through.as_ref().unwrap_or(&to);
        if forward {
            let label = format!("{name}: {} to {}", from.name, to.name);
            implied.extend(self.implied(&label, other, &on, span, &name));
        }
        if backward {
            let label = format!("{name}: {} to {}", to.name, from.name);
            // Back through the link items, or from the shared fields to the one side itself.
            let (target, known) = through.as_ref().map_or((&from, &from), |link| (link, &to));
            let on: Vec<String> = known.identity().into_iter().map(str::to_owned).collect();
            implied.extend(self.implied(&label, target, &on, span, &name));
        }
        let relationship = Relationship { name, span: draft.name.span, from, to, kind, through };
        Some((relationship, implied))
    }

    /// "All of these that share the fields", planned like any other pattern.
    fn implied(
        &mut self,
        label: &str,
        target: &Arc<Entity>,
        on: &[String],
        span: Span,
        relationship: &str,
    ) -> Option<Access> {
        for field in on {
            if !self.has_field(target, field, span, relationship) {
                return None;
            }
        }
        let condition: Vec<String> = on.iter().map(|field| format!("{field} = ?")).collect();
        let mut draft = AccessDraft::at(Spanned::new(label.to_owned(), span));
        draft.find = vec![Spanned::new(target.name.clone(), span)];
        draft.condition = Some(Spanned::new(condition.join(" and "), Span::NONE));
        draft.all_pages = true;
        let mut access = self.access(draft)?;
        access.implied_by = Some(relationship.to_owned());
        Some(access)
    }

    fn relationship_kind(
        &mut self,
        draft: &RelationshipDraft,
        linked: bool,
    ) -> Option<RelationshipKind> {
        let kinds = [
            ("one-to-one", RelationshipKind::OneToOne),
            ("one-to-many", RelationshipKind::OneToMany),
            ("many-to-many", RelationshipKind::ManyToMany),
        ];
        let Some(text) = &draft.kind else {
            return Some(if linked {
                RelationshipKind::ManyToMany
            } else {
                RelationshipKind::OneToMany
            });
        };
        let found = kinds.iter().find(|(name, _)| *name == text.value).map(|&(_, kind)| kind);
        let problem = match found {
            None => Diagnostic::error(
                Code::BadValue,
                text.span,
                format!("`{}` is not a kind of relationship", text.value),
            )
            .fix(did_you_mean(&text.value, kinds.iter().map(|&(name, _)| name))),
            Some(RelationshipKind::ManyToMany) if !linked => Diagnostic::error(
                Code::BadValue,
                text.span,
                "a many-to-many relationship needs link items",
            )
            .because("an attribute of either side holds one link; many of both take an item for each pair")
            .fix(Some("name their entity: through = \"Membership\"".to_owned())),
            Some(kind) => return Some(kind),
        };
        self.report(problem.about(draft.name.value.clone()));
        None
    }

    fn directions(&mut self, draft: &RelationshipDraft) -> Option<(bool, bool)> {
        let Some(text) = &draft.direction else { return Some((true, true)) };
        match text.as_str() {
            "both" => Some((true, true)),
            "forward" => Some((true, false)),
            "backward" => Some((false, true)),
            other => {
                let problem = Diagnostic::error(
                    Code::BadValue,
                    text.span,
                    format!("`{other}` is not a direction"),
                )
                .fix(did_you_mean(other, ["both", "forward", "backward"]))
                .about(draft.name.value.clone());
                self.report(problem);
                None
            }
        }
    }
}
