//! Amazon Ion, as text: a sequence of structs with the field `Item`, or lists of such structs.
//!
//! The whole text syntax is read, whether or not DynamoDB has a type for a value, so that one row that cannot be an
//! item does not hide the next. Not read are symbol tables, and binary Ion: exports are text.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use keyloom_core::error::transfer as message;

use super::input::Input;
use super::ion_value::{Content, Ion, beside, item};
use super::{Fault, Row, shown};

/// Deeper than any item, which has 32 levels, and not so deep that reading it would need much stack.
const MAX_DEPTH: usize = 64;

const BINARY_MARKER: [u8; 4] = [0xE0, 0x01, 0x00, 0xEA];
const VERSION: &str = "$ion_1_0";

type Parsed<T> = Result<T, Fault>;

/// Reads items from Ion text, one at a time.
pub(super) struct IonRows<R> {
    input: Input<R>,
    /// Whether the next row is an element of a list.
    in_list: bool,
    /// What keeps the row from being an item, although its end can be found.
    problem: Option<String>,
}

impl<R: Read> IonRows<R> {
    pub(super) fn new(input: Input<R>) -> Self {
        Self { input, in_list: false, problem: None }
    }

    pub(super) fn line(&self) -> u64 {
        self.input.row_line()
    }

    pub(super) fn next_row(&mut self) -> Parsed<Option<Row>> {
        loop {
            self.input.begin_row();
            self.problem = None;
            self.space()?;
            match self.input.peek()? {
                None if self.in_list => return Err(Fault::malformed("a list is not closed")),
                None => return Ok(None),
                Some(b']') if self.in_list => {
                    self.in_list = false;
                    self.input.advance(1)?;
                    continue;
                }
                Some(b'[') if !self.in_list => {
                    self.in_list = true;
                    self.input.advance(1)?;
                    continue;
                }
                Some(_) => {}
            }
            if self.input.eat_all(&BINARY_MARKER)? {
                let reason = "it is binary Ion, which is not read: convert it to text, the format of exports";
                return Err(Fault::malformed(reason));
            }
            let row = self.value(0)?;
            if self.in_list {
                self.end_of_element(b']')?;
            } else if is_version(&row)? {
                continue;
            }
            let bytes = self.input.row_bytes();
            let item = match self.problem.take() {
                _ if self.input.is_too_long() => Err(message::row_too_long()),
                Some(problem) => Err(message::row_unreadable(&problem)),
                None => item(&row),
            };
            return Ok(Some(Row { bytes, item, beside: beside(&row) }));
        }
    }

    /// White space and comments.
    fn space(&mut self) -> Parsed<()> {
        loop {
            match self.input.peek()? {
                Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C) => self.input.advance(1)?,
                Some(b'/') if self.input.eat_all(b"//")? => {
                    while !matches!(self.input.take()?, None | Some(b'\n' | b'\r')) {}
                }
                Some(b'/') if self.input.eat_all(b"/*")? => {
                    while !self.input.eat_all(b"*/")? {
                        if self.input.take()?.is_none() {
                            return Err(Fault::malformed("a comment is not closed"));
                        }
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// A comma, or the end of the container, which stays.
    fn end_of_element(&mut self, end: u8) -> Parsed<()> {
        self.space()?;
        match self.input.peek()? {
            Some(byte) if byte == end => Ok(()),
            Some(b',') => self.input.advance(1),
            other => Err(unexpected(other, "a comma or the end of a list or struct")),
        }
    }

    /// A value behind its annotations.
    fn value(&mut self, depth: usize) -> Parsed<Ion> {
        let mut annotations = Vec::new();
        loop {
            self.space()?;
            let content = self.content(depth)?;
            if let Content::Symbol(name) = &content {
                self.space()?;
                if self.input.eat_all(b"::")? {
                    annotations.push(name.clone());
                    continue;
                }
            }
            return Ok(Ion { annotations, content });
        }
    }

    fn content(&mut self, depth: usize) -> Parsed<Content> {
        match self.input.peek()? {
            Some(b'{' | b'[' | b'(') if depth >= MAX_DEPTH => self.skip_container(),
            Some(b'"') => self.short_string().map(Content::String),
            Some(b'\'') if self.input.eat_all(b"'''")? => self.long_string().map(Content::String),
            Some(b'\'') => self.quoted_symbol().map(Content::Symbol),
            Some(b'{') if self.input.eat_all(b"{{")? => self.lob(),
            Some(b'{') => self.fields(depth),
            Some(b'[') => self.list(depth),
            Some(b'(') => self.expression(depth),
            Some(byte) if byte.is_ascii_digit() || matches!(byte, b'-' | b'+') => self.number(),
            Some(byte) if is_identifier(byte) => Ok(word(self.identifier()?)),
            other => Err(unexpected(other, "a value")),
        }
    }

    /// A list, struct or expression that is nested too deep: its end is found without recursion.
    fn skip_container(&mut self) -> Parsed<Content> {
        self.note("values are nested more than 64 deep");
        let mut open = 0usize;
        loop {
            self.space()?;
            match self.input.peek()? {
                None => return Err(unexpected(None, "the end of a list or struct")),
                Some(b'"') => drop(self.short_string()?),
                Some(b'\'') if self.input.eat_all(b"'''")? => drop(self.long_string()?),
                Some(b'\'') => drop(self.quoted_symbol()?),
                Some(b'{') if self.input.eat_all(b"{{")? => drop(self.lob()?),
                Some(byte) => {
                    self.input.advance(1)?;
                    match byte {
                        b'{' | b'[' | b'(' => open += 1,
                        b'}' | b']' | b')' => open = open.saturating_sub(1),
                        _ => {}
                    }
                }
            }
            if open == 0 {
                return Ok(Content::Other("values that are nested too deep"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Parsed<Content> {
        self.input.advance(1)?;
        let mut elements = Vec::new();
        loop {
            self.space()?;
            if self.input.eat(b']')? {
                return Ok(Content::List(elements));
            }
            let element = self.value(depth + 1)?;
            if !self.input.is_too_long() {
                elements.push(element);
            }
            self.end_of_element(b']')?;
        }
    }

    fn fields(&mut self, depth: usize) -> Parsed<Content> {
        self.input.advance(1)?;
        let mut fields = Vec::new();
        loop {
            self.space()?;
            if self.input.eat(b'}')? {
                return Ok(Content::Struct(fields));
            }
            let name = self.field_name()?;
            self.space()?;
            if !self.input.eat(b':')? {
                return Err(unexpected(self.input.peek()?, "a colon behind a field's name"));
            }
            let value = self.value(depth + 1)?;
            if !self.input.is_too_long() {
                fields.push((name, value));
            }
            self.end_of_element(b'}')?;
        }
    }

    fn field_name(&mut self) -> Parsed<String> {
        match self.input.peek()? {
            Some(b'"') => self.short_string(),
            Some(b'\'') if self.input.eat_all(b"'''")? => self.long_string(),
            Some(b'\'') => self.quoted_symbol(),
            Some(byte) if is_identifier(byte) && !byte.is_ascii_digit() => self.identifier(),
            other => Err(unexpected(other, "the name of a field")),
        }
    }

    /// An S-expression, which is nothing to DynamoDB: operators and values up to the parenthesis.
    fn expression(&mut self, depth: usize) -> Parsed<Content> {
        self.input.advance(1)?;
        loop {
            self.space()?;
            match self.input.peek()? {
                Some(b')') => {
                    self.input.advance(1)?;
                    return Ok(Content::Other("an S-expression"));
                }
                Some(byte) if b"!#%&*+-./;<=>?@^`|~".contains(&byte) => self.input.advance(1)?,
                _ => drop(self.value(depth + 1)?),
            }
        }
    }

    /// Letters, digits, `_` and `$`.
    fn identifier(&mut self) -> Parsed<String> {
        let mut name = String::new();
        while let Some(byte) = self.input.peek()?.filter(|byte| is_identifier(*byte)) {
            if !self.input.is_too_long() {
                name.push(char::from(byte));
            }
            self.input.advance(1)?;
            // `null` may name its type.
            if name == "null" && self.input.eat(b'.')? {
                name.push('.');
            }
        }
        Ok(name)
    }

    /// A number or a timestamp: everything up to the next delimiter, then judged.
    fn number(&mut self) -> Parsed<Content> {
        let mut token = String::new();
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._:".contains(byte);
        while let Some(byte) = self.input.peek()?.filter(part) {
            if !self.input.is_too_long() {
                token.push(char::from(byte));
            }
            self.input.advance(1)?;
        }
        if self.input.is_too_long() {
            return Ok(Content::Null);
        }
        number(&token).ok_or_else(|| {
            Fault::malformed(format!("'{}' is neither a number nor a timestamp", shown(&token)))
        })
    }

    /// `{{base64}}`, or a clob.
    fn lob(&mut self) -> Parsed<Content> {
        let mut text = Vec::new();
        let mut is_clob = false;
        loop {
            match self.input.peek()? {
                Some(b'"') => {
                    self.short_string()?;
                    is_clob = true;
                }
                Some(b'\'') if self.input.eat_all(b"'''")? => {
                    self.long_string()?;
                    is_clob = true;
                }
                Some(b'}') if self.input.eat_all(b"}}")? => break,
                Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C) => self.input.advance(1)?,
                Some(_) if self.input.is_too_long() => self.input.advance(1)?,
                Some(byte) => {
                    text.push(byte);
                    self.input.advance(1)?;
                }
                None => return Err(unexpected(None, "base64")),
            }
        }
        if is_clob {
            return Ok(Content::Other("a clob"));
        }
        Ok(Content::Blob(STANDARD.decode(&text).unwrap_or_else(|_| {
            self.note("a blob is not base64");
            Vec::new()
        })))
    }

    /// Notes what keeps the row from being an item; the first problem counts.
    fn note(&mut self, problem: &str) {
        self.problem.get_or_insert_with(|| problem.to_owned());
    }

    fn short_string(&mut self) -> Parsed<String> {
        self.input.advance(1)?;
        self.text(|input| input.eat(b'"'))
    }

    fn quoted_symbol(&mut self) -> Parsed<String> {
        self.input.advance(1)?;
        self.text(|input| input.eat(b'\''))
    }

    /// The rest of a string in three quotes, and those that follow it.
    fn long_string(&mut self) -> Parsed<String> {
        let mut whole = String::new();
        loop {
            whole.push_str(&self.text(|input| input.eat_all(b"'''"))?);
            self.space()?;
            if !self.input.eat_all(b"'''")? {
                return Ok(whole);
            }
        }
    }

    /// Characters and escapes up to an end.
    fn text(&mut self, mut end: impl FnMut(&mut Input<R>) -> Parsed<bool>) -> Parsed<String> {
        let mut text = Vec::new();
        loop {
            if end(&mut self.input)? {
                return Ok(String::from_utf8(text).unwrap_or_else(|_| {
                    self.note("a string is not UTF-8");
                    String::new()
                }));
            }
            match self.input.take()? {
                None => return Err(Fault::malformed("a string is not closed")),
                Some(b'\\') => self.escape(&mut text)?,
                Some(_) if self.input.is_too_long() => {}
                Some(byte) => text.push(byte),
            }
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Parsed<()> {
        let byte = match self.input.take()? {
            Some(b'0') => 0,
            Some(b'a') => 0x07,
            Some(b'b') => 0x08,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'f') => 0x0C,
            Some(b'r') => b'\r',
            Some(b'v') => 0x0B,
            Some(byte @ (b'"' | b'\'' | b'?' | b'\\' | b'/')) => byte,
            // The line continues.
            Some(b'\n') => return Ok(()),
            Some(b'\r') => return self.input.eat(b'\n').map(drop),
            Some(digits @ (b'x' | b'u' | b'U')) => {
                let character = self.character(digits)?;
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            None => return Err(unexpected(None, "an escape")),
            Some(_) => {
                self.note("an escape is unknown");
                return Ok(());
            }
        };
        text.push(byte);
        Ok(())
    }

    /// The character of an escape in hexadecimal, which may be two halves.
    fn character(&mut self, kind: u8) -> Parsed<char> {
        let code = self.code(kind)?;
        let code = match code {
            0xD800..=0xDBFF if self.input.eat_all(b"\\u")? => {
                let low = self.code(b'u')?;
                0x10000 + ((code - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF)
            }
            code => code,
        };
        Ok(char::from_u32(code).unwrap_or_else(|| {
            self.note("an escape is no Unicode character");
            char::REPLACEMENT_CHARACTER
        }))
    }

    fn code(&mut self, kind: u8) -> Parsed<u32> {
        let digits = match kind {
            b'x' => 2,
            b'u' => 4,
            _ => 8,
        };
        let mut code = 0;
        for _ in 0..digits {
            let digit = self.input.peek()?.and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                self.note("an escape lacks digits");
                break;
            };
            self.input.advance(1)?;
            code = (code << 4) | digit;
        }
        Ok(code)
    }
}

/// Whether a value at the top is a version marker; others than 1.0 and symbol tables are refused.
fn is_version(row: &Ion) -> Parsed<bool> {
    match &row.content {
        Content::Symbol(name) if name == VERSION && row.annotations.is_empty() => Ok(true),
        Content::Symbol(name) if name.starts_with("$ion_") => {
            Err(Fault::malformed(format!("{} is not read, only {VERSION}", shown(name))))
        }
        _ if row.annotations.iter().any(|name| name == "$ion_symbol_table") => {
            Err(Fault::malformed("a symbol table is not read: write symbols as text"))
        }
        _ => Ok(false),
    }
}

fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// What a word without quotes stands for.
fn word(name: String) -> Content {
    match name.as_str() {
        "true" => Content::Bool(true),
        "false" => Content::Bool(false),
        "nan" => Content::Other("a float"),
        _ if name == "null" || name.starts_with("null.") => Content::Null,
        _ => Content::Symbol(name),
    }
}

/// The number in a token; none if it is neither number nor timestamp.
fn number(token: &str) -> Option<Content> {
    if matches!(token, "+inf" | "-inf") {
        return Some(Content::Other("a float"));
    }
    let (sign, digits) = match token.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", token),
    };
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2)] {
        if let Some(digits) = plain.strip_prefix(prefix) {
            let is_digit = |digit: char| digit.is_digit(radix);
            if digits.is_empty() || !digits.chars().all(is_digit) {
                return None;
            }
            return Some(match u128::from_str_radix(digits, radix) {
                Ok(value) => Content::Number(format!("{sign}{value}")),
                Err(_) => Content::Other("a number with more than 38 digits"),
            });
        }
    }
    if is_timestamp(&plain) {
        return Some(Content::Other("a timestamp"));
    }
    let (mantissa, exponent) = match plain.split_once(['d', 'D', 'e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (plain.as_str(), None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let Some(exponent) = exponent else {
        return Some(Content::Number(format!("{sign}{}", mantissa.trim_end_matches('.'))));
    };
    let magnitude = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if magnitude.is_empty() || !all_digits(magnitude) {
        return None;
    }
    if plain.contains(['e', 'E']) {
        return Some(Content::Other("a float (write a decimal: 6d2)"));
    }
    Some(Content::Number(format!("{sign}{}e{exponent}", mantissa.trim_end_matches('.'))))
}

/// Four digits, then a `T` or the month.
fn is_timestamp(text: &str) -> bool {
    let year = text.bytes().take_while(u8::is_ascii_digit).count();
    year == 4 && matches!(text.as_bytes().get(4), Some(b'T' | b'-'))
}

fn unexpected(found: Option<u8>, wanted: &str) -> Fault {
    let found = match found {
        None => "the end".to_owned(),
        Some(byte) if byte.is_ascii_graphic() => format!("'{}'", char::from(byte)),
        Some(byte) => format!("the byte {byte:#04x}"),
    };
    Fault::malformed(format!("{found} stands where {wanted} is expected"))
}
