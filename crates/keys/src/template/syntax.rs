//! The text of a template: literals, `{name}`, `{name:format}`, and doubled braces for literal ones.

use std::ops::Range;

use super::{Field, MAX_FIELDS, Segment};
use crate::error::TemplateError;
use crate::escape::SENTINEL;
use crate::format::FieldFormat;

/// A segment and its position in the text.
pub(super) struct Piece {
    pub(super) segment: Segment,
    pub(super) span: Range<usize>,
}

/// Parses the text of a template into segments.
pub(super) fn read(
    text: &str,
    formats: impl Fn(&str) -> Option<FieldFormat>,
) -> Result<Vec<Piece>, TemplateError> {
    let mut reader = Reader { text, at: 0, pieces: Vec::new() };
    while let Some(c) = reader.peek() {
        match c {
            '{' if !reader.rest().starts_with("{{") => {
                let piece = reader.field(&formats)?;
                reader.pieces.push(piece);
            }
            _ => {
                let piece = reader.literal()?;
                reader.pieces.push(piece);
            }
        }
    }
    if reader.pieces.is_empty() {
        return Err(reader.refuse(
            0..0,
            "it is empty",
            "write literal text and fields such as `USER#{id}`",
        ));
    }
    reader.check_names()?;
    Ok(reader.pieces)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    pieces: Vec<Piece>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn refuse(
        &self,
        span: Range<usize>,
        reason: impl Into<String>,
        fix: impl Into<String>,
    ) -> TemplateError {
        TemplateError {
            template: self.text.to_owned(),
            span,
            reason: reason.into(),
            fix: fix.into(),
            ambiguous: false,
        }
    }

    fn literal(&mut self) -> Result<Piece, TemplateError> {
        let start = self.at;
        let mut literal = String::new();
        while let Some(c) = self.peek() {
            let doubled = self.rest().starts_with("{{") || self.rest().starts_with("}}");
            match c {
                '{' if !doubled => break,
                '}' if !doubled => {
                    let span = self.at..self.at + 1;
                    return Err(self.refuse(
                        span,
                        "a `}` closes nothing",
                        "write `}}` for a literal brace",
                    ));
                }
                SENTINEL => {
                    let span = self.at..self.at + c.len_utf8();
                    return Err(self.refuse(
                        span,
                        "U+10FFFF is kept back as the upper end of ranges",
                        "leave it out",
                    ));
                }
                _ => {}
            }
            literal.push(c);
            self.at += if doubled { 2 } else { c.len_utf8() };
        }
        Ok(Piece { segment: Segment::Literal(literal), span: start..self.at })
    }

    fn field(
        &mut self,
        formats: &impl Fn(&str) -> Option<FieldFormat>,
    ) -> Result<Piece, TemplateError> {
        let start = self.at;
        let Some(length) = self.rest().find('}') else {
            let span = start..self.text.len();
            return Err(self.refuse(
                span,
                "a `{` is not closed",
                "close the field with `}`, or write `{{`",
            ));
        };
        let span = start..start + length + 1;
        let inside = self.text.get(start + 1..start + length).unwrap_or_default();
        let (name, format) = match inside.split_once(':') {
            Some((name, format)) => (name.trim(), Some(format)),
            None => (inside.trim(), None),
        };
        if !is_name(name) {
            return Err(self.refuse(
                span,
                format!("`{name}` is not a field name"),
                "begin with a letter or `_`; then letters, digits, `_`, `-`, `.`",
            ));
        }
        let format = match format {
            Some(format) => FieldFormat::parse(format).map_err(|error| {
                self.refuse(
                    span.clone(),
                    format!("field `{name}` has format `{format}`: {}", error.reason()),
                    "write for example `{at:datetime}`, `{n:u32:6}` or `{id:ulid}`",
                )
            })?,
            None => formats(name).unwrap_or_else(FieldFormat::string),
        };
        let name = name.to_owned();
        self.at = span.end;
        Ok(Piece { segment: Segment::Field(Field { name, format }), span })
    }

    fn check_names(&self) -> Result<(), TemplateError> {
        let mut seen: Vec<&str> = Vec::new();
        for piece in &self.pieces {
            let Some(field) = piece.segment.as_field() else { continue };
            if seen.contains(&field.name()) {
                return Err(self.refuse(
                    piece.span.clone(),
                    format!("the field `{}` occurs twice", field.name()),
                    "give each field its own name",
                ));
            }
            if seen.len() == MAX_FIELDS {
                return Err(self.refuse(
                    piece.span.clone(),
                    format!("it has more than {MAX_FIELDS} fields"),
                    "keep in the key only what is queried by",
                ));
            }
            seen.push(field.name());
        }
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Infers the separator from a template's text: `#` wherever it occurs, else the punctuation that follows a field, else a
/// conventional mark before one, else `#`.
pub(super) fn infer_separator(pieces: &[Piece]) -> String {
    let literals = || pieces.iter().filter_map(|piece| piece.segment.as_literal());
    if literals().any(|literal| literal.contains('#')) {
        return "#".to_owned();
    }
    let is_field = |piece: &Piece| piece.segment.as_field().is_some();
    for pair in pieces.windows(2) {
        if let [before, after] = pair
            && is_field(before)
            && let Some(literal) = after.segment.as_literal()
        {
            let mark: String = literal.chars().take_while(|c| !c.is_alphanumeric()).collect();
            if !mark.is_empty() && !mark.contains(['{', '}']) {
                return mark;
            }
        }
    }
    let shown =
        ["::", "|", "/", ":"].into_iter().find(|mark| literals().any(|text| text.ends_with(mark)));
    shown.unwrap_or("#").to_owned()
}
