//! Field types.

use keyloom_keys::{FieldFormat, FieldType, FormatSpec, Timestamp};

use super::Resolver;
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::FieldDraft;
use crate::model::{Field, FieldKind, Shards};
use crate::source::Spanned;
use crate::suggest::did_you_mean;

/// Type names for "did you mean".
const TYPES: [&str; 25] = [
    "string",
    "token",
    "fixed",
    "u8",
    "u16",
    "u32",
    "u64",
    "i64",
    "decimal",
    "year",
    "month",
    "date",
    "hour",
    "datetime",
    "epoch_ms",
    "uuid",
    "ulid",
    "bool",
    "hex",
    "shard",
    "number",
    "binary",
    "list",
    "map",
    "string_set",
];

impl Resolver<'_> {
    pub(super) fn field(&mut self, draft: FieldDraft, entity: &str) -> Field {
        // After a mistake the field is taken for a text, so that one mistake is reported once.
        let kind = self
            .field_kind(&draft, entity)
            .unwrap_or_else(|| FieldKind::Scalar(FieldFormat::string()));
        let max_bytes = draft.max;
        let since = self.bound(draft.since.as_ref(), &kind, "since", entity);
        let until = self.bound(draft.until.as_ref(), &kind, "until", entity);
        if let (Some(from), Some(to), Some(text)) = (since, until, &draft.until)
            && to.last_millisecond().millis() < from.millis()
        {
            let message = format!("`{}` ends before it begins", draft.name.value);
            self.report(Diagnostic::error(Code::BadValue, text.span, message).about(entity));
        }
        self.check_belongs(&draft, &kind, entity);
        let field = Field {
            name: draft.name.value,
            was: draft.was.map(|was| was.value),
            span: draft.name.span,
            kind,
            optional: draft.optional || draft.present.is_some_and(|share| share < 1.0),
            key_only: draft.key_only,
            immutable: draft.immutable,
            sequential: draft.sequential,
            distinct: draft.distinct,
            top_share: draft.top_share,
            present: draft.present,
            max_bytes,
            size: draft.size,
            since,
            until,
            max_items: draft.max_items,
            item_size: draft.item_size,
        };
        self.check_values(&field, entity);
        field
    }

    /// What is said of a field must mean something for its type.
    fn check_belongs(&mut self, draft: &FieldDraft, kind: &FieldKind, entity: &str) {
        let counted = matches!(kind, FieldKind::List | FieldKind::TextSet | FieldKind::NumberSet);
        let decimal = matches!(kind, FieldKind::Scalar(format)
            if matches!(format.kind(), FieldType::Decimal { .. }));
        let rules = [
            (
                !counted && (draft.max_items.is_some() || draft.item_size.is_some()),
                "is no list or set, so that it has no `max_items` and no `item_size`",
                "bound a text by `max`, and an item by `max_size`",
            ),
            (
                !matches!(kind, FieldKind::Shard(_))
                    && draft.kind.value != "shard"
                    && (draft.shards.is_some() || !draft.shard_by.is_empty()),
                "is no shard, so that it has no `shards` and no `by`",
                "{ type = \"shard\", shards = 10 }",
            ),
            (
                !decimal && draft.scale.is_some(),
                "is no decimal, so that it has no `scale`",
                "{ type = \"decimal\", width = 10, scale = 2 }",
            ),
        ];
        for (_, message, fix) in rules.into_iter().filter(|(applies, ..)| *applies) {
            let message = format!("`{}` {message}", draft.name.value);
            let problem = Diagnostic::error(Code::BadValue, draft.kind.span, message);
            self.report(problem.fix(Some(fix.to_owned())).about(entity));
        }
    }

    /// Numbers of values and shares must be possible together.
    fn check_values(&mut self, field: &Field, entity: &str) {
        let name = &field.name;
        let message = if field.distinct.is_some_and(|distinct| distinct < 1.0) {
            format!("`{name}` has at least one value, so that `distinct` is 1 or more")
        } else if let (Some(top), Some(values)) = (field.top_share, field.cardinality())
            // Shares are rounded.
            && top * values < 0.9
        {
            format!(
                "the most frequent of {values} values of `{name}` has at least {:.3} % of the items",
                100.0 / values
            )
        } else {
            return;
        };
        self.report(Diagnostic::error(Code::BadValue, field.span, message).about(entity));
    }

    /// A time before or after which a field has no values.
    fn bound(
        &mut self,
        written: Option<&Spanned<String>>,
        kind: &FieldKind,
        word: &str,
        entity: &str,
    ) -> Option<Timestamp> {
        let text = written?;
        let is_time = matches!(kind, FieldKind::Scalar(format) if format.precision().is_some());
        let parsed = text.value.parse::<Timestamp>().ok();
        if parsed.is_none() || !is_time {
            let message = if is_time {
                format!("`{word}` must be a time such as \"2024-01-01\", not `{}`", text.value)
            } else {
                format!("`{word}` is for fields of a time type, such as date or datetime")
            };
            self.report(Diagnostic::error(Code::BadValue, text.span, message).about(entity));
        }
        parsed.filter(|_| is_time)
    }

    fn field_kind(&mut self, draft: &FieldDraft, entity: &str) -> Option<FieldKind> {
        let name = draft.kind.as_str();
        let kind = match name {
            "datetime:loose" => FieldKind::LooseTime,
            "number" => FieldKind::Number,
            "binary" => FieldKind::Binary,
            "list" => FieldKind::List,
            "map" => FieldKind::Map,
            "string_set" => FieldKind::TextSet,
            "number_set" => FieldKind::NumberSet,
            "shard" => return self.shard(draft, entity),
            _ => return self.scalar(draft, entity).map(FieldKind::Scalar),
        };
        Some(kind)
    }

    fn shard(&mut self, draft: &FieldDraft, entity: &str) -> Option<FieldKind> {
        let Some(count) = draft.shards else {
            let problem = Diagnostic::error(
                Code::BadValue,
                draft.kind.span,
                format!("field `{}` does not say how many shards there are", draft.name.value),
            )
            .fix(Some("write { type = \"shard\", shards = 10 }".to_owned()))
            .about(entity);
            self.report(problem);
            return None;
        };
        let by = draft.shard_by.iter().map(|field| field.value.clone()).collect();
        Some(FieldKind::Shard(Shards { count: count as u32, by }))
    }

    fn scalar(&mut self, draft: &FieldDraft, entity: &str) -> Option<FieldFormat> {
        let mut type_name = draft.kind.value.clone();
        if type_name == "decimal" {
            type_name =
                format!("decimal:{}.{}", draft.width.unwrap_or(18), draft.scale.unwrap_or(2));
        }
        let text = FieldFormat::parse(&type_name)
            .is_ok_and(|format| matches!(format.kind(), FieldType::String | FieldType::Token));
        let values: Vec<String> = draft.values.iter().map(|value| value.value.clone()).collect();
        let listed = !values.is_empty();
        let spec = FormatSpec {
            width: if draft.kind.value == "decimal" {
                None
            } else {
                draft.width.map(|n| n as usize)
            },
            plain: draft.plain,
            max_bytes: if text && !listed { draft.max.map(|n| n as usize) } else { None },
            values: listed.then_some(values),
            desc: draft.desc,
            ..FormatSpec::new(type_name)
        };
        match spec.build() {
            Ok(format) if format.is_compact() => {
                let marked = format.clone().marked();
                let message = format!(
                    "field `{}` is stored with its marks; `compact` is for keys",
                    draft.name.value
                );
                let problem =
                    Diagnostic::error(Code::BadValue, draft.kind.span, message).fix(Some(format!(
                        "declare it as {:?}, and write it compact in the key: {{{}:{}}}",
                        marked.to_string(),
                        draft.name.value,
                        format
                    )));
                self.report(problem.about(entity));
                Some(marked)
            }
            Ok(format) => Some(format),
            Err(error) => {
                let name = draft.kind.value.split(':').next().unwrap_or_default();
                let fix = if TYPES.contains(&name) { None } else { did_you_mean(name, TYPES) };
                // The list of all types says nothing more once the right one is named.
                let reason = match (&fix, error.reason().split_once(';')) {
                    (Some(_), Some((first, _))) => first,
                    _ => error.reason(),
                };
                let message = format!(
                    "field `{}` cannot have the type `{}`: {reason}",
                    draft.name.value, draft.kind.value
                );
                let problem = Diagnostic::error(Code::BadValue, draft.kind.span, message);
                self.report(problem.fix(fix).about(entity));
                None
            }
        }
    }
}
