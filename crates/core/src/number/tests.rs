//! Numbers against tables of known behaviour and against an independent implementation.

use std::str::FromStr as _;

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::Sign;
use proptest::prelude::*;

use super::*;
use crate::arbitrary::number;

fn read(text: &str) -> Number {
    Number::parse(text).unwrap()
}

#[test]
fn numbers_are_returned_in_plain_decimal_without_needless_zeros() {
    let many = format!("1{}", "0".repeat(125));
    let tiny = format!("0.{}1", "0".repeat(129));
    for (text, plain) in [
        ("0", "0"),
        ("-0", "0"),
        ("0e1000", "0"),
        ("0.000", "0"),
        ("+5", "5"),
        ("-7", "-7"),
        (".5", "0.5"),
        ("+.5", "0.5"),
        ("5.", "5"),
        ("00042", "42"),
        ("0001.23", "1.23"),
        ("3.1400", "3.14"),
        ("1.5E2", "150"),
        ("1e+2", "100"),
        ("-17e5", "-1700000"),
        ("-17.4E3", "-17400"),
        ("123.456e-5", "0.00123456"),
        ("1E125", &many),
        ("1E-130", &tiny),
        ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551616", "18446744073709551616"),
        ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
        ("3.1415926535897932384626433832795028841", "3.1415926535897932384626433832795028841"),
        // Zeros at either end are not significant, however many there are.
        (
            "1000000000000000000000000000000000000000000000",
            "1000000000000000000000000000000000000000000000",
        ),
        ("0000000000000000000000000000000000000000000001", "1"),
        ("1.0000000000000000000000000000000000000000000000", "1"),
    ] {
        assert_eq!(read(text).to_string(), plain, "{text}");
    }
}

#[test]
fn texts_outside_the_grammar_are_refused_with_the_text() {
    for text in [
        ".",
        "+",
        "-",
        "e2",
        "+e2",
        "1e",
        "1e+",
        "1E-",
        "1+2",
        "1.2.3",
        "++5",
        "--5",
        " 1",
        "1 ",
        "NaN",
        "Infinity",
        "-Infinity",
        "dog",
        "1_000",
        "0x10",
        "1e1.5",
        "1e1e1",
        "١",
    ] {
        let error = Number::parse(text).unwrap_err();
        let message = format!("The parameter cannot be converted to a numeric value: {text}");
        assert_eq!(error.to_string(), message);
        assert_eq!(Error::from(error), Error::Validation(message));
    }
    let empty = Number::parse("").unwrap_err().to_string();
    assert_eq!(empty, "The parameter cannot be converted to a numeric value");
}

#[test]
fn numbers_beyond_the_limits_are_refused() {
    let long = "1".repeat(100_000);
    for (text, error) in [
        ("1e126", NumberError::Overflow),
        ("-11e125", NumberError::Overflow),
        ("1.0e100000000", NumberError::Overflow),
        ("1e99999999999999999999999999", NumberError::Overflow),
        ("1e-131", NumberError::Underflow),
        ("0.9e-130", NumberError::Underflow),
        ("-1e-99999999999999999999999999", NumberError::Underflow),
        ("123456789012345678901234567890123456789", NumberError::TooManyDigits),
        ("3.14159265358979323846264338327950288419", NumberError::TooManyDigits),
        ("314159265358979323846264338327950288419e30", NumberError::TooManyDigits),
        (&long, NumberError::Overflow),
    ] {
        assert_eq!(Number::parse(text).unwrap_err(), error, "{text:.60}");
    }
    assert!(Number::parse("9.9999999999999999999999999999999999999E+125").is_ok());
    assert!(Number::parse("1.2345E-130").is_ok());
}

#[test]
fn one_value_has_one_form() {
    for (a, b) in [("100", "1E2"), ("0.5", "5e-1"), ("-0", "0"), ("1.10", "01.1")] {
        assert_eq!(read(a), read(b));
        assert_eq!(read(a).cmp(&read(b)), Ordering::Equal);
    }
}

#[test]
fn results_that_need_more_than_38_digits_are_refused_as_overflow() {
    assert_eq!(read("1e50").add(&read("1")), Err(NumberError::Overflow));
    assert_eq!(read("1e50").sub(&read("1")), Err(NumberError::Overflow));
    assert_eq!(read("9e125").add(&read("9e125")), Err(NumberError::Overflow));
    assert_eq!(read("9e125").sub(&read("-9e125")), Err(NumberError::Overflow));
    assert_eq!(read("1.1e-130").sub(&read("1e-130")), Err(NumberError::Underflow));
    // 39 digits in an intermediate value, but not in the result.
    let nines = read("99999999999999999999999999999999999999");
    assert_eq!(nines.add(&read("1")).unwrap(), read("1e38"));
    assert_eq!(read("1e38").sub(&read("1")).unwrap(), nines);
    assert_eq!(read("4e38").sub(&read("1")), Err(NumberError::Overflow));
}

#[test]
fn machine_numbers_convert_exactly() {
    assert_eq!(Number::from(i64::MIN).to_string(), i64::MIN.to_string());
    assert_eq!(Number::from(u64::MAX).to_string(), u64::MAX.to_string());
    assert_eq!(Number::from(1000).to_i64(), Some(1000));
    assert_eq!(Number::from(i64::MIN).to_i64(), Some(i64::MIN));
    assert_eq!(read("9223372036854775808").to_i64(), None);
    assert_eq!(read("1.5").to_i64(), None);
    assert_eq!(read("1e125").to_i64(), None);
    assert_eq!(Number::from_f64(0.1).unwrap(), read("0.1"));
    assert_eq!(Number::from_f64(-1e100).unwrap(), read("-1e100"));
    assert!(Number::from_f64(f64::NAN).is_err());
    assert!(Number::from_f64(f64::INFINITY).is_err());
    assert_eq!(Number::from_f64(1e300), Err(NumberError::Overflow));
    assert_eq!(read("0.1").to_f64().to_bits(), 0.1f64.to_bits());
}

#[test]
fn a_number_takes_24_bytes() {
    assert_eq!(size_of::<Number>(), 24);
}

/// Whether DynamoDB can store a value, according to the independent implementation.
fn oracle(value: &BigDecimal) -> Result<BigDecimal, NumberError> {
    let value = value.normalized();
    let (digits, scale) = value.as_bigint_and_exponent();
    if digits.sign() == Sign::NoSign {
        return Ok(value);
    }
    let count = digits.magnitude().to_string().len() as i64;
    let magnitude = count - 1 - scale;
    if magnitude > 125 {
        Err(NumberError::Overflow)
    } else if magnitude < -130 {
        Err(NumberError::Underflow)
    } else if count > 38 {
        Err(NumberError::TooManyDigits)
    } else {
        Ok(value)
    }
}

fn big(number: &Number) -> BigDecimal {
    BigDecimal::from_str(&number.to_string()).unwrap()
}

/// The result of the standard parser.
fn float_bits(text: &str) -> u32 {
    text.parse::<f32>().unwrap().to_bits()
}

#[test]
fn short_floats_are_the_nearest() {
    // The second and third are next to, and exactly at, the midpoint between two floats.
    for text in [
        "0.1",
        "1.00000005960464480",
        "1.000000059604644775390625",
        "16777217",
        "-3.4e38",
        "1e-45",
        "1e39",
        "0",
    ] {
        assert_eq!(read(text).to_f32().to_bits(), float_bits(text), "{text}");
    }
}

proptest! {
    #[test]
    fn any_number_becomes_the_nearest_short_float(number in number()) {
        prop_assert_eq!(number.to_f32().to_bits(), float_bits(&number.to_string()));
    }

    #[test]
    fn embeddings_become_the_nearest_short_floats(digits in 0u64..1 << 53, exponent in -22i32..0) {
        let number = Number::from_parts(false, u128::from(digits), exponent).unwrap();
        prop_assert_eq!(number.to_f32().to_bits(), float_bits(&format!("{digits}e{exponent}")));
    }

    #[test]
    fn parsing_agrees_with_an_independent_implementation(
        sign in prop::sample::select(vec!["", "-", "+"]),
        integer in "[0-9]{0,45}",
        fraction in "[0-9]{0,45}",
        exponent in prop::option::of(-180i32..180),
    ) {
        prop_assume!(!integer.is_empty() || !fraction.is_empty());
        let written = exponent.map(|exponent| format!("e{exponent}")).unwrap_or_default();
        let text = format!("{sign}{integer}.{fraction}{written}");
        let canonical = format!("{sign}0{integer}.{fraction}0e{}", exponent.unwrap_or(0));
        let expected = oracle(&BigDecimal::from_str(canonical.trim_start_matches('+')).unwrap());
        let found = Number::parse(&text);
        match (found, expected) {
            (Ok(found), Ok(expected)) => prop_assert_eq!(big(&found), expected),
            (found, expected) => prop_assert_eq!(found.err(), expected.err(), "{}", text),
        }
    }

    #[test]
    fn printing_round_trips(number in number()) {
        prop_assert_eq!(Number::parse(&number.to_string()), Ok(number));
    }

    #[test]
    fn order_is_numeric(a in number(), b in number()) {
        prop_assert_eq!(a.cmp(&b), big(&a).cmp(&big(&b)));
    }

    #[test]
    fn sums_and_differences_are_exact_or_refused(a in number(), b in number()) {
        for (found, exact) in [(a.add(&b), big(&a) + big(&b)), (a.sub(&b), big(&a) - big(&b))] {
            // Arithmetic reports an inexact result as an overflow.
            let expected = oracle(&exact).map_err(|error| match error {
                NumberError::TooManyDigits => NumberError::Overflow,
                other => other,
            });
            match (found, expected) {
                (Ok(found), Ok(expected)) => prop_assert_eq!(big(&found), expected),
                (found, expected) => prop_assert_eq!(found.err(), expected.err()),
            }
        }
    }

    #[test]
    fn subtraction_inverts_addition(a in number(), b in number()) {
        if let Ok(sum) = a.add(&b) {
            prop_assert_eq!(sum.sub(&b).unwrap_or(a), a);
        }
    }

    #[test]
    fn the_parser_never_panics(text in ".*") {
        let _ = Number::parse(&text);
    }
}
