//! A JSON document as a tree that borrows from the text.
//!
//! Request bodies are read on every call, so this is written for speed: one pass, no copy of a
//! string unless it has an escape, numbers left as text.

use std::borrow::Cow;

use super::plain::plain_prefix;

/// The deepest nesting: twice what the deepest item needs, and no stack is exhausted.
const MAX_DEPTH: usize = 128;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(JsonNumber<'a>),
    /// A string.
    Str(Cow<'a, str>),
    /// A list.
    Array(Vec<Json<'a>>),
    /// An object.
    Object(JsonObject<'a>),
}

/// A number, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonNumber<'a>(&'a str);

impl<'a> JsonNumber<'a> {
    /// The number as it was written.
    pub fn as_str(&self) -> &'a str {
        self.0
    }

    /// The number, if it is a whole one that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// The number without its fraction, which AWS's deserializer cuts off where a whole one belongs.
    pub fn as_whole(&self) -> Option<i64> {
        self.as_i64().or_else(|| Some(self.as_f64()? as i64))
    }

    /// The nearest binary fraction.
    pub fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok()
    }

    /// Whether it is written with a point or an exponent.
    pub fn is_f64(&self) -> bool {
        self.0.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
    }
}

/// The members of an object, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonObject<'a>(Vec<(Cow<'a, str>, Json<'a>)>);

impl<'a> JsonObject<'a> {
    pub(super) fn new(members: Vec<(Cow<'a, str>, Json<'a>)>) -> Self {
        Self(members)
    }

    /// The member of this name; the last one, if it is there twice.
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// All members, in the order of the text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for JsonObject<'a> {
    type Item = (Cow<'a, str>, Json<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Parses a document; `None` if the text is not JSON.
pub(super) fn parse(text: &[u8]) -> Option<Json<'_>> {
    let mut parser = Parser::new(text)?;
    let value = parser.any_value(0)?;
    parser.finish()?;
    Some(value)
}

pub(super) struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Parser<'a> {
    /// Stands at the first value of the text, which must be UTF-8.
    pub(super) fn new(text: &'a [u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let mut parser = Parser { text, bytes: text.as_bytes(), position: 0 };
        parser.skip_space();
        Some(parser)
    }

    /// Nothing may be left.
    pub(super) fn finish(mut self) -> Option<()> {
        self.skip_space();
        (self.position == self.text.len()).then_some(())
    }

    /// Any value, inside so many others.
    pub(super) fn any_value(&mut self, inside: usize) -> Option<Json<'a>> {
        self.value(MAX_DEPTH.saturating_sub(inside))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.position += 1;
        }
    }

    /// Takes `byte`, if it comes next.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.position += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        match self.peek()? {
            b'"' => self.string().map(Json::Str),
            b'{' => self.object(depth.checked_sub(1)?),
            b'[' => self.array(depth.checked_sub(1)?),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            _ => self.number().map(Json::Number),
        }
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Option<Json<'a>> {
        let rest = self.bytes.get(self.position..)?;
        self.position += word.len();
        rest.starts_with(word.as_bytes()).then_some(value)
    }

    fn object(&mut self, depth: usize) -> Option<Json<'a>> {
        let mut members = Vec::new();
        let mut first = None;
        self.members(|parser, name| {
            let member = (name, parser.value(depth)?);
            // Most objects are attribute values, which have one member: a list that has not grown yet
            // is four times as large as that.
            match first.take() {
                None if members.is_empty() => first = Some(member),
                None => members.push(member),
                Some(earlier) => members.extend([earlier, member]),
            }
            Some(())
        })?;
        if let Some(only) = first {
            members = vec![only];
        }
        Some(Json::Object(JsonObject(members)))
    }

    /// The members of an object; each value is left to `read`.
    #[inline]
    pub(super) fn members(
        &mut self,
        mut read: impl FnMut(&mut Self, Cow<'a, str>) -> Option<()>,
    ) -> Option<()> {
        if !self.take(b'{') {
            return None;
        }
        self.skip_space();
        if self.take(b'}') {
            return Some(());
        }
        loop {
            let name = self.string()?;
            self.skip_space();
            if !self.take(b':') {
                return None;
            }
            self.skip_space();
            read(self, name)?;
            self.skip_space();
            if self.take(b'}') {
                return Some(());
            }
            if !self.take(b',') {
                return None;
            }
            self.skip_space();
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json<'a>> {
        let mut elements = Vec::new();
        self.elements(|parser| {
            elements.push(parser.value(depth)?);
            Some(())
        })?;
        Some(Json::Array(elements))
    }

    /// The elements of an array; each value is left to `read`.
    #[inline]
    pub(super) fn elements(&mut self, mut read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if !self.take(b'[') {
            return None;
        }
        self.skip_space();
        if self.take(b']') {
            return Some(());
        }
        loop {
            read(self)?;
            self.skip_space();
            if self.take(b']') {
                return Some(());
            }
            if !self.take(b',') {
                return None;
            }
            self.skip_space();
        }
    }

    /// Parses a string after its opening quote.
    pub(super) fn string(&mut self) -> Option<Cow<'a, str>> {
        if !self.take(b'"') {
            return None;
        }
        let start = self.position;
        self.skip_plain()?;
        match self.peek()? {
            b'"' => {
                let text = self.text.get(start..self.position)?;
                self.position += 1;
                Some(Cow::Borrowed(text))
            }
            b'\\' => self.escaped_string(start).map(Cow::Owned),
            _ => None,
        }
    }

    /// Goes to the next special byte of a string.
    fn skip_plain(&mut self) -> Option<()> {
        self.position += plain_prefix(self.bytes.get(self.position..)?);
        Some(())
    }

    /// Goes on with a string in which an escape was met.
    fn escaped_string(&mut self, start: usize) -> Option<String> {
        let mut text = self.text.get(start..self.position)?.to_owned();
        loop {
            let from = self.position;
            self.skip_plain()?;
            text.push_str(self.text.get(from..self.position)?);
            match self.peek()? {
                b'"' => {
                    self.position += 1;
                    return Some(text);
                }
                b'\\' => {
                    self.position += 1;
                    text.push(self.escape()?);
                }
                _ => return None,
            }
        }
    }

    /// The character of an escape, behind its backslash.
    fn escape(&mut self) -> Option<char> {
        let byte = self.peek()?;
        self.position += 1;
        Some(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.hex()?;
                if !(0xD800..0xE000).contains(&unit) {
                    return char::from_u32(unit);
                }
                // A high surrogate needs its low one; alone, neither is a character.
                if unit >= 0xDC00 || !(self.take(b'\\') && self.take(b'u')) {
                    return None;
                }
                let low = self.hex()?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                return char::from_u32(0x10000 + ((unit - 0xD800) << 10) + low);
            }
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.position..self.position + 4)?;
        self.position += 4;
        digits.iter().try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
    }

    fn number(&mut self) -> Option<JsonNumber<'a>> {
        let start = self.position;
        self.take(b'-');
        match self.peek()? {
            b'0' => self.position += 1,
            b'1'..=b'9' => self.digits()?,
            _ => return None,
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Some(JsonNumber(self.text.get(start..self.position)?))
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<()> {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        (self.position > start).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same document as another parser reads it.
    fn reference(json: &Json<'_>) -> serde_json::Value {
        match json {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => (*value).into(),
            Json::Number(number) => serde_json::from_str(number.as_str()).unwrap(),
            Json::Str(text) => text.as_ref().into(),
            Json::Array(elements) => elements.iter().map(reference).collect(),
            Json::Object(members) => serde_json::Value::Object(
                members.iter().map(|(name, value)| (name.to_owned(), reference(value))).collect(),
            ),
        }
    }

    #[test]
    fn documents_are_read_or_refused_as_another_parser_does() {
        for text in [
            "null",
            " true ",
            "[]",
            "{}",
            "[1,2.5,-0,1e3,1E-2]",
            r#"{"a":{"b":[null,"c"]}}"#,
            r#""\u00e9\n\t\"\\\/\b\f\r""#,
            r#""\ud83d\ude00""#,
            r#""\ud83d""#,
            r#""\ude00""#,
            r#""\ud83d\u0041""#,
            r#""\x""#,
            "\"\u{1}\"",
            "\"",
            "[1,]",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            "01",
            "1.",
            ".5",
            "-",
            "+1",
            "1e",
            "tru",
            "nul",
            "[1 2]",
            "",
            " ",
            "{}x",
            r#"{"a":1,}"#,
            "\"caf\u{e9}\"",
            "1e400",
        ] {
            let ours = parse(text.as_bytes());
            let theirs = serde_json::from_str::<serde_json::Value>(text).ok();
            // A number too large for binary is none of JSON's grammar: we keep it as text.
            if text != "1e400" {
                assert_eq!(ours.as_ref().map(reference), theirs, "{text}");
            }
        }
        assert!(parse(b"\"\xff\"").is_none());
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_some());
        assert!(parse(nested(MAX_DEPTH + 1).as_bytes()).is_none());
        assert!(parse(nested(100_000).as_bytes()).is_none());
    }

    #[test]
    fn of_two_members_with_one_name_the_last_counts() {
        let Some(Json::Object(object)) = parse(br#"{"a":1,"a":2}"#) else { panic!("an object") };
        assert_eq!(
            object.get("a").and_then(|json| match json {
                Json::Number(number) => number.as_i64(),
                _ => None,
            }),
            Some(2)
        );
    }

    proptest! {
        #[test]
        fn any_text_is_judged_as_another_parser_does(text in r#"[\[\]{}:,"\\a-f0-9eE.+\- tnu]{0,24}"#) {
            let ours = parse(text.as_bytes()).is_some();
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            // Numbers beyond a double are errors there, and only there.
            let too_large = theirs.as_ref().is_err_and(|error| error.to_string().contains("number out of range"));
            prop_assert!(ours == theirs.is_ok() || too_large, "{text}");
        }
    }
}
