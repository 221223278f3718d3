//! `[write.…]`, `[unique.…]` and `[relationship.…]`.

use super::quantity::rate;
use super::section::Section;
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::{RelationshipDraft, UniqueDraft, WriteDraft};

pub(crate) fn read(mut section: Section) -> WriteDraft {
    let mut write = WriteDraft::at(section.name());
    write.entities = section.texts("entity");
    if write.entities.is_empty() {
        let message = format!("`entity` is missing in {}", section.path());
        let several = "say what is written: entity = \"Order\", or for several in one transaction entity = [\"Order\", \"Stock\"], kind = \"transact\", kinds = { Order = \"create\", Stock = \"update\" }";
        let problem = Diagnostic::error(Code::BadValue, section.span(), message);
        section.error(problem.fix(several.to_owned()));
    }
    if let Some(kind) = section.text("kind") {
        write.kind = kind;
    }
    write.sets = section.texts("sets");
    write.given = section.texts("given");
    write.appends = section.texts("appends");
    write.items = section.integer("items", 1..=1_000_000);
    if let Some(mut kinds) = section.section("kinds") {
        write.kinds = kinds
            .rest()
            .into_iter()
            .filter_map(|(entity, value)| {
                let kind = kinds.text_of(&entity.value, value)?;
                Some((entity, kind))
            })
            .collect();
    }
    write.rate = rate(&mut section, "rate");
    write.reads_first = section.boolean("reads_first").unwrap_or(false);
    write.expression = section.text("expression");
    if let Some(mut names) = section.section("names") {
        write.names = names
            .rest()
            .into_iter()
            .filter_map(|(name, value)| {
                let text = names.text_of(&name.value, value)?;
                Some((name, text))
            })
            .collect();
    }
    write.description = section.text("description");
    section.finish();
    write
}

pub(crate) fn read_unique(mut section: Section) -> UniqueDraft {
    let unique = UniqueDraft {
        name: section.name(),
        entity: section.required_text("entity"),
        fields: section.texts("fields"),
        by: section.text("by"),
    };
    if unique.fields.is_empty() {
        section.missing("fields");
    }
    section.finish();
    unique
}

pub(crate) fn read_relationship(mut section: Section) -> RelationshipDraft {
    let relationship = RelationshipDraft {
        name: section.name(),
        from: section.required_text("from"),
        to: section.required_text("to"),
        kind: section.text("kind"),
        through: section.text("through"),
        on: section.texts("on"),
        direction: section.text("direction"),
    };
    section.finish();
    relationship
}
