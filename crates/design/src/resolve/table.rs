//! Tables and indexes.

use std::sync::Arc;

use keyloom_core::limits;

use super::Resolver;
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::{IndexDraft, ProjectionDraft, TableDraft};
use crate::model::{Escape, Index, IndexKind, KeyAttribute, KeyType, Projection, Table};
use crate::source::{Span, Spanned};
use crate::suggest::did_you_mean;

impl Resolver<'_> {
    pub(super) fn table(&mut self, draft: TableDraft) {
        let subject = draft.name.value.clone();
        self.check_name(&draft.name, "table");
        let primary = self.primary(&draft);
        let mut indexes = vec![primary];
        for index in &draft.indexes {
            let index = self.index(index, &indexes, &subject);
            indexes.push(index);
        }
        self.check_attribute_types(&indexes, &subject);
        self.check_index_counts(&draft);
        let escape = self.escape(draft.escape.as_ref(), &subject);
        self.tables.push(Arc::new(Table {
            name: draft.name.value,
            span: draft.name.span,
            indexes,
            ttl: draft.ttl.map(|text| text.value),
            billing: draft.billing,
            stream: draft.stream,
            class: draft.class,
            type_attribute: draft.type_attribute.map(|text| text.value),
            tenant: draft.tenant.map(|text| text.value),
            separator: draft.separator.map_or_else(|| "#".to_owned(), |text| text.value),
            escape,
        }));
    }

    fn primary(&mut self, draft: &TableDraft) -> Index {
        for (what, list) in [("partition", &draft.partition_key), ("sort", &draft.sort_key)] {
            if let [_, second, ..] = list.as_slice() {
                let problem = Diagnostic::error(
                    Code::BadValue,
                    second.span,
                    format!("a table has one {what} key attribute"),
                )
                .because("keys of several attributes exist in global secondary indexes only")
                .fix(Some(format!(
                    "join the fields in one key template, or move the list into an index of `{}`",
                    draft.name.value
                )))
                .about(draft.name.value.clone());
                self.report(problem);
            }
        }
        Index {
            name: None,
            span: draft.name.span,
            kind: IndexKind::Primary,
            hash: self.attributes(draft.partition_key.get(..1).unwrap_or_default()),
            range: self.attributes(draft.sort_key.get(..1).unwrap_or_default()),
            projection: Projection::All,
        }
    }

    fn index(&mut self, draft: &IndexDraft, so_far: &[Index], table: &str) -> Index {
        self.check_name(&draft.name, "index");
        let label = format!("{table}.{}", draft.name.value);
        let mut hash = self.attributes(&draft.partition_key);
        let range = self.attributes(&draft.sort_key);
        let (kind, most) = if draft.local { (IndexKind::Local, 1) } else { (IndexKind::Global, 4) };
        if draft.local {
            let own = so_far.first().map(|primary| primary.hash.clone()).unwrap_or_default();
            let same =
                hash.is_empty() || hash.iter().map(|a| &a.name).eq(own.iter().map(|a| &a.name));
            if !same {
                let span = draft.partition_key.first().map_or(draft.name.span, |name| name.span);
                let problem = Diagnostic::error(
                    Code::BadValue,
                    span,
                    "a local index has the table's partition key",
                )
                .fix(Some("leave `partition_key` out, or drop `local = true`".to_owned()))
                .about(label.clone());
                self.report(problem);
            }
            hash = own;
            if range.is_empty() {
                let message = "a local index needs a `sort_key` of its own";
                let problem = Diagnostic::error(Code::BadValue, draft.name.span, message);
                self.report(problem.about(label.clone()));
            }
        }
        self.check_lists(&hash, &range, most, draft.name.span, &label);
        let projection = self.projection(draft, table, &label);
        let name = Some(draft.name.value.clone());
        Index { name, span: draft.name.span, kind, hash, range, projection }
    }

    fn check_lists(
        &mut self,
        hash: &[KeyAttribute],
        range: &[KeyAttribute],
        most: usize,
        span: Span,
        subject: &str,
    ) {
        for (what, list) in [("partition", hash), ("sort", range)] {
            if list.len() > most {
                let message = format!("an index has at most {most} {what} key attributes here");
                self.report(Diagnostic::error(Code::BadValue, span, message).about(subject));
            }
        }
        let mut names: Vec<&str> = hash.iter().chain(range).map(|a| a.name.as_str()).collect();
        names.sort_unstable();
        if let Some([twice, _]) = names.array_windows::<2>().find(|[a, b]| a == b) {
            let message = format!("`{twice}` is listed twice in one key");
            self.report(Diagnostic::error(Code::BadValue, span, message).about(subject));
        }
    }

    fn projection(&mut self, draft: &IndexDraft, table: &str, subject: &str) -> Projection {
        match &draft.projection {
            ProjectionDraft::All => Projection::All,
            ProjectionDraft::Keys => Projection::Keys,
            ProjectionDraft::Include(names) => {
                if names.len() > limits::MAX_PROJECTED_ATTRIBUTES_PER_INDEX {
                    let most = limits::MAX_PROJECTED_ATTRIBUTES_PER_INDEX;
                    let message = format!("an index can list at most {most} attributes");
                    let problem = Diagnostic::error(Code::BadValue, draft.name.span, message)
                        .fix(Some("project \"all\", or fewer attributes".to_owned()))
                        .about(subject);
                    self.report(problem);
                }
                let listed = names.iter();
                self.projected.extend(
                    listed.map(|name| (table.to_owned(), subject.to_owned(), name.clone())),
                );
                Projection::Include(names.iter().map(|name| name.value.clone()).collect())
            }
        }
    }

    /// What an index lists must be an attribute that some item of the table has.
    pub(super) fn check_projections(&mut self) {
        for (table, index, name) in std::mem::take(&mut self.projected) {
            let Some(table) = self.tables.iter().find(|known| known.name == table) else {
                continue;
            };
            let entities = self.entities.iter().filter(|entity| entity.table.name == table.name);
            // An entity with a mistake may lack a field that its template declares.
            let broken = entities.clone().any(|entity| {
                self.diagnostics.iter().any(|problem| problem.subject == entity.name)
            });
            let fields = entities.clone().flat_map(|entity| &entity.fields);
            let stored = fields.filter(|field| field.is_stored()).map(|field| field.name.as_str());
            let keys = table.indexes.iter().flat_map(Index::attributes);
            let keys = keys.map(|attribute| attribute.name.as_str());
            let settings = table.ttl.iter().chain(&table.type_attribute).map(String::as_str);
            let known: Vec<&str> = stored.chain(keys).chain(settings).collect();
            if broken || entities.count() == 0 || known.contains(&name.as_str()) {
                continue;
            }
            let message =
                format!("no item of table `{}` has an attribute `{}`", table.name, name.value);
            let problem = Diagnostic::error(Code::UnknownName, name.span, message)
                .because("the index would be without it, and nothing would say so")
                .fix(did_you_mean(&name.value, known));
            self.report(problem.about(index));
        }
    }

    /// `PK`, `PK:N` or `PK:B`.
    fn attributes(&mut self, names: &[Spanned<String>]) -> Vec<KeyAttribute> {
        let mut attributes = Vec::with_capacity(names.len());
        for written in names {
            let (name, kind) = match written.value.rsplit_once(':') {
                None => (written.as_str(), KeyType::S),
                Some((name, "S")) => (name, KeyType::S),
                Some((name, "N")) => (name, KeyType::N),
                Some((name, "B")) => (name, KeyType::B),
                Some((name, other)) => {
                    let problem = Diagnostic::error(
                        Code::BadValue,
                        written.span,
                        format!("`{other}` is not a type of key attribute"),
                    )
                    .because("keys are S (text), N (number) or B (binary); BOOL cannot be a key");
                    self.report(problem);
                    (name, KeyType::S)
                }
            };
            attributes.push(KeyAttribute { name: name.to_owned(), kind, span: written.span });
        }
        attributes
    }

    /// One attribute has one type, in whatever index it is used.
    fn check_attribute_types(&mut self, indexes: &[Index], subject: &str) {
        let mut seen: Vec<&KeyAttribute> = Vec::new();
        for attribute in indexes.iter().flat_map(Index::attributes) {
            match seen.iter().find(|known| known.name == attribute.name) {
                Some(known) if known.kind != attribute.kind => {
                    let message = format!(
                        "`{}` is {} here and {} elsewhere in the table",
                        attribute.name,
                        attribute.kind.as_str(),
                        known.kind.as_str()
                    );
                    let problem = Diagnostic::error(Code::BadValue, attribute.span, message);
                    self.report(problem.about(subject));
                }
                Some(_) => {}
                None => seen.push(attribute),
            }
        }
    }

    fn check_index_counts(&mut self, draft: &TableDraft) {
        let local = draft.indexes.iter().filter(|index| index.local).count();
        if local > limits::MAX_LOCAL_INDEXES {
            let message =
                format!("a table has at most {} local indexes", limits::MAX_LOCAL_INDEXES);
            let problem = Diagnostic::error(Code::BadValue, draft.name.span, message);
            self.report(problem.about(draft.name.value.clone()));
        }
        if local > 0 && draft.sort_key.is_empty() {
            let message = "local indexes need a table with a sort key";
            let problem = Diagnostic::error(Code::BadValue, draft.name.span, message);
            self.report(problem.about(draft.name.value.clone()));
        }
    }

    fn escape(&mut self, written: Option<&Spanned<String>>, subject: &str) -> Escape {
        let Some(text) = written else { return Escape::Reject };
        match text.as_str() {
            "reject" => Escape::Reject,
            "percent" => Escape::Percent,
            "order" => Escape::Ordered,
            "none" => Escape::None,
            other => {
                let problem = Diagnostic::error(
                    Code::BadValue,
                    text.span,
                    format!("`{other}` is not a way to escape separators"),
                )
                .fix(Some("use \"reject\", \"percent\", \"order\" or \"none\"".to_owned()))
                .about(subject);
                self.report(problem);
                Escape::Reject
            }
        }
    }

    fn check_name(&mut self, name: &Spanned<String>, what: &str) {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let length = limits::MIN_TABLE_NAME_CHARS..=limits::MAX_TABLE_NAME_CHARS;
        if length.contains(&name.value.len()) && name.value.chars().all(legal) {
            return;
        }
        let problem = Diagnostic::error(
            Code::BadValue,
            name.span,
            format!(
                "`{}` cannot be the name of {} {what}",
                name.value,
                if what.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
            ),
        )
        .because("DynamoDB allows 3 to 255 of the characters A-Z a-z 0-9 _ - .");
        self.report(problem);
    }
}
