//! The parse plan of a template, computed once. A template without one is ambiguous.
//!
//! Parsing goes from left to right without backtracking. A literal must match. A field of fixed width takes its bytes. A
//! field of varying width takes all bytes up to its stop: the end of the key, or the first separator, which its values cannot
//! contain, or the first byte of the next literal, when that byte is outside the field's alphabet. Fields of fixed width
//! between a varying one and its stop are counted back from the stop.

use std::ops::Range;

use super::syntax::Piece;
use super::{Field, Segment};
use crate::byteset::ByteSet;
use crate::escape::TextCodec;

/// How one segment is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The literal must match.
    Literal,
    /// A field of this many bytes.
    Fixed(usize),
    /// All bytes up to the stop, less those of the fixed fields in between.
    Varying {
        /// Where the field, with the fixed ones after it, ends.
        stop: Stop,
        /// Bytes of the fixed fields between this one and the stop.
        tail: usize,
    },
}

/// What ends a field of varying width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The end of the key.
    End,
    /// The separator.
    Separator,
    /// A byte that the field cannot contain.
    Byte(u8),
}

/// Why a template is ambiguous.
pub(super) struct Ambiguity {
    pub(super) span: Range<usize>,
    pub(super) reason: String,
    pub(super) fix: String,
}

/// Computes one step for each piece.
pub(super) fn compile(pieces: &[Piece], codec: &TextCodec) -> Result<Vec<Step>, Ambiguity> {
    let step = |(at, piece): (usize, &Piece)| match &piece.segment {
        Segment::Literal(_) => Ok(Step::Literal),
        Segment::Field(field) => match field.format().fixed_width() {
            Some(width) => Ok(Step::Fixed(width)),
            None => varying(field, piece, pieces.get(at + 1..).unwrap_or_default(), codec),
        },
    };
    pieces.iter().enumerate().map(step).collect()
}

fn varying(
    field: &Field,
    piece: &Piece,
    after: &[Piece],
    codec: &TextCodec,
) -> Result<Step, Ambiguity> {
    let name = field.name();
    let mut tail = 0;
    let mut tail_bytes = ByteSet::EMPTY;
    for next in after {
        let ambiguous = |reason: String, fix: String| {
            Err(Ambiguity { span: piece.span.start..next.span.end, reason, fix })
        };
        match &next.segment {
            Segment::Field(other) => match other.format().fixed_width() {
                Some(width) => {
                    tail += width;
                    tail_bytes = tail_bytes.union(other.format().alphabet_with(codec));
                }
                None => {
                    return ambiguous(
                        format!(
                            "it is ambiguous where `{name}` ends and `{}` begins",
                            other.name()
                        ),
                        format!(
                            "put a separator such as `{}` between them, or fix the width of one",
                            codec.separator()
                        ),
                    );
                }
            },
            Segment::Literal(literal) => {
                let separated =
                    field.format().is_guarded() && literal.starts_with(codec.separator());
                let first = literal.bytes().next().unwrap_or_default();
                let stop_bytes = if separated {
                    ByteSet::of(codec.separator().as_bytes())
                } else {
                    ByteSet::EMPTY.with(first)
                };
                if !separated && field.format().alphabet_with(codec).contains(first) {
                    return ambiguous(
                        format!(
                            "it is ambiguous where `{name}` ends, because its values may contain `{literal}`"
                        ),
                        format!(
                            "make `{literal}` the separator, follow the field by `{}`, or fix its width",
                            codec.separator()
                        ),
                    );
                }
                if !tail_bytes.intersection(stop_bytes).is_empty() {
                    return ambiguous(
                        format!(
                            "the end of `{name}` cannot be found, because the fields after it may contain `{literal}`"
                        ),
                        format!(
                            "put a separator such as `{}` right after `{name}`",
                            codec.separator()
                        ),
                    );
                }
                let stop = if separated { Stop::Separator } else { Stop::Byte(first) };
                return Ok(Step::Varying { stop, tail });
            }
        }
    }
    Ok(Step::Varying { stop: Stop::End, tail })
}
