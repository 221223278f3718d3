//! What can be said about a template without any data.

use keyloom_design::counted;
use keyloom_design::key::visible;
use keyloom_keys::{
    Lengths, MAX_PARTITION_KEY_BYTES, MAX_SORT_KEY_BYTES, Order, Relation, SeparatorPolicy,
    Template,
};
use serde_json::{Value, json};

use super::show;
use crate::output::{Failure, Output};

/// The description of a template.
pub(super) struct Description<'t> {
    template: &'t Template,
    order: Order,
    example: Option<String>,
    /// Other templates and how this one relates to them.
    relations: Vec<(&'t Template, Relation)>,
}

impl<'t> Description<'t> {
    pub(super) fn new(template: &'t Template, others: &'t [Template]) -> Self {
        Description {
            template,
            order: template.order(),
            example: template.example(),
            relations: others.iter().map(|other| (other, template.relation(other))).collect(),
        }
    }

    pub(super) fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let template = self.template;
        let lengths = template.lengths();
        let mut rows = vec![
            ("template", template.text().to_owned()),
            ("separator", format!("{} ({})", visible(template.separator()), policy(template))),
        ];
        rows.extend(template.fields().map(|field| {
            let format = field.format();
            ("field", format!("{} {format} ({})", field.name(), bytes(format.lengths())))
        }));
        rows.push(("length", format!("{}; {}", bytes(lengths), fits(lengths))));
        rows.push(("order", self.order_in_words()));
        rows.push(("example", self.example.as_deref().map(visible).unwrap_or_default()));
        rows.extend(self.confusions().into_iter().map(|confusion| ("confusable", confusion)));
        rows.extend(
            self.relations.iter().map(|(other, relation)| ("against", in_words(other, relation))),
        );
        show::table(rows.iter().map(|(name, value)| (*name, value.as_str())), output)
    }

    pub(super) fn json(&self) -> Value {
        let fields: Vec<Value> = self
            .template
            .fields()
            .map(|field| {
                let format = field.format();
                json!({
                    "name": field.name(),
                    "format": format.to_string(),
                    "fixed_width": format.is_fixed_width(),
                    "descending": format.is_desc(),
                })
            })
            .collect();
        let lengths = self.template.lengths();
        let order = match &self.order {
            Order::Proven => json!({ "proven": true }),
            Order::Broken(found) => json!({
                "proven": false,
                "field": found.field,
                "reason": found.reason,
                "fix": found.fix,
                "lesser": found.lesser,
                "greater": found.greater,
            }),
        };
        let relations: Vec<Value> =
            self.relations.iter().map(|(other, relation)| related(other, relation)).collect();
        json!({
            "template": self.template.text(),
            "separator": self.template.separator(),
            "policy": policy(self.template),
            "fields": fields,
            "length": {
                "min": lengths.min,
                "max": lengths.max,
                "fits_partition_key": lengths.fit(MAX_PARTITION_KEY_BYTES),
                "fits_sort_key": lengths.fit(MAX_SORT_KEY_BYTES),
            },
            "order": order,
            "confusable": self.confusions(),
            "relations": relations,
            "example": self.example,
        })
    }

    fn order_in_words(&self) -> String {
        match &self.order {
            Order::Proven if self.template.is_constant() => {
                "one key, so nothing to sort".to_owned()
            }
            Order::Proven => {
                let fields: Vec<String> = self
                    .template
                    .fields()
                    .map(|field| {
                        let direction = if field.format().is_desc() { " descending" } else { "" };
                        format!("{}{direction}", field.name())
                    })
                    .collect();
                format!("proven: keys sort by {}", fields.join(", then "))
            }
            Order::Broken(found) => format!(
                "broken by {}: {}; `{}` sorts after `{}`; {}",
                found.field,
                found.reason,
                visible(&found.lesser),
                visible(&found.greater),
                found.fix
            ),
        }
    }

    /// What the keys can be taken for.
    fn confusions(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.template.literal_prefix().is_empty() {
            found.push(
                "no text of its own in front: keys of another template can look the same"
                    .to_owned(),
            );
        }
        if let Some(field) =
            self.template.fields().last().filter(|field| !field.format().is_fixed_width())
            && let Some(example) = &self.example
            && self.template.segments().last().is_some_and(|segment| segment.as_field().is_some())
        {
            let key = visible(example);
            found.push(format!(
                "begins_with '{key}' also finds longer values of {}; ask with =, or below it with '{key}{}'",
                field.name(),
                visible(self.template.separator())
            ));
        }
        found
    }
}

fn policy(template: &Template) -> &'static str {
    match template.policy() {
        SeparatorPolicy::Reject => "values that contain it are refused",
        SeparatorPolicy::PercentEscape => "values that contain it are escaped with %",
        SeparatorPolicy::OrderPreserving => "values that contain it are escaped in order",
    }
}

fn bytes(lengths: Lengths) -> String {
    match lengths.max {
        Some(max) if max == lengths.min => counted(max, "byte"),
        Some(max) => format!("{} to {max} bytes", lengths.min),
        None => format!("{} or more", counted(lengths.min, "byte")),
    }
}

fn fits(lengths: Lengths) -> String {
    if lengths.fit(MAX_SORT_KEY_BYTES) {
        format!(
            "always fits a sort key ({MAX_SORT_KEY_BYTES}) and a partition key ({MAX_PARTITION_KEY_BYTES})"
        )
    } else if lengths.fit(MAX_PARTITION_KEY_BYTES) {
        format!(
            "fits a partition key ({MAX_PARTITION_KEY_BYTES}), may pass the limit of a sort key ({MAX_SORT_KEY_BYTES})"
        )
    } else {
        format!(
            "may pass the limits ({MAX_PARTITION_KEY_BYTES} and {MAX_SORT_KEY_BYTES}); state the most bytes of text fields, as in string:64"
        )
    }
}

fn in_words(other: &Template, relation: &Relation) -> String {
    match relation {
        Relation::Disjoint => format!("`{other}`: no, their keys never meet"),
        Relation::MayCollide { example: Some(key) } => {
            format!("`{other}`: yes, both make `{}`", visible(key))
        }
        Relation::MayCollide { example: None } => {
            format!("`{other}`: perhaps, nothing keeps their keys apart")
        }
        Relation::PrefixOf { shorter, longer } => {
            format!(
                "`{other}`: begins_with '{}' also finds its `{}`",
                visible(shorter),
                visible(longer)
            )
        }
        Relation::ExtensionOf { shorter, longer } => {
            format!(
                "`{other}`: begins_with its '{}' also finds `{}`",
                visible(shorter),
                visible(longer)
            )
        }
    }
}

fn related(other: &Template, relation: &Relation) -> Value {
    let (kind, examples) = match relation {
        Relation::Disjoint => ("disjoint", json!({})),
        Relation::MayCollide { example } => ("may_collide", json!({ "example": example })),
        Relation::PrefixOf { shorter, longer } => {
            ("prefix_of", json!({ "shorter": shorter, "longer": longer }))
        }
        Relation::ExtensionOf { shorter, longer } => {
            ("extension_of", json!({ "shorter": shorter, "longer": longer }))
        }
    };
    json!({ "template": other.text(), "relation": kind, "examples": examples })
}
