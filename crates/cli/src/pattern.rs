//! An access pattern that a command names, and the values it is asked with.

use keyloom_design::evaluate::Inputs;
use keyloom_design::model::{Access, Field, FieldKind, InputRole};
use keyloom_design::plan::{Plan, RawForm};
use keyloom_design::{CheckReport, Design};
use keyloom_keys::Value;

use crate::nearest::nearest;
use crate::output::Failure;

/// The pattern of this name.
pub(crate) fn find<'a>(
    design: &'a Design,
    report: &'a CheckReport,
    name: &str,
) -> Result<(&'a Access, &'a Plan), Failure> {
    let found = design.accesses().iter().zip(&report.plans).find(|(access, _)| access.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> =
            design.accesses().iter().map(|access| access.name.as_str()).collect();
        let hint = nearest(name, &names);
        Failure::refused(format_args!("there is no access pattern {name:?} in the file{hint}"))
    })
}

/// The values given for inputs, in the types of their fields.
pub(crate) fn read_inputs(
    access: &Access,
    plan: &Plan,
    values: &[String],
) -> Result<Inputs, Failure> {
    let mut known: Vec<(String, String, InputRole)> = access
        .inputs
        .iter()
        .map(|input| (input.name.clone(), input.field.clone(), input.role))
        .collect();
    for name in plan.raw.iter().flat_map(RawForm::inputs) {
        if known.iter().all(|(input, ..)| *input != name) {
            known.push((name.clone(), name, InputRole::Value));
        }
    }
    let mut inputs = Inputs::new();
    for pair in values {
        let Some((name, text)) = pair.split_once('=') else {
            return Err(Failure::refused(format_args!(
                "--set takes input=value, and {pair:?} has no `=`"
            )));
        };
        let Some((_, field, role)) = known.iter().find(|(input, ..)| input == name) else {
            let names: Vec<&str> = known.iter().map(|(input, ..)| input.as_str()).collect();
            let hint = nearest(name, &names);
            return Err(Failure::refused(format_args!(
                "{:?} has no input `{name}`{hint}",
                access.name
            )));
        };
        if inputs.contains_key(name) {
            return Err(Failure::refused(format_args!("--set gives `{name}` twice")));
        }
        let field = access.asked().and_then(|entity| entity.field(field));
        inputs.insert(name.to_owned(), read_value(field, *role, text)?);
    }
    Ok(inputs)
}

fn read_value(
    field: Option<&Field>,
    role: InputRole,
    text: &str,
) -> Result<Value<'static>, Failure> {
    let plain = || Value::from(text.to_owned());
    let Some(field) = field else { return Ok(plain()) };
    match &field.kind {
        _ if role == InputRole::Prefix => Ok(plain()),
        FieldKind::Scalar(format) => match Value::parse_for(format, text) {
            Ok(value) => Ok(value.into_owned()),
            Err(error) => Err(Failure::refused(format_args!(
                "{text:?} is no value of `{}`: {error}",
                field.name
            ))),
        },
        FieldKind::Shard(_) => text.parse::<u32>().map(Value::from).map_err(|_| {
            Failure::refused(format_args!("`{}` is a shard, a whole number", field.name))
        }),
        _ => Ok(plain()),
    }
}
