//! Mistakes in a design file: what is wrong, where, why, and the way out.

use std::fmt::Write as _;

use crate::source::{Source, Span};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing, without need to act.
    Info,
    /// Probably not what was meant, or it will cost.
    Warn,
    /// Wrong: data is lost, refused or returned wrongly.
    Error,
}

impl Severity {
    /// `error`, `warn` or `info`, as in JSON reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// What kind of mistake a [`Diagnostic`] reports; the codes stand beside lint rules in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// `D00`: the file cannot be read.
    Unreadable,
    /// `D01`: the text is not TOML.
    Syntax,
    /// `D02`: a key or section that means nothing here.
    UnknownKey,
    /// `D03`: a value of the wrong type or out of range, or one that is missing.
    BadValue,
    /// `D04`: a table, entity, field, index or rule that is not declared.
    UnknownName,
    /// `D05`: a key template that cannot be used.
    BadTemplate,
    /// `K03`: a key template whose keys cannot be parsed.
    AmbiguousTemplate,
    /// `D06`: a `where`, `order`, `key` or `filter` text that cannot be understood.
    BadCondition,
    /// `D07`: a suppression that suppresses nothing.
    UnusedAllow,
}

impl Code {
    /// The code as reports print it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "D00",
            Self::Syntax => "D01",
            Self::UnknownKey => "D02",
            Self::BadValue => "D03",
            Self::UnknownName => "D04",
            Self::BadTemplate => "D05",
            Self::AmbiguousTemplate => "K03",
            Self::BadCondition => "D06",
            Self::UnusedAllow => "D07",
        }
    }

    /// The codes that are not lint rules.
    pub const ALL: [Self; 8] = [
        Self::Unreadable,
        Self::Syntax,
        Self::UnknownKey,
        Self::BadValue,
        Self::UnknownName,
        Self::BadTemplate,
        Self::BadCondition,
        Self::UnusedAllow,
    ];

    /// What it reports, in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Unreadable => "file that cannot be read",
            Self::Syntax => "not TOML",
            Self::UnknownKey => "unknown key",
            Self::BadValue => "wrong or missing value",
            Self::UnknownName => "unknown name",
            Self::BadTemplate => "key template that cannot be used",
            Self::AmbiguousTemplate => "ambiguous key template",
            Self::BadCondition => "condition that cannot be understood",
            Self::UnusedAllow => "suppression that suppresses nothing",
        }
    }

    /// How bad it is.
    pub fn severity(self) -> Severity {
        if self == Self::UnusedAllow { Severity::Warn } else { Severity::Error }
    }
}

/// One mistake found while reading a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of mistake.
    pub code: Code,
    /// How severe the finding is.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The place in the file that it points to.
    pub span: Span,
    /// The part of the design it belongs to: an entity, pattern or table; empty for the file itself.
    pub subject: String,
    /// Why it is wrong.
    pub reason: Option<String>,
    /// How to put it right.
    pub fix: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            span,
            subject: String::new(),
            reason: None,
            fix: None,
        }
    }

    /// Says why it is wrong.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Says how to put it right.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<Option<String>>) -> Self {
        self.fix = fix.into();
        self
    }

    /// Names the entity, pattern or table it belongs to.
    #[must_use]
    pub fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// The diagnostic with its source excerpt, as a terminal shows it.
    pub fn render(&self, source: &Source) -> String {
        Excerpt {
            severity: self.severity,
            code: self.code.as_str(),
            message: &self.message,
            span: self.span,
            notes: &[("reason", self.reason.as_deref()), ("fix", self.fix.as_deref())],
        }
        .render(source)
    }
}

/// A headline, the source line under it with carets, and notes. Diagnostics and lint findings share it.
pub(crate) struct Excerpt<'a> {
    pub(crate) severity: Severity,
    pub(crate) code: &'a str,
    pub(crate) message: &'a str,
    pub(crate) span: Span,
    pub(crate) notes: &'a [(&'a str, Option<&'a str>)],
}

/// How much of a line, and of a message, is shown.
const MAX_LINE: usize = 240;
const MAX_MESSAGE: usize = 4_000;

/// A text as terminals can show it: not too long, and without characters that they obey.
fn visible(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).map(visible_char).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

fn visible_char(c: char) -> char {
    if c.is_control() && !matches!(c, '\t' | '\n') { char::REPLACEMENT_CHARACTER } else { c }
}

impl Excerpt<'_> {
    pub(crate) fn render(&self, source: &Source) -> String {
        let message = visible(self.message, MAX_MESSAGE);
        let mut out = format!("{}[{}]: {message}\n", self.severity.as_str(), self.code);
        let gutter = match source.position(self.span) {
            Some(position) => {
                let number = position.line.to_string();
                let pad = " ".repeat(number.len());
                let (line, at) = window(source.line(position.line), position.column - 1);
                // Tabs stay tabs in the padding, so that the carets stand under the text.
                let lead: String =
                    line.chars().take(at).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                let rest = line.chars().count().saturating_sub(at);
                let spanned = source.excerpt(self.span).chars().take(MAX_LINE);
                let width = spanned.take_while(|&c| c != '\n').count();
                let carets = "^".repeat(width.clamp(1, rest.max(1)));
                let (name, column) = (source.name(), position.column);
                let _ = write!(
                    out,
                    "{pad}--> {name}:{number}:{column}\n{pad} |\n{number} | {line}\n{pad} | {lead}{carets}\n"
                );
                pad
            }
            None => String::new(),
        };
        for (label, text) in self.notes {
            if let Some(text) = text {
                let indent = format!("\n{gutter}   {}", " ".repeat(label.len() + 2));
                let text = visible(text, MAX_MESSAGE).replace('\n', &indent);
                let _ = writeln!(out, "{gutter} = {label}: {text}");
            }
        }
        out
    }
}

/// A line and a place in it; of a long line the part around the place.
fn window(line: &str, at: usize) -> (String, usize) {
    if line.chars().nth(MAX_LINE).is_none() {
        return (visible(line, MAX_LINE), at);
    }
    let from = at.saturating_sub(MAX_LINE / 3);
    let before = if from > 0 { "…" } else { "" };
    let part: String = line.chars().skip(from).take(MAX_LINE + 1).collect();
    (format!("{before}{}", visible(&part, MAX_LINE)), at - from + before.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excerpt_points_at_the_place() {
        let source = Source::new("tasks.toml", "[entity.Task]\ntable = \"taks\"\n");
        let shown = Diagnostic::error(
            Code::UnknownName,
            Span::new(22, 28),
            "entity `Task` is in table `taks`, which is not declared",
        )
        .fix("did you mean `tasks`?".to_owned())
        .render(&source);
        assert_eq!(
            shown,
            "error[D04]: entity `Task` is in table `taks`, which is not declared\n \
             --> tasks.toml:2:9\n  |\n2 | table = \"taks\"\n  |         ^^^^^^\n  \
             = fix: did you mean `tasks`?\n"
        );
    }

    #[test]
    fn without_a_place_only_the_words_are_shown() {
        let shown = Diagnostic::error(Code::BadValue, Span::NONE, "no").because("x\ny");
        assert_eq!(
            shown.render(&Source::default()),
            "error[D03]: no\n = reason: x\n           y\n"
        );
    }

    #[test]
    fn long_lines_and_control_characters_are_cut_and_shown() {
        let line = format!("a = \"{}\u{1b}[31m{}\"\n", "x".repeat(5000), "y".repeat(5000));
        let source = Source::new("long.toml", line.clone());
        let at = line.find('\u{1b}').unwrap();
        let shown = Diagnostic::error(Code::BadValue, Span::new(at, line.len()), line.as_str())
            .because(line)
            .render(&source);
        assert!(!shown.contains('\u{1b}') && shown.contains('\u{fffd}'), "{shown}");
        assert!(shown.len() < 10_000, "{} bytes", shown.len());
        let lines: Vec<&str> = shown.lines().collect();
        let (text, carets) = (lines[3], lines[4]);
        let place = carets.chars().position(|c| c == '^').unwrap();
        assert_eq!(text.chars().nth(place), Some(char::REPLACEMENT_CHARACTER), "{text}\n{carets}");
    }
}
