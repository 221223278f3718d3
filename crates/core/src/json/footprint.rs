//! How much memory a document takes when it is decoded, from a look at its text.
//!
//! A few bytes of JSON can become a large tree. The memory must be reserved before it is parsed.

use super::plain::plain_prefix;

/// What each bracket, brace, comma and colon can stand for: a slot of a list that is just being doubled, an
/// object of its own with its member, a value made of it. `crates/testkit/tests/decoding.rs` measures it.
const BYTES_PER_MARK: usize = 88;
/// Up to so many bytes the quick look is good enough.
const EXACT_FROM_BYTES: usize = 1 << 20;
const BLOCK: usize = 64;

/// An upper bound of the memory that a document and the values read from it take.
///
/// ```
/// let text = br#"{"L":[{"NULL":true},{"NULL":true}]}"#;
/// assert!((200..2000).contains(&keyloom_core::json::decoded_bytes(text)));
/// ```
pub fn decoded_bytes(text: &[u8]) -> usize {
    let of = |marks: usize| text.len() + marks * BYTES_PER_MARK;
    let most = of(marks(text));
    if most < EXACT_FROM_BYTES { most } else { of(marks_outside_strings(text)) }
}

fn is_mark(byte: u8) -> bool {
    // Brackets and braces differ in one bit; those that close are not counted.
    byte == b',' || byte == b':' || byte | 0x20 == b'{'
}

/// All marks, those in strings included.
fn marks(text: &[u8]) -> usize {
    // Sums of blocks fit into a byte, which compiles to vector instructions.
    let in_block = |block: &[u8]| block.iter().map(|byte| u8::from(is_mark(*byte))).sum::<u8>();
    text.chunks(BLOCK).map(|block| usize::from(in_block(block))).sum()
}

/// The marks of the document itself. Of text that is no JSON it counts some, which does no harm: nothing
/// is made of it.
fn marks_outside_strings(text: &[u8]) -> usize {
    let (mut rest, mut count) = (text, 0);
    while let [first, tail @ ..] = rest {
        count += usize::from(is_mark(*first));
        rest = if *first == b'"' { after_string(tail) } else { tail };
    }
    count
}

/// What comes behind a string, whose opening quote is gone.
fn after_string(mut rest: &[u8]) -> &[u8] {
    loop {
        rest = rest.get(plain_prefix(rest)..).unwrap_or_default();
        rest = match rest {
            [b'"', tail @ ..] => return tail,
            // An escaped character, which may be a quote.
            [b'\\', _, tail @ ..] => tail,
            [_, tail @ ..] => tail,
            [] => return rest,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marks_outside_strings_count() {
        for (text, all, outside) in [
            ("", 0, 0),
            ("{}", 1, 1),
            ("[1,2,3]", 3, 3),
            (r#"{"a":{"S":"x,y:[{"}}"#, 8, 4),
            (r#"{"a\"b,":"\\","c":1}"#, 5, 4),
            (r#"["a,"#, 2, 1),
            (r#"["a\"#, 1, 1),
        ] {
            assert_eq!(marks(text.as_bytes()), all, "{text}");
            assert_eq!(marks_outside_strings(text.as_bytes()), outside, "{text}");
        }
    }

    #[test]
    fn large_text_with_marks_in_it_is_not_taken_for_a_large_tree() {
        let text = format!(r#"{{"S":"{}"}}"#, "a,b:[c]{d} ".repeat(100_000));
        assert_eq!(decoded_bytes(text.as_bytes()), text.len() + 2 * BYTES_PER_MARK);
        let list = format!("[{}0]", "0,".repeat(1_000_000));
        assert_eq!(decoded_bytes(list.as_bytes()), list.len() + 1_000_001 * BYTES_PER_MARK);
    }
}
