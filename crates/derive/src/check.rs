//! The design's own checks, at compile time: the file is parsed, keys are compared, every pattern is planned.

use std::fmt::Write as _;

use keyloom_design::cost::Prices;
use keyloom_design::model::{Design, Entity, EntityKey};
use keyloom_design::plan::{Plan, Problem, Rejected, Verdict};
use keyloom_design::{Diagnostic, Severity, check as check_design};
use keyloom_keys::Relation;
use proc_macro2::Span;
use syn::ext::IdentExt as _;

use crate::model::{Access, Module};
use crate::toml::Toml;

/// Collects errors, so that all are shown at once.
#[derive(Default)]
struct Errors(Option<syn::Error>);

impl Errors {
    fn push(&mut self, span: Span, message: impl std::fmt::Display) {
        let error = syn::Error::new(span, message);
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }
}

/// Checks a design; the errors point at the attributes.
pub(crate) fn check(module: &Module, toml: &Toml) -> syn::Result<Design> {
    let (design, problems) = Design::parse("design", toml.as_str());
    let mut errors = Errors::default();
    let fallback = module.design.span();
    for problem in problems.iter().filter(|problem| problem.severity == Severity::Error) {
        let span = toml.span_at(problem.span.start()).unwrap_or(fallback);
        errors.push(span, sentence(problem));
    }
    let Some(design) = design else {
        return Err(errors.0.unwrap_or_else(|| {
            syn::Error::new(
                fallback,
                "the design has errors, but none of them has a message; please report this design",
            )
        }));
    };
    check_keys(module, &design, &mut errors);
    check_keepers(module, &mut errors);
    collisions(module, &design, &mut errors);
    for access in &module.accesses {
        check_inputs(module, &design, access, &mut errors);
    }
    let report = check_design(&design, &Prices::default());
    for plan in &report.plans {
        let access = module.accesses.iter().find(|access| access.title.value == plan.name);
        check_plan(plan, access.map_or(fallback, |access| access.span), &mut errors);
    }
    if let Some(error) = errors.0 {
        return Err(error);
    }
    // What `keyloom check` fails on, the compiler fails on.
    let mut errors = Errors::default();
    for finding in report.findings.iter().filter(|found| found.severity == Severity::Error) {
        let span = toml.span_at(finding.span.start()).unwrap_or(fallback);
        let mut message = format!("{}: {}", finding.rule, finding.message);
        for (label, part) in [("evidence", &finding.evidence), ("fix", &finding.fix)] {
            if !part.is_empty() {
                let _ = write!(message, "\n{label}: {part}");
            }
        }
        errors.push(span, message);
    }
    match errors.0 {
        Some(error) => Err(error),
        None => Ok(design),
    }
}

fn sentence(problem: &Diagnostic) -> String {
    let mut text = problem.message.clone();
    for (label, part) in [("reason", &problem.reason), ("fix", &problem.fix)] {
        if let Some(part) = part {
            let _ = write!(text, "\n{label}: {part}");
        }
    }
    text
}

/// An entity without its primary key cannot be stored.
fn check_keys(module: &Module, design: &Design, errors: &mut Errors) {
    for declared in &module.entities {
        let Some(entity) = design.entity(&declared.name.to_string()) else { continue };
        for attribute in entity.table.primary().attributes() {
            if entity.key(&attribute.name).is_none() {
                let message = format!(
                    "`{}` has no template for `{}`, the key of table `{}`: add {} = \"…\"",
                    entity.name, attribute.name, entity.table.name, attribute.name
                );
                errors.push(declared.span, message);
            }
        }
        for key in entity.primary_key().parts() {
            for name in key.shape.template().fields() {
                let optional = declared.fields.iter().any(|f| f.attribute == name && f.optional);
                if optional {
                    let message = format!(
                        "`{name}` is an `Option` and part of the primary key `{}`, which every item needs",
                        key.attribute
                    );
                    errors.push(key_span(module, &entity.name, &key.attribute), message);
                }
                let counter = declared.fields.iter().find(|f| f.attribute == name && f.counter);
                if let Some(counter) = counter {
                    errors.push(counter.name.span(), crate::shard::UNREAD);
                }
            }
        }
    }
}

/// Counts are added where the present number of shards puts their keeper.
fn check_keepers(module: &Module, errors: &mut Errors) {
    for counter in module.entities.iter().flat_map(|entity| &entity.counters) {
        let keeper = module.entities.iter().find(|e| e.name == counter.entity.value.as_str());
        let earlier = keeper.into_iter().flat_map(|keeper| &keeper.shards);
        if let Some(number) = earlier.flat_map(|shard| &shard.earlier).next() {
            let message = format!(
                "`{}` keeps counts, so it keeps its number of shards",
                counter.entity.value
            );
            errors.push(number.span, message);
        }
    }
}

fn key_span(module: &Module, entity: &str, attribute: &str) -> Span {
    let declared = module.entities.iter().find(|known| known.name == entity);
    let key =
        declared.and_then(|known| known.keys.iter().find(|(name, _)| name.value == attribute));
    match (key, declared) {
        (Some((_, template)), _) => template.span,
        (None, Some(declared)) => declared.span,
        (None, None) => module.design.span(),
    }
}

/// Two entities that may have the same primary key overwrite each other.
fn collisions(module: &Module, design: &Design, errors: &mut Errors) {
    let entities = design.entities();
    for (at, second) in entities.iter().enumerate() {
        for first in entities.iter().take(at) {
            if first.table.name == second.table.name
                && let Some(example) = collision(first, second)
            {
                let attribute =
                    second.primary_key().parts().last().map(|key| key.attribute.clone());
                let span = key_span(module, &second.name, &attribute.unwrap_or_default());
                let message = format!(
                    "`{}` and `{}` may have the same primary key, such as {example}: one would overwrite the other\nfix: let their keys begin differently, such as `{}#…`",
                    first.name,
                    second.name,
                    second.name.to_uppercase()
                );
                errors.push(span, message);
            }
        }
    }
}

fn collision(first: &Entity, second: &Entity) -> Option<String> {
    let (a, b) = (first.primary_key(), second.primary_key());
    let mut example = Vec::new();
    for (a, b) in a.parts().zip(b.parts()) {
        example.push(common_key(a, b)?);
    }
    (!example.is_empty()).then(|| example.join(" / "))
}

fn common_key(a: &EntityKey, b: &EntityKey) -> Option<String> {
    if a.shape.is_native() || b.shape.is_native() {
        return Some(format!("any `{}`", a.attribute));
    }
    let (a, b) = (a.shape.template().template(), b.shape.template().template());
    match a.relation(b) {
        Relation::MayCollide { example } => {
            Some(example.map_or_else(|| format!("`{a}`"), |example| format!("`{example}`")))
        }
        _ => None,
    }
}

fn check_inputs(module: &Module, design: &Design, access: &Access, errors: &mut Errors) {
    let Some(pattern) = design.access(&access.title.value) else {
        if access.implied {
            let message = format!("no relationship of the design implies `{}`", access.title.value);
            errors.push(access.title.span, message);
        }
        return;
    };
    for input in &pattern.inputs {
        let given = access.inputs.iter().find(|(name, _)| name.unraw() == input.name.as_str());
        let Some((name, kind)) = given else {
            let message = format!(
                "the pattern compares `{}` with an input `{}`: add a field of that name",
                input.field, input.name
            );
            errors.push(access.span, message);
            continue;
        };
        let asked = pattern.asked().map(|entity| entity.name.clone()).unwrap_or_default();
        let entity = module.entities.iter().find(|entity| entity.name == asked.as_str());
        let field =
            entity.and_then(|entity| entity.fields.iter().find(|f| f.attribute == input.field));
        if let Some(field) = field.filter(|field| !kind.compares_with(field.kind)) {
            let ty = &field.ty;
            let message = format!(
                "the input `{}` is compared with `{}.{}`, a `{}`: give it the same type",
                input.name,
                asked,
                input.field,
                quote::quote!(#ty)
            );
            errors.push(name.span(), message);
        }
    }
    for (name, _) in &access.inputs {
        if pattern.inputs.iter().all(|input| name.unraw() != input.name.as_str()) {
            let known: Vec<&str> = pattern.inputs.iter().map(|input| input.name.as_str()).collect();
            let message = format!(
                "`{name}` is not an input of the pattern; its inputs are {}",
                known.join(", ")
            );
            errors.push(name.span(), message);
        }
    }
}

fn check_plan(plan: &Plan, span: Span, errors: &mut Errors) {
    if plan.verdict == Verdict::Refused {
        let mut message = format!("no index serves `{}`; it would need a Scan", plan.name);
        for rejected in &plan.rejected {
            let Rejected { index, entity, reason } = rejected;
            let whose = if entity.is_empty() { String::new() } else { format!(" ({entity})") };
            let _ = write!(message, "\n{index}{whose}: {reason}");
        }
        for problem in &plan.problems {
            let _ = write!(message, "\n{}", describe(problem).unwrap_or_default());
        }
        errors.push(span, message);
        return;
    }
    for message in plan.problems.iter().filter_map(describe) {
        errors.push(span, format!("`{}`: {message}", plan.name));
    }
}

/// What is wrong with a plan; nothing for what only costs.
fn describe(problem: &Problem) -> Option<String> {
    Some(match problem {
        Problem::Order { why, fix, .. } => {
            format!("rows do not come in the order asked for: {why}\nfix: {fix}")
        }
        Problem::Bleed { entities, why } => {
            format!("`{}` would be among the rows: {why}", entities.join("`, `"))
        }
        Problem::MissingRows { entities, why } => {
            format!("rows of `{}` would be missing: {why}", entities.join("`, `"))
        }
        Problem::NoKeyForStep { entity, fields } => format!(
            "the key of `{entity}` cannot be made from what the first step finds: `{}` is missing",
            fields.join("`, `")
        ),
        Problem::Inconsistent { index } => {
            format!("index `{index}` is never strongly consistent: leave out `consistent`")
        }
        _ => return None,
    })
}
