//! From a [`Draft`] to a [`Design`]: names are looked up, templates and conditions parsed, and what
//! does not fit together is reported.

mod access;
mod ambiguity;
mod entity;
mod field;
mod literal;
mod relationship;
mod table;
mod when;
mod write;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub(crate) use self::literal::literal;
use crate::condition::ConditionError;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::draft::{AllowDraft, Draft};
use crate::lint;
use crate::model::{Allow, Design, Entity, Table};
use crate::source::{Source, Span, Spanned};
use crate::suggest::did_you_mean;

impl Draft {
    /// Checks a design built by code. The design is absent when an error makes it meaningless.
    pub fn resolve(self) -> (Option<Design>, Vec<Diagnostic>) {
        let (design, diagnostics) = resolve(self, Source::default());
        let usable = diagnostics.iter().all(|problem| problem.severity != Severity::Error);
        (Some(design).filter(|_| usable), diagnostics)
    }
}

/// What has been resolved so far, and what was wrong.
pub(crate) struct Resolver<'a> {
    source: &'a Source,
    tables: Vec<Arc<Table>>,
    entities: Vec<Arc<Entity>>,
    /// The attributes that indexes list, each with its table and index, until the entities are known.
    projected: Vec<(String, String, Spanned<String>)>,
    diagnostics: Vec<Diagnostic>,
}

pub(crate) fn resolve(draft: Draft, source: Source) -> (Design, Vec<Diagnostic>) {
    let mut resolver = Resolver {
        source: &source,
        tables: Vec::new(),
        entities: Vec::new(),
        projected: Vec::new(),
        diagnostics: Vec::new(),
    };
    resolver.refuse_twins(&draft);
    for table in draft.tables {
        resolver.table(table);
    }
    for entity in draft.entities {
        resolver.entity(entity);
    }
    resolver.check_projections();
    let mut accesses: Vec<_> =
        draft.accesses.into_iter().filter_map(|access| resolver.access(access)).collect();
    let writes = draft.writes.into_iter().filter_map(|write| resolver.write(write)).collect();
    let uniques = draft.uniques.into_iter().filter_map(|unique| resolver.unique(unique)).collect();
    let mut relationships = Vec::new();
    for draft in draft.relationships {
        if let Some((relationship, implied)) = resolver.relationship(draft) {
            relationships.push(relationship);
            accesses.extend(implied);
        }
    }
    let allows = draft.allows.into_iter().filter_map(|allow| resolver.allow(allow)).collect();
    let Resolver { tables, entities, diagnostics, .. } = resolver;
    let name = draft.name.map_or_else(|| design_name(&source), |name| name.value);
    let description = draft.description.map(|text| text.value).unwrap_or_default();
    let design = Design {
        identified: identified(&entities),
        source,
        name,
        description,
        tables,
        entities,
        accesses,
        writes,
        uniques,
        relationships,
        allows,
    };
    let design = sound_part(design, &diagnostics);
    (design, diagnostics)
}

/// The design without what is broken: entities without a whole primary key or in a table with an error, and
/// everything that speaks of them.
fn sound_part(mut design: Design, diagnostics: &[Diagnostic]) -> Design {
    let errors = diagnostics.iter().filter(|problem| problem.severity == Severity::Error);
    let broken: HashSet<&str> = errors.map(|problem| problem.subject.as_str()).collect();
    if broken.is_empty() {
        return design;
    }
    design.entities.retain(|entity| {
        let whole = entity.index_key(entity.table.primary()).is_some();
        whole && !broken.contains(entity.table.name.as_str())
    });
    let kept: HashSet<String> = design.entities.iter().map(|entity| entity.name.clone()).collect();
    let is_kept = |entity: &Arc<Entity>| kept.contains(&entity.name);
    design.accesses.retain(|access| access.via.iter().chain(&access.find).all(is_kept));
    design.writes.retain(|write| write.entities().all(is_kept));
    design.uniques.retain(|unique| is_kept(&unique.entity) && unique.by.iter().all(is_kept));
    design.relationships.retain(|relationship| {
        let ends = [&relationship.from, &relationship.to];
        ends.into_iter().chain(&relationship.through).all(is_kept)
    });
    design
}

fn identified(entities: &[Arc<Entity>]) -> HashMap<String, f64> {
    let mut counts: HashMap<String, f64> = HashMap::new();
    for entity in entities {
        if let ([field], Some(count)) = (entity.identity().as_slice(), entity.volume.count) {
            let known = counts.entry((*field).to_owned()).or_insert(count);
            *known = known.max(count);
        }
    }
    counts
}

/// The name of a design that states none: the file's, without folder and ending.
pub(crate) fn design_name(source: &Source) -> String {
    let file = source.name().rsplit(['/', '\\']).next().unwrap_or_default();
    file.strip_suffix(".toml").unwrap_or(file).to_owned()
}

impl Resolver<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Whether an error was reported after the first so many diagnostics.
    fn is_broken_since(&self, before: usize) -> bool {
        let mut later = self.diagnostics.iter().skip(before);
        later.any(|problem| problem.severity == Severity::Error)
    }

    fn entity_named(&mut self, name: &Spanned<String>, subject: &str) -> Option<Arc<Entity>> {
        let found = self.entities.iter().find(|entity| entity.name == name.value).cloned();
        if found.is_none() {
            let known: Vec<&str> = self.entities.iter().map(|e| e.name.as_str()).collect();
            let problem = Diagnostic::error(
                Code::UnknownName,
                name.span,
                format!("there is no entity `{}`", name.value),
            )
            .about(subject)
            .fix(did_you_mean(&name.value, known));
            self.report(problem);
        }
        found
    }

    /// Checks that an entity has a field.
    fn has_field(&mut self, entity: &Entity, name: &str, span: Span, subject: &str) -> bool {
        if entity.field(name).is_some() {
            return true;
        }
        let known: Vec<&str> = entity.fields.iter().map(|field| field.name.as_str()).collect();
        let message = format!("entity `{}` has no field `{name}`", entity.name);
        let problem = Diagnostic::error(Code::UnknownName, span, message)
            .about(subject)
            .fix(did_you_mean(name, known));
        self.report(problem);
        false
    }

    /// Reports what is wrong inside a text, at its place in the file.
    fn bad_condition(&mut self, error: ConditionError, text: &Spanned<String>, subject: &str) {
        let span = self.inside(text, error.span);
        let problem = Diagnostic::error(Code::BadCondition, span, error.message)
            .about(subject)
            .fix(error.fix);
        self.report(problem);
    }

    /// A place inside a quoted text, as a place in the file. With escapes in the text the two differ,
    /// and the whole text is meant.
    fn inside(&self, text: &Spanned<String>, part: Span) -> Span {
        let written = self.source.excerpt(text.span);
        let quote = ["\"\"\"", "'''", "\"", "'"].iter().find(|quote| written.starts_with(**quote));
        let Some(quote) = quote else { return text.span };
        let inner = written.get(quote.len()..).and_then(|rest| rest.strip_suffix(*quote));
        if inner != Some(text.value.as_str()) {
            return text.span;
        }
        let (start, end) = (part.start(), part.end().max(part.start() + 1));
        text.span.within(quote.len() + start, quote.len() + end)
    }

    fn refuse_twins(&mut self, draft: &Draft) {
        fn names<'a, T>(
            list: &'a [T],
            name: impl Fn(&'a T) -> &'a Spanned<String>,
        ) -> Vec<&'a Spanned<String>> {
            list.iter().map(name).collect()
        }
        for (what, list) in [
            ("table", names(&draft.tables, |table| &table.name)),
            ("entity", names(&draft.entities, |entity| &entity.name)),
            ("access pattern", names(&draft.accesses, |access| &access.name)),
            ("write", names(&draft.writes, |write| &write.name)),
        ] {
            let mut seen = HashSet::new();
            for name in list {
                if !seen.insert(name.value.as_str()) {
                    let message = format!("there are two {what} sections named `{}`", name.value);
                    self.report(Diagnostic::error(Code::BadValue, name.span, message));
                }
            }
        }
    }

    fn allow(&mut self, draft: AllowDraft) -> Option<Allow> {
        if lint::rule(&draft.rule.value).is_none() {
            let known = lint::RULES.iter().map(|rule| rule.id);
            let message = format!("there is no rule `{}`", draft.rule.value);
            let problem = Diagnostic::error(Code::UnknownName, draft.rule.span, message)
                .fix(did_you_mean(&draft.rule.value, known));
            self.report(problem);
            return None;
        }
        Some(Allow {
            span: draft.span,
            rule: draft.rule.value,
            subject: draft.subject.map(|subject| subject.value),
            reason: draft.reason.value,
        })
    }
}
