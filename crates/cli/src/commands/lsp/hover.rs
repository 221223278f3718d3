//! Hover: the plan of a pattern, what a key of the file means, entities, fields and rules.

use keyloom_design::lint::rule;
use keyloom_design::model::{Entity, Field};
use keyloom_design::report::{explain, rule_link};

use super::checker::Checked;
use super::names::{Names, named_by};
use super::outline::{Entry, Outline, Section, Spot, touches};
use super::vocabulary;

/// What there is to say about a byte of the text, as Markdown.
pub(super) fn hover(outline: &Outline, offset: usize, checked: Option<&Checked>) -> Option<String> {
    match outline.spot(offset) {
        Spot::Header(section, _) => header(section, checked),
        Spot::Key(section, Some(entry)) => key(outline, section, entry, checked),
        Spot::Key(_, None) => None,
        Spot::Value(section, entry) => value(outline, section, entry, offset, checked),
    }
}

fn header(section: &Section, checked: Option<&Checked>) -> Option<String> {
    let names = section.names();
    match names.as_slice() {
        ["access", name] => pattern(name, checked?),
        ["entity", name, ..] => entity(name, checked?),
        [kind, ..] => {
            let property = vocabulary::property("", kind)?;
            vocabulary::description(property).map(str::to_owned)
        }
        [] => None,
    }
}

/// The verdict, request, cost and proofs of a pattern.
fn pattern(name: &str, checked: &Checked) -> Option<String> {
    let design = checked.report.design.as_ref()?;
    let access = design.access(name)?;
    let plan = checked.report.plans.iter().find(|plan| plan.name == name)?;
    let text = explain(access, plan, None).ok()?;
    Some(format!("```text\n{}\n```", text.trim_end()))
}

fn entity(name: &str, checked: &Checked) -> Option<String> {
    let design = checked.report.design.as_ref()?;
    let entity = design.entity(name)?;
    let mut lines = vec![format!("**{name}** in table `{}`", entity.table.name)];
    if !entity.description.is_empty() {
        lines.push(entity.description.clone());
    }
    for key in &entity.keys {
        let template = key.shape.template();
        let example = template.template().example().unwrap_or_default();
        lines.push(format!("- `{} = \"{}\"`, such as `{example}`", key.attribute, template.text()));
    }
    let fields: Vec<String> = entity
        .fields
        .iter()
        .map(|field| format!("`{}` {}", field.name, field.type_name()))
        .collect();
    lines.push(format!("\nFields: {}", fields.join(", ")));
    Some(lines.join("\n"))
}

fn key(
    outline: &Outline,
    section: &Section,
    entry: &Entry,
    checked: Option<&Checked>,
) -> Option<String> {
    let names = section.names();
    if let ["entity", name, "fields"] = names.as_slice() {
        let design = checked?.report.design.as_ref()?;
        let entity = design.entity(name)?;
        return entity.field(&entry.key.text).map(|field| field_text(entity, field));
    }
    let place = vocabulary::place(section)?;
    match vocabulary::property(&place, &entry.key.text) {
        Some(property) => vocabulary::description(property).map(str::to_owned),
        None if named_by(section, entry) == Names::Template => {
            let words = format!("The key attribute `{}`: {}", entry.key.text, outline.value(entry));
            Some(words)
        }
        None => None,
    }
}

fn value(
    outline: &Outline,
    section: &Section,
    entry: &Entry,
    offset: usize,
    checked: Option<&Checked>,
) -> Option<String> {
    let texts = outline.texts(entry);
    let text = texts.into_iter().find(|text| touches(&text.span, offset))?.text;
    match named_by(section, entry) {
        Names::Entity => entity(&text, checked?),
        Names::Rule => {
            let rule = rule(&text)?;
            Some(format!(
                "**{}**: {}\n\n[What it means]({})",
                rule.id,
                rule.title,
                rule_link(rule.id)
            ))
        }
        Names::Field | Names::Template => {
            let word = outline.word(offset).text;
            let design = checked?.report.design.as_ref()?;
            let entities = outline.entities_asked(section);
            entities.iter().find_map(|name| {
                let entity = design.entity(name)?;
                entity.field(&word).map(|field| field_text(entity, field))
            })
        }
        _ => None,
    }
}

/// A field, its type, and how it stands in keys.
fn field_text(entity: &Entity, field: &Field) -> String {
    let optional = if field.optional { ", optional" } else { "" };
    let mut lines =
        vec![format!("`{}.{}`: **{}**{optional}", entity.name, field.name, field.type_name())];
    let keys: Vec<String> = entity
        .keys
        .iter()
        .filter(|key| key.shape.template().fields().any(|name| name == field.name))
        .map(|key| format!("`{} = \"{}\"`", key.attribute, key.shape.template().text()))
        .collect();
    if !keys.is_empty() {
        lines.push(format!("In the keys {}", keys.join(", ")));
    }
    if let Some(values) = field.values().filter(|values| values.len() <= 20) {
        lines.push(format!("Values: {}", values.join(", ")));
    }
    lines.join("\n\n")
}
