//! The shapes of requests against AWS's own model of the API, which botocore brings (`scripts/setup-clients`).
//!
//! One test compares our tables with the model. The others make requests and work out from the model alone what AWS
//! answers: requests in which one value has the wrong JSON type, for every operation, every member at every depth and
//! every type; and requests that violate constraints of the model, one or two at a time.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod aws;
mod constraints;
mod wrong_types;

use keyloom_api::Operation;
use keyloom_api::model::{Shape, Structure, input};

use aws::{Model, models};

/// Why our shape is not that of the model.
fn difference(ours: &Shape, model: &Model, theirs: &str) -> Result<(), String> {
    let shape = model.shape(theirs);
    let kind = shape["type"].as_str().unwrap();
    match (&ours.limit().0, kind) {
        (Shape::Text, "string")
        | (Shape::Integer, "integer")
        | (Shape::Long, "long")
        | (Shape::Double, "double")
        | (Shape::Boolean, "boolean")
        | (Shape::Timestamp, "timestamp") => Ok(()),
        // The rest of it is judged by the generated requests: it contains itself.
        (Shape::Value, "structure") if theirs == "AttributeValue" => Ok(()),
        (Shape::List(of), "list") => difference(of, model, model.element(theirs)),
        (Shape::Map(of), "map") => difference(of, model, model.element(theirs)),
        (Shape::Struct(structure), "structure") if structure.name == theirs => {
            structure_difference(structure, model, theirs)
        }
        _ => Err(format!("{ours:?} is not {theirs}, which is a {kind}")),
    }
}

fn structure_difference(ours: &Structure, model: &Model, theirs: &str) -> Result<(), String> {
    let members = model.members(theirs);
    for (name, shape) in &members {
        let ours = ours.member(name).ok_or_else(|| format!("{theirs} has a member {name}"))?;
        difference(&ours, model, shape).map_err(|why| format!("{name}: {why}"))?;
    }
    if ours.members.len() != members.len() {
        return Err(format!("{theirs} has {} members", members.len()));
    }
    Ok(())
}

#[test]
fn our_tables_are_those_of_the_model() {
    let Some(models) = models() else { return };
    let mut names = Vec::new();
    for model in &models {
        for (name, theirs) in model.operations() {
            let target = format!("{}.{name}", model.target_prefix());
            let operation = Operation::from_target(&target).unwrap_or_else(|| panic!("no {name}"));
            if let Err(why) = structure_difference(input(operation), model, &theirs) {
                panic!("{name}: {why}");
            }
            names.push(operation);
        }
    }
    names.sort_unstable();
    assert_eq!(names, Operation::ALL, "every operation is one of the model");
}
