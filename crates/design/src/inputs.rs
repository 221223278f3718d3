//! Inputs given as texts, as on the command line: `--set region=eu`.

use std::borrow::Cow;

use keyloom_keys::Value;

use crate::evaluate::Inputs;
use crate::key::as_fine_as;
use crate::model::{Access, FieldKind, Input, InputRole};
use crate::suggest::did_you_mean;

/// Reads the values of a pattern's inputs.
pub fn inputs_from(access: &Access, given: &[(&str, &str)]) -> Result<Inputs, String> {
    let mut inputs = Inputs::new();
    for (name, text) in given {
        // A hand-written key names its inputs itself; every field is one then.
        let declared = access.inputs.iter().find(|input| input.name == *name);
        let (field_name, role) = match declared {
            Some(input) => (input.field.as_str(), input.role),
            None if access.raw.is_some() => (*name, InputRole::Value),
            None => {
                let known = access.inputs.iter().map(|input| input.name.as_str());
                let hint =
                    did_you_mean(name, known).map_or_else(String::new, |hint| format!("; {hint}"));
                return Err(format!("`{}` has no input `{name}`{hint}", access.name));
            }
        };
        let mut entities = access.via.iter().chain(&access.find);
        let field = entities.find_map(|entity| entity.field(field_name));
        let value = match (field.map(|field| &field.kind), role) {
            (
                Some(FieldKind::Scalar(format)),
                InputRole::Value | InputRole::Low | InputRole::High,
            ) => Value::parse_for(format, text)
                .map(Value::into_owned)
                .map_err(|error| format!("`{name}`: {error}"))?,
            _ => Value::from((*text).to_owned()),
        };
        inputs.insert((*name).to_owned(), value);
    }
    Ok(inputs)
}

/// Inputs as finely as their fields are.
pub(crate) fn fitted<'i>(access: &Access, inputs: &'i Inputs) -> Result<Cow<'i, Inputs>, String> {
    let mut fitted = Cow::Borrowed(inputs);
    for Input { name, field, role } in &access.inputs {
        let mut entities = access.via.iter().chain(&access.find);
        let kind = entities.find_map(|entity| entity.field(field)).map(|field| &field.kind);
        let (Some(FieldKind::Scalar(format)), Some(value)) = (kind, inputs.get(name)) else {
            continue;
        };
        let own = format.precision().filter(|_| *role != InputRole::Prefix);
        let known = match (value, own) {
            (Value::Time(time), Some(own)) if time.precision() > own => value.clone(),
            (Value::Text(text), Some(_)) => match Value::parse_for(format, text) {
                Ok(known) => known.into_owned(),
                Err(_) => continue,
            },
            _ => continue,
        };
        let known = as_fine_as(format, known).map_err(|why| format!("`{name}`: {why}"))?;
        fitted.to_mut().insert(name.clone(), known);
    }
    Ok(fitted)
}
