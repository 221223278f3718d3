//! Building and parsing are inverse.

use keyloom_keys::{BuildError, Field, FieldFormat, Template, Value};
use proptest::prelude::*;

use crate::generate::{format, template_and_values, value};

/// What a field holds after a value has been written to it: folded, or cut down to the bucket.
pub(crate) fn canonical(format: &FieldFormat, value: &Value<'_>) -> Value<'static> {
    let written = format.encode(value).unwrap();
    format.decode(&written).unwrap().into_owned()
}

proptest! {
    #[test]
    fn what_is_built_parses_to_the_same_values((template, tuples) in template_and_values(4)) {
        for tuple in tuples {
            // Values that the policy refuses build nothing, hence break no law.
            let Ok(key) = template.build_values(&tuple) else { continue };
            let fields = template.parse_key(&key).map_err(|e| TestCaseError::fail(e.to_string()))?;
            for (at, (field, value)) in template.fields().zip(&tuple).enumerate() {
                prop_assert_eq!(fields.at(at).unwrap(), canonical(field.format(), value));
            }
            let values: Vec<Value<'_>> = fields.iter().map(|(_, value)| value).collect();
            prop_assert_eq!(template.build_values(&values).unwrap(), key.clone());
            let named: Vec<(&str, Value<'_>)> = fields.iter().collect();
            prop_assert_eq!(template.build(&named).unwrap(), key.clone());
            let lengths = template.lengths();
            prop_assert!(key.len() >= lengths.min && lengths.max.is_none_or(|max| key.len() <= max));
            let lenient = template.parse_lenient(&key);
            prop_assert!(lenient.deviations.is_empty(), "{:?}", lenient);
        }
    }

    #[test]
    fn what_parses_builds_the_same_key((template, tuples) in template_and_values(1), at in 0_usize..64, with in "[ -~é]") {
        // A key with one character changed is mostly refused; when it is not, it must be canonical.
        let Ok(key) = template.build_values(&tuples[0]) else { return Ok(()) };
        let changed: String =
            key.chars().enumerate().flat_map(|(i, c)| if i == at { with.chars().collect() } else { vec![c] }).collect();
        if let Ok(fields) = template.parse_key(&changed) {
            let values: Vec<Value<'_>> = fields.iter().map(|(_, value)| value).collect();
            prop_assert_eq!(template.build_values(&values).unwrap(), changed);
        }
    }

    #[test]
    fn the_text_form_of_a_value_reads_back((format, value) in format().prop_flat_map(|f| (Just(f.clone()), value(&f)))) {
        let Ok(written) = format.encode(&value) else { return Ok(()) };
        let value = format.decode(&written).unwrap();
        let text = value.to_string();
        let again = Value::parse_for(&format, &text).unwrap();
        prop_assert_eq!(format.encode(&again).unwrap(), written);
    }

    #[test]
    fn a_format_reads_back_from_its_text(format in format()) {
        prop_assert_eq!(FieldFormat::parse(&format.to_string()).unwrap(), format);
    }

    #[test]
    fn prefixes_begin_the_keys_they_were_made_from((template, tuples) in template_and_values(1)) {
        let Ok(key) = template.build_values(&tuples[0]) else { return Ok(()) };
        let names: Vec<&str> = template.fields().map(Field::name).collect();
        for count in 0..names.len() {
            let bound: Vec<(&str, Value<'_>)> = names.iter().copied().zip(tuples[0].clone()).take(count).collect();
            match template.prefix(&bound) {
                Ok(prefix) => prop_assert!(key.starts_with(&prefix)),
                Err(error) => prop_assert!(matches!(error, BuildError::Open { .. }), "{}", error),
            }
        }
    }
}

#[test]
fn a_namespace_goes_in_front() {
    let template = Template::parse("USER#{id:u8}").unwrap().with_namespace("test-{7}").unwrap();
    assert_eq!(template.build(&[("id", 1.into())]).unwrap(), "test-{7}#USER#001");
}
