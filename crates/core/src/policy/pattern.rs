//! Text with wildcards and policy variables: `table/${aws:PrincipalTag/tenant}-*`.

use std::fmt;

use super::key::ConditionKey;
use super::request::Request;

/// Text with wildcards and variables.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Pattern(Vec<Piece>);

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    /// `*`: any characters, also none.
    AnyRun,
    /// `?`: any one character.
    AnyOne,
    /// `${key}` or `${key, 'default'}`. Its value is compared as plain text.
    Variable {
        key: ConditionKey,
        default: Option<String>,
    },
}

/// Which parts of a text have a meaning of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Syntax {
    /// `*` and `?`.
    pub(super) wildcards: bool,
    /// `${…}`, which policies of the version 2012-10-17 have.
    pub(super) variables: bool,
}

/// A pattern whose variables have their values: what is left is to match it.
enum Symbol {
    Character(char),
    AnyOne,
    AnyRun,
}

impl Pattern {
    /// Reads a pattern; the error says what is wrong with it.
    pub(super) fn parse(text: &str, syntax: Syntax) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            if syntax.variables
                && let Some(inner) = rest.strip_prefix("${")
            {
                let (body, behind) = split_variable(inner)
                    .ok_or_else(|| format!("the variable in '{text}' has no closing brace"))?;
                match body {
                    "*" | "?" | "$" => plain.push_str(body),
                    _ => {
                        flush(&mut plain, &mut pieces);
                        pieces.push(variable(body)?);
                    }
                }
                rest = behind;
                continue;
            }
            let wildcard = match next {
                '*' if syntax.wildcards => Some(Piece::AnyRun),
                '?' if syntax.wildcards => Some(Piece::AnyOne),
                _ => None,
            };
            match wildcard {
                Some(wildcard) => {
                    flush(&mut plain, &mut pieces);
                    pieces.push(wildcard);
                }
                None => plain.push(next),
            }
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
        }
        flush(&mut plain, &mut pieces);
        Ok(Self(pieces))
    }

    /// The part before the first colon of its text, and the part behind it.
    fn split_colon(&self) -> Option<(Self, Self)> {
        let found = self.0.iter().enumerate().find_map(|(index, piece)| match piece {
            Piece::Text(text) => text.split_once(':').map(|(before, after)| (index, before, after)),
            _ => None,
        });
        let (index, before, after) = found?;
        let text = |text: &str| Some(Piece::Text(text.to_owned())).filter(|_| !text.is_empty());
        let left = self.0.iter().take(index).cloned().chain(text(before));
        let right = text(after).into_iter().chain(self.0.iter().skip(index + 1).cloned());
        Some((Self(left.collect()), Self(right.collect())))
    }

    /// Whether a text matches, whatever the case of letters; variables stand for nothing.
    pub(super) fn covers(&self, text: &str) -> bool {
        let symbols = self.symbols(|_| None).unwrap_or_default();
        let lower = |symbol| match symbol {
            Symbol::Character(character) => Symbol::Character(character.to_ascii_lowercase()),
            other => other,
        };
        let symbols: Vec<Symbol> = symbols.into_iter().map(lower).collect();
        glob(&symbols, &text.to_ascii_lowercase().chars().collect::<Vec<char>>())
    }

    /// Whether it is `*` and nothing else.
    pub(super) fn is_any(&self) -> bool {
        self.0 == [Piece::AnyRun]
    }

    /// Whether `text` matches; none if a variable has no value in this request.
    pub(super) fn matches(&self, text: &str, request: &Request<'_>) -> Option<bool> {
        let [Piece::Text(own)] = self.0.as_slice() else {
            let symbols = self.symbols(|key| request.single(key))?;
            return Some(glob(&symbols, &text.chars().collect::<Vec<char>>()));
        };
        Some(own == text)
    }

    /// Like [`Pattern::matches`], whatever the case of letters.
    pub(super) fn matches_ignoring_case(&self, text: &str, request: &Request<'_>) -> Option<bool> {
        let lower = |symbol: Symbol| match symbol {
            Symbol::Character(character) => {
                character.to_lowercase().map(Symbol::Character).collect()
            }
            other => vec![other],
        };
        let symbols = self.symbols(|key| request.single(key))?;
        let symbols: Vec<Symbol> = symbols.into_iter().flat_map(lower).collect();
        let text: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
        Some(glob(&symbols, &text))
    }

    fn symbols(&self, value: impl Fn(&ConditionKey) -> Option<String>) -> Option<Vec<Symbol>> {
        let mut symbols = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::AnyRun => symbols.push(Symbol::AnyRun),
                Piece::AnyOne => symbols.push(Symbol::AnyOne),
                Piece::Text(text) => symbols.extend(text.chars().map(Symbol::Character)),
                Piece::Variable { key, default } => {
                    let value = value(key).or_else(|| default.clone())?;
                    symbols.extend(value.chars().map(Symbol::Character));
                }
            }
        }
        Some(symbols)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => f.write_str(text),
            Piece::AnyRun => f.write_str("*"),
            Piece::AnyOne => f.write_str("?"),
            Piece::Variable { .. } => f.write_str("${\u{2026}}"),
        })
    }
}

fn flush(plain: &mut String, pieces: &mut Vec<Piece>) {
    if !plain.is_empty() {
        pieces.push(Piece::Text(std::mem::take(plain)));
    }
}

/// The inside of a variable and what stands behind its brace. A default value may hold braces.
fn split_variable(inner: &str) -> Option<(&str, &str)> {
    let quote = inner.find('\'').filter(|quote| inner.find('}').is_some_and(|end| *quote < end));
    let from = match quote {
        Some(open) => {
            let behind = open + 1;
            behind + inner.get(behind..)?.find('\'')? + 1
        }
        None => 0,
    };
    let end = from + inner.get(from..)?.find('}')?;
    Some((inner.get(..end)?, inner.get(end + 1..)?))
}

fn variable(body: &str) -> Result<Piece, String> {
    let (name, default) = match body.split_once(',') {
        None => (body, None),
        Some((name, default)) => {
            let text = default.trim();
            let text = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
            let text = text.ok_or_else(|| {
                format!("the default of the variable '${{{body}}}' must be in single quotes")
            })?;
            (name, Some(text.to_owned()))
        }
    };
    let key = ConditionKey::parse(name.trim())
        .ok_or_else(|| format!("the variable '${{{body}}}' is not supported"))?;
    if key.is_multivalued() {
        return Err(format!("the variable '${{{body}}}' has several values and cannot be used"));
    }
    Ok(Piece::Variable { key, default })
}

/// Matches in time proportional to the product of the lengths: after a mismatch only the last `*` takes
/// one more character.
fn glob(pattern: &[Symbol], text: &[char]) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(character) = text.get(position) {
        match pattern.get(at) {
            Some(Symbol::AnyRun) => {
                retry = Some((at, position));
                at += 1;
                continue;
            }
            Some(Symbol::AnyOne) => {}
            Some(Symbol::Character(own)) if own == character => {}
            _ => {
                let Some((star, taken)) = retry else { return false };
                retry = Some((star, taken + 1));
                at = star + 1;
                position = taken + 1;
                continue;
            }
        }
        at += 1;
        position += 1;
    }
    pattern.iter().skip(at).all(|symbol| matches!(symbol, Symbol::AnyRun))
}

/// The pattern of an ARN, or `*` for all. Each of its six parts is matched by itself: a wildcard reaches
/// over slashes, not over colons.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ArnPattern {
    Any,
    Parts(Box<[Pattern; 6]>),
}

impl ArnPattern {
    pub(super) fn parse(text: &str, syntax: Syntax) -> Result<Self, String> {
        let whole = Pattern::parse(text, syntax)?;
        if whole.is_any() {
            return Ok(Self::Any);
        }
        let no_arn = || format!("'{text}' is neither an ARN of six parts nor '*'");
        let mut parts: [Pattern; 6] = Default::default();
        let mut rest = whole;
        for part in parts.iter_mut().take(5) {
            let (first, behind) = rest.split_colon().ok_or_else(no_arn)?;
            *part = first;
            rest = behind;
        }
        if let Some(last) = parts.last_mut() {
            *last = rest;
        }
        if !matches!(parts.first().map(|first| first.0.as_slice()), Some([Piece::Text(arn)]) if arn == "arn")
        {
            return Err(no_arn());
        }
        Ok(Self::Parts(Box::new(parts)))
    }

    /// Whether an ARN matches; none if a variable has no value in this request.
    pub(super) fn matches(&self, arn: &str, request: &Request<'_>) -> Option<bool> {
        let Self::Parts(patterns) = self else { return Some(true) };
        let mut parts = arn.splitn(6, ':');
        for pattern in patterns.iter() {
            let Some(part) = parts.next() else { return Some(false) };
            if !pattern.matches(part, request)? {
                return Some(false);
            }
        }
        Some(true)
    }
}
