//! Exponent limits of AWS's PartiQL layer.
//!
//! That layer represents a number by its digits and a scale (digits after the point minus the
//! exponent), and both the exponent and the scale are 32-bit integers. A number outside that range
//! cannot be parsed, and one just inside overflows when its magnitude is computed.

use super::NumberError;

/// Whether exponent and scale of a number, which must match the number grammar, fit into 32 bits.
pub fn has_readable_scale(text: &str) -> bool {
    parts(text).is_none_or(|(exponent, scale, _)| {
        i32::try_from(exponent).is_ok() && i32::try_from(scale).is_ok()
    })
}

/// The error of AWS's PartiQL layer for a number, if it differs from that of
/// [`super::Number::parse`].
pub fn scale_error(text: &str) -> Option<NumberError> {
    let (_, scale, precision) = parts(text)?;
    if !has_readable_scale(text) {
        return Some(NumberError::NotNumeric(text.to_owned()));
    }
    let wraps = precision > 0 && precision - scale > i64::from(i32::MAX);
    wraps.then_some(NumberError::Underflow)
}

/// The exponent, the scale and the number of significant digits of a number with an exponent.
fn parts(text: &str) -> Option<(i64, i64, i64)> {
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    let digits = exponent.trim_start_matches(['+', '-']);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Saturated: far beyond a limit is the same as just beyond it.
    let size = digits
        .trim_start_matches('0')
        .get(..12)
        .map_or_else(|| digits.parse().unwrap_or(i64::from(u32::MAX)), |_| i64::from(u32::MAX) * 2);
    let exponent = if exponent.starts_with('-') { -size } else { size };
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i64);
    let significant = mantissa.bytes().filter(u8::is_ascii_digit).skip_while(|byte| *byte == b'0');
    Some((exponent, fraction - exponent, significant.count() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_beyond_32_bits_cannot_be_parsed() {
        for (text, readable) in [
            ("1", true),
            ("1e126", true),
            ("1e2147483647", true),
            ("1e2147483648", false),
            ("1e-2147483647", true),
            ("1e-2147483648", false),
            ("1.5e-2147483647", false),
            ("1e99999999999", false),
            ("1e99999999999999999999999", false),
            ("1e00000000000000000000001", true),
            ("abc", true),
            ("1e", true),
        ] {
            assert_eq!(has_readable_scale(text), readable, "{text}");
        }
    }

    #[test]
    fn the_largest_exponents_wrap_around() {
        assert_eq!(scale_error("1e2147483647"), Some(NumberError::Underflow));
        assert_eq!(scale_error("-10e2147483646"), Some(NumberError::Underflow));
        assert_eq!(scale_error("0e2147483647"), None);
        assert_eq!(scale_error("1e126"), None);
        assert_eq!(scale_error("12"), None);
        assert!(matches!(scale_error("1e99999999999"), Some(NumberError::NotNumeric(_))));
    }
}
