//! Messages about attribute values: numbers, sets, nesting and the shape of their JSON.

use crate::error::Error;
use crate::number::NumberError;

/// `{}` in place of an attribute value.
pub const EMPTY_VALUE: &str =
    "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
/// `{"S": "a", "N": "1"}`.
pub const SEVERAL_TYPES: &str = "Supplied AttributeValue has more than one datatypes set, must \
     contain exactly one of the supported datatypes";
/// `{"NULL": false}`.
pub const NULL_NOT_TRUE: &str = "One or more parameter values were invalid: Null attribute value \
     types must have the value of true";
/// `{"SS": []}`; the grammar and the two spaces are AWS's.
pub const EMPTY_STRING_SET: &str =
    "One or more parameter values were invalid: An string set  may not be empty";
/// `{"NS": []}`.
pub const EMPTY_NUMBER_SET: &str =
    "One or more parameter values were invalid: An number set  may not be empty";
/// `{"BS": []}`.
pub const EMPTY_BINARY_SET: &str =
    "One or more parameter values were invalid: Binary sets should not be empty";
/// Two equal members of a number set; unlike the other sets, AWS does not list them.
pub const DUPLICATE_NUMBERS: &str = "Input collection contains duplicates";
/// More than 32 levels of lists and maps.
pub const NESTING: &str = "Nesting Levels have exceeded supported limits: Attributes in the item \
     have nested levels beyond supported limit";
/// An attribute name of no characters, at any level.
pub const NAME_EMPTY: &str = "Empty attribute name";
/// An attribute name of 64 KB or more, at any level.
pub const NAME_TOO_LONG: &str = "Attribute name is too large, must be less than 65536 bytes";

/// The message for a text or a result that is not a number.
pub fn number(error: &NumberError) -> String {
    match error {
        NumberError::NotNumeric(text) if text.is_empty() => {
            "The parameter cannot be converted to a numeric value".into()
        }
        NumberError::NotNumeric(text) => {
            format!("The parameter cannot be converted to a numeric value: {text}")
        }
        NumberError::TooManyDigits => {
            "Attempting to store more than 38 significant digits in a Number".into()
        }
        NumberError::Overflow => "Number overflow. Attempting to store a number with magnitude \
             larger than supported range"
            .into(),
        NumberError::Underflow => "Number underflow. Attempting to store a number with magnitude \
             smaller than supported range"
            .into(),
    }
}

/// Two equal members of a string set.
pub fn duplicate_strings(members: &[impl AsRef<str>]) -> String {
    format!(
        "One or more parameter values were invalid: Input collection [{}] contains duplicates.",
        joined(members)
    )
}

/// Two equal members of a binary set, given in Base64. The missing space is AWS's.
pub fn duplicate_binaries(members: &[impl AsRef<str>]) -> String {
    format!(
        "One or more parameter values were invalid: Input collection [{}]of type BS contains \
         duplicates.",
        joined(members)
    )
}

fn joined(members: &[impl AsRef<str>]) -> String {
    members.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// The body is not JSON. AWS sends no message with this error.
pub fn not_json() -> Error {
    Error::Serialization(String::new())
}

/// A scalar of the wrong JSON type: `NUMBER_VALUE cannot be converted to String`.
pub fn not_convertible(found: &str, wanted: &str) -> Error {
    Error::Serialization(format!("{found} cannot be converted to {wanted}"))
}

/// A list in place of the Java class `class`.
pub fn unexpected_list(class: &str) -> Error {
    Error::Serialization(format!("Unrecognized collection type {class}"))
}

/// An object in place of a scalar or a list.
pub fn unexpected_object() -> Error {
    Error::Serialization("Start of structure or map found where not expected.".into())
}

/// A scalar in place of a list or a map.
pub fn unexpected_field() -> Error {
    Error::Serialization("Unexpected field type".into())
}

/// A scalar in place of an attribute value, or of a structure inside a list or map.
pub fn unexpected_value() -> Error {
    Error::Serialization("Unexpected value type in payload".into())
}

/// A scalar in place of a list or map inside another list or map: AWS lets Java's own error
/// through.
pub fn unexpected_generic() -> Error {
    const GENERIC: &str = "sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl";
    Error::Serialization(format!(
        "class {GENERIC} cannot be cast to class java.lang.Class ({GENERIC} and java.lang.Class are in module \
         java.base of loader 'bootstrap')"
    ))
}

/// A string that is not a boolean.
pub fn unexpected_token() -> Error {
    Error::Serialization("Unexpected token received from parser".into())
}

/// A JSON number or boolean in place of Base64.
pub fn not_base64() -> Error {
    Error::Serialization("only base-64-encoded strings are convertible to bytes".into())
}

/// Base64 without its padding.
pub fn base64_length(length: usize) -> Error {
    Error::Serialization(format!(
        "Base64 encoded length is expected a multiple of 4 bytes but found: {length}"
    ))
}

/// Text that is not Base64; the spelling is AWS's.
pub fn base64_invalid() -> Error {
    Error::Serialization("Invalid last non-pad Base64 character dectected".into())
}
