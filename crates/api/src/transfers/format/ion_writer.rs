//! Items as Ion text, in the form that AWS's exports have.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom_core::json::{write_list, write_object};
use keyloom_core::{AttributeValue, Item, Number};

/// What stands at the beginning of each line.
pub const ION_VERSION: &str = "$ion_1_0 ";

/// Numbers down to a millionth are written with a point, smaller ones with an exponent.
const SMALLEST_POINT: i64 = -6;

/// Writes an item as a struct.
pub fn write_item(item: &Item, out: &mut Vec<u8>) {
    write_object(item, write_symbol, write_value, out);
}

fn write_value(value: &AttributeValue, out: &mut Vec<u8>) {
    match value {
        AttributeValue::S(text) => write_string(text, out),
        AttributeValue::N(number) => write_number(number, out),
        AttributeValue::B(bytes) => write_blob(bytes, out),
        AttributeValue::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
        AttributeValue::Null => out.extend_from_slice(b"null"),
        AttributeValue::Ss(members) => {
            out.extend_from_slice(b"$dynamodb_SS::");
            write_list(members, |member, out| write_string(member, out), out);
        }
        AttributeValue::Ns(members) => {
            out.extend_from_slice(b"$dynamodb_NS::");
            write_list(members, write_number, out);
        }
        AttributeValue::Bs(members) => {
            out.extend_from_slice(b"$dynamodb_BS::");
            write_list(members, |member, out| write_blob(member, out), out);
        }
        AttributeValue::L(elements) => write_list(elements, write_value, out),
        AttributeValue::M(map) => write_item(map, out),
    }
}

fn write_blob(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{{{{{}}}}}", STANDARD.encode(bytes)).as_bytes());
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escape(text, b'"', out);
    out.push(b'"');
}

/// A name, in quotes unless it is an identifier.
fn write_symbol(name: &str, out: &mut Vec<u8>) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    let is_identifier = name.bytes().all(is_part)
        && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
        // `$1` would be a number in a symbol table.
        && !name.strip_prefix('$').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
        && !matches!(name, "null" | "true" | "false" | "nan");
    if is_identifier {
        out.extend_from_slice(name.as_bytes());
    } else {
        out.push(b'\'');
        escape(name, b'\'', out);
        out.push(b'\'');
    }
}

fn escape(text: &str, quote: u8, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 | 0x7F => out.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
            byte if byte == quote => out.extend_from_slice(&[b'\\', byte]),
            byte => out.push(byte),
        }
    }
}

/// Writes a number as a decimal: `103.`, `6d2`, `8.5`, `0.001`, `1d-7`.
pub fn write_number(number: &Number, out: &mut Vec<u8>) {
    let mut plain = Vec::new();
    number.write_to(&mut plain);
    let plain = String::from_utf8_lossy(&plain);
    let (sign, plain) = match plain.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", plain.as_ref()),
    };
    let text = match plain.split_once('.') {
        None => {
            let digits = plain.trim_end_matches('0');
            match plain.len() - digits.len() {
                _ if digits.is_empty() => "0.".to_owned(),
                0 => format!("{digits}."),
                zeros => format!("{digits}d{zeros}"),
            }
        }
        Some((whole, fraction)) => {
            let all = format!("{whole}{fraction}");
            let digits = all.trim_start_matches('0');
            let exponent = -(fraction.len() as i64);
            if digits.len() as i64 - 1 + exponent >= SMALLEST_POINT {
                plain.to_owned()
            } else {
                format!("{digits}d{exponent}")
            }
        }
    };
    out.extend_from_slice(sign.as_bytes());
    out.extend_from_slice(text.as_bytes());
}
