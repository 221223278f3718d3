//! Byte order is field order wherever that is claimed, and counter-examples are real.

use std::cmp::Ordering;

use keyloom_keys::{FieldFormat, Order, Template, Value};
use proptest::prelude::*;

use crate::generate::{format, template_and_values, value};
use crate::round_trip::canonical;

/// How two values of a field compare, as people see it.
pub(crate) fn compare(format: &FieldFormat, a: &Value<'_>, b: &Value<'_>) -> Ordering {
    let order = match (a, b) {
        (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.millis().cmp(&b.millis()),
        (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
        (Value::Ulid(a), Value::Ulid(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        _ => panic!("{a:?} and {b:?} are of different kinds"),
    };
    if format.is_desc() { order.reverse() } else { order }
}

fn compare_keys(template: &Template, a: &str, b: &str) -> Ordering {
    let (a, b) = (template.parse_key(a).unwrap(), template.parse_key(b).unwrap());
    template
        .fields()
        .zip(a.iter().zip(b.iter()))
        .map(|(field, ((_, a), (_, b)))| compare(field.format(), &a, &b))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

proptest! {
    #[test]
    fn fields_alone_sort_as_their_values(
        (format, a, b) in format().prop_flat_map(|f| (Just(f.clone()), value(&f), value(&f)))
    ) {
        if format.is_plain() {
            return Ok(());
        }
        let (Ok(first), Ok(second)) = (format.encode(&a), format.encode(&b)) else { return Ok(()) };
        let (a, b) = (canonical(&format, &a), canonical(&format, &b));
        prop_assert_eq!(first.cmp(&second), compare(&format, &a, &b));
    }

    #[test]
    fn proven_order_holds((template, tuples) in template_and_values(8)) {
        if template.order() != Order::Proven {
            return Ok(());
        }
        let keys: Vec<String> = tuples.iter().filter_map(|tuple| template.build_values(tuple).ok()).collect();
        for a in &keys {
            for b in &keys {
                prop_assert_eq!(a.cmp(b), compare_keys(&template, a, b), "{} {}", a, b);
            }
        }
    }

    #[test]
    fn a_counter_example_is_one((template, _) in template_and_values(1)) {
        if let Order::Broken(found) = template.order() {
            prop_assert!(found.lesser > found.greater, "{:?}", found);
            prop_assert_eq!(compare_keys(&template, &found.lesser, &found.greater), Ordering::Less);
        }
    }
}

#[test]
fn the_known_traps_are_found() {
    for (text, field) in [
        ("V#{version:u32:plain}#{at:datetime}", "version"),
        ("{name}#{id}", "name"),
        ("{a:enum:x|x y}#{b}", "a"),
        ("{id:hex}~{n:u8}", "id"),
    ] {
        let Order::Broken(found) = Template::parse(text).unwrap().order() else { panic!("{text}") };
        assert_eq!(found.field, field);
    }
    for text in [
        "{name}",
        "{name:token}#{id}",
        "{at:datetime}#{name}",
        "{n:i64}{m:u8}",
        "METADATA",
        "{a:string:desc}#{b}",
    ] {
        assert_eq!(Template::parse(text).unwrap().order(), Order::Proven, "{text}");
    }
}
