//! E01–E03: hand-written expressions.

use std::collections::BTreeSet;

use keyloom_core::expr::ast::{Name, Path, PathPart, Section, Update};
use keyloom_core::expr::is_reserved;
use keyloom_core::expr::parser::parse_update;

use super::{Context, Findings};
use crate::condition::Condition;
use crate::model::{Entity, FieldKind, UpdateExpression, Write};
use crate::source::Span;

/// E01: words that DynamoDB keeps for itself.
pub(super) fn reserved(context: &Context, findings: &mut Findings) {
    for access in context.design.accesses() {
        let Some(raw) = &access.raw else { continue };
        let texts = [(Some(&raw.key), raw.key_span), (raw.filter.as_ref(), raw.filter_span)];
        for (condition, span) in texts {
            for word in condition.into_iter().flat_map(names_of).filter(|name| is_reserved(name)) {
                add_reserved(findings, span, &access.name, word);
            }
        }
    }
    for (write, expression, update) in updates(context) {
        let mut seen: Vec<String> = Vec::new();
        for path in all_paths(&update) {
            for part in &path.0 {
                if let PathPart::Name(Name::Literal(word)) = part
                    && is_reserved(word)
                    && !seen.iter().any(|known| known == word.as_str())
                {
                    seen.push(word.to_string());
                    add_reserved(findings, expression.text.span, &write.name, word);
                }
            }
        }
    }
}

fn add_reserved(findings: &mut Findings, span: Span, subject: &str, word: &str) {
    findings
        .add(span, subject, format!("`{word}` is a reserved word"))
        .because(format!(
            "DynamoDB answers: Attribute name is a reserved keyword; reserved keyword: {word}"
        ))
        .fix(format!("write #{word} and add \"#{word}\": \"{word}\" to ExpressionAttributeNames"));
}

fn names_of(condition: &Condition) -> impl Iterator<Item = &str> {
    condition
        .terms
        .iter()
        .flat_map(|term| term.name.split('.'))
        .filter(|name| !name.starts_with('#'))
}

/// The attributes that an update makes longer: list_append, and ADD of elements to a set.
pub(super) fn growing(
    update: &Update,
    expression: &UpdateExpression,
    entity: &Entity,
) -> Vec<String> {
    use keyloom_core::expr::ast::{Operand, SetValue};
    let mut names: Vec<String> = Vec::new();
    let mut add = |path: &Path| {
        let name = resolved(path, expression).into_iter().next().unwrap_or_default();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    };
    let is_append = |operand: &Operand| matches!(operand, Operand::Call(call) if call.function == "list_append");
    for section in &update.0 {
        match section {
            Section::Set(actions) => {
                for (path, value) in actions {
                    if matches!(value, SetValue::Operand(operand) if is_append(operand)) {
                        add(path);
                    }
                }
            }
            Section::Add(actions) => {
                for (path, _) in actions {
                    let name = resolved(path, expression).into_iter().next().unwrap_or_default();
                    let is_set = entity.field(&name).is_some_and(|field| {
                        matches!(field.kind, FieldKind::TextSet | FieldKind::NumberSet)
                    });
                    if is_set {
                        add(path);
                    }
                }
            }
            Section::Remove(_) | Section::Delete(_) => {}
        }
    }
    names
}

/// The fields whose values an expression may change: all that it writes, but for `SET a = if_not_exists(a, …)`, which
/// leaves the value that is there. None if it cannot be parsed.
pub(crate) fn changed_fields(expression: &UpdateExpression) -> BTreeSet<String> {
    use keyloom_core::expr::ast::{Operand, SetValue};
    let Ok(parsed) = parse_update(&expression.text.value) else { return BTreeSet::new() };
    let sections = &parsed.tree.0;
    let sets = sections.iter().flat_map(|section| match section {
        Section::Set(actions) => actions.as_slice(),
        _ => &[],
    });
    let keeps = |path: &Path, value: &SetValue| match value {
        SetValue::Operand(Operand::Call(call)) if call.function == "if_not_exists" => {
            matches!(call.arguments.first(), Some(Operand::Path(kept)) if resolved(kept, expression) == resolved(path, expression))
        }
        _ => false,
    };
    let kept: Vec<&Path> =
        sets.filter(|(path, value)| keeps(path, value)).map(|(path, _)| path).collect();
    targets(&parsed.tree)
        .into_iter()
        .filter(|path| !kept.contains(path))
        .filter_map(|path| resolved(path, expression).into_iter().next())
        .collect()
}

/// The attributes that an expression writes, by the first name of each path, and the placeholders without a name. The error
/// says why it is no expression.
pub(crate) fn written_attributes(
    expression: &UpdateExpression,
) -> Result<(BTreeSet<String>, BTreeSet<String>), String> {
    let parsed = parse_update(&expression.text.value).map_err(|problem| problem.to_string())?;
    let written = targets(&parsed.tree);
    let written =
        written.into_iter().filter_map(|path| resolved(path, expression).into_iter().next());
    let is_named = |alias: &str| expression.names.iter().any(|(short, _)| short == alias);
    let paths = all_paths(&parsed.tree);
    let aliases = paths.iter().flat_map(|path| &path.0).filter_map(|part| match part {
        PathPart::Name(Name::Placeholder(alias)) if !is_named(alias) => Some(alias.to_string()),
        _ => None,
    });
    let nameless: BTreeSet<String> = aliases.collect();
    Ok((written.filter(|name| !nameless.contains(name)).collect(), nameless))
}

/// Writes with an expression that can be parsed.
pub(super) fn updates<'a>(
    context: &'a Context,
) -> impl Iterator<Item = (&'a Write, &'a UpdateExpression, Update)> {
    context.design.writes().iter().filter_map(|write| {
        let expression = write.expression.as_ref()?;
        let parsed = parse_update(&expression.text.value).ok()?;
        Some((write, expression, parsed.tree))
    })
}

fn targets(update: &Update) -> Vec<&Path> {
    update
        .0
        .iter()
        .flat_map(|section| match section {
            Section::Set(actions) => actions.iter().map(|(path, _)| path).collect::<Vec<_>>(),
            Section::Remove(paths) => paths.iter().collect(),
            Section::Add(actions) | Section::Delete(actions) => {
                actions.iter().map(|(path, _)| path).collect()
            }
        })
        .collect()
}

fn all_paths(update: &Update) -> Vec<&Path> {
    use keyloom_core::expr::ast::{Operand, SetValue};
    fn of_operand<'a>(operand: &'a Operand, paths: &mut Vec<&'a Path>) {
        match operand {
            Operand::Path(path) => paths.push(path),
            Operand::Value(_) => {}
            Operand::Call(call) => call.arguments.iter().for_each(|inner| of_operand(inner, paths)),
        }
    }
    let mut paths = targets(update);
    for section in &update.0 {
        let Section::Set(actions) = section else { continue };
        for (_, value) in actions {
            match value {
                SetValue::Operand(operand) => of_operand(operand, &mut paths),
                SetValue::Plus(a, b) | SetValue::Minus(a, b) => {
                    of_operand(a, &mut paths);
                    of_operand(b, &mut paths);
                }
            }
        }
    }
    paths
}

/// A path with its placeholders looked up: `address`, `city`.
fn resolved(path: &Path, expression: &UpdateExpression) -> Vec<String> {
    path.0
        .iter()
        .map(|part| match part {
            PathPart::Name(Name::Literal(name)) => name.to_string(),
            PathPart::Name(Name::Placeholder(alias)) => expression
                .names
                .iter()
                .find(|(short, _)| short == alias.as_str())
                .map_or_else(|| alias.to_string(), |(_, name)| name.clone()),
            PathPart::Index(at) => format!("[{at}]"),
        })
        .collect()
}

/// E02: one action would write inside what another writes.
pub(super) fn overlapping(context: &Context, findings: &mut Findings) {
    for (write, expression, update) in updates(context) {
        let paths: Vec<Vec<String>> =
            targets(&update).into_iter().map(|path| resolved(path, expression)).collect();
        for (at, path) in paths.iter().enumerate() {
            let clash = paths
                .iter()
                .take(at)
                .find(|earlier| earlier.starts_with(path) || path.starts_with(earlier));
            let Some(clash) = clash else { continue };
            let (one, other) = (clash.join("."), path.join("."));
            let message = if one == other {
                format!("`{one}` is written twice in one update")
            } else {
                format!("`{one}` and `{other}` overlap in one update")
            };
            findings
                .add(expression.text.span, &write.name, message)
                .because("DynamoDB answers: Two document paths overlap with each other")
                .fix("keep one of them, or make two updates");
        }
    }
}

/// E03: a key attribute is fixed for the item's life.
pub(super) fn key_update(context: &Context, findings: &mut Findings) {
    for (write, expression, update) in updates(context) {
        for path in targets(&update) {
            let names = resolved(path, expression);
            let Some(first) = names.first() else { continue };
            let key = write.entities().any(|e| e.table.primary().has_attribute(first));
            if !key {
                continue;
            }
            findings
                .add(expression.text.span, &write.name, format!("`{}` updates the key attribute `{first}`", write.name))
                .because(format!("DynamoDB answers: Cannot update attribute {first}. This attribute is part of the key"))
                .fix("delete the item and put it under its new key, in one transaction");
        }
    }
}
