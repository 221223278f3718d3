//! Colours: whether there are any, and which words get which. Nothing else writes an escape sequence for a colour.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU8, Ordering};

/// What `--color` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The choice of the command line. Failures are told where no arguments are at hand.
static CHOICE: AtomicU8 = AtomicU8::new(Colour::Auto as u8);

impl Colour {
    /// Makes it the choice of the process.
    pub(crate) fn choose(self) {
        CHOICE.store(self as u8, Ordering::Relaxed);
    }

    fn chosen() -> Self {
        match CHOICE.load(Ordering::Relaxed) {
            choice if choice == Self::Always as u8 => Self::Always,
            choice if choice == Self::Never as u8 => Self::Never,
            _ => Self::Auto,
        }
    }

    fn is_shown(self, on_terminal: bool) -> bool {
        // By the convention of NO_COLOR, an empty value is none.
        let unwanted = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => on_terminal && !unwanted(),
        }
    }
}

/// Colours of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    colours: bool,
}

impl Paint {
    /// For what is written to a stream.
    pub(crate) fn on(stream: &impl IsTerminal) -> Self {
        Self { colours: Colour::chosen().is_shown(stream.is_terminal()) }
    }

    /// As it should be.
    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Worth a look.
    pub(crate) fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// Text that says that something is wrong.
    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// What begins a part.
    fn heading(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Text that is a remark.
    fn note(self, text: &str) -> String {
        self.wrap("36", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A text for people. Reports are written without colours, by crates that know no terminal; their words are few and
    /// fixed: severities, verdicts, `fix`, lines of a change.
    pub(crate) fn prose(self, text: &str) -> String {
        if !self.colours {
            return text.to_owned();
        }
        let lines: Vec<String> = text.split('\n').map(|line| self.line(line)).collect();
        lines.join("\n")
    }

    fn line(self, line: &str) -> String {
        let start = line.len() - line.trim_start().len();
        let (indent, words) = line.split_at(start);
        let painted = match words {
            _ if words.starts_with("error[") || words.starts_with("error:") => {
                self.label(words, Self::bad)
            }
            _ if words.starts_with("warn[") || words.starts_with("warning:") => {
                self.label(words, Self::warn)
            }
            _ if words.starts_with("info[")
                || words.starts_with("note:")
                || words.starts_with("= evidence:")
                || words.starts_with("= reason:") =>
            {
                self.label(words, Self::note)
            }
            _ if words.starts_with("= fix:") => self.label(words, Self::good),
            _ if words.starts_with("! ") => self.warn(words),
            _ if words.starts_with("+ ") => self.good(words),
            _ if words.starts_with("- ") => self.bad(words),
            _ if words.starts_with("| ") && words.trim_end().ends_with('^') => self.bad(words),
            _ if indent.is_empty() && is_heading(words) => self.heading(words),
            _ => self.verdicts(words),
        };
        format!("{indent}{painted}")
    }

    /// The words up to the first `: `, painted.
    fn label(self, words: &str, paint: fn(Self, &str) -> String) -> String {
        let end = words.find(": ").map_or(words.len(), |at| at + 1);
        let (label, rest) = words.split_at(end);
        format!("{}{rest}", paint(self, label))
    }

    /// What is said of a pattern at the end of its line.
    fn verdicts(self, words: &str) -> String {
        for (word, paint) in [
            ("NOT proven: ", Self::bad as fn(Self, &str) -> String),
            ("no index serves it", Self::bad),
            ("proven: ", Self::good),
        ] {
            if let Some(at) = words.find(word) {
                let (before, said) = words.split_at(at);
                return format!("{before}{}", paint(self, said));
            }
        }
        words.to_owned()
    }
}

/// A heading of Markdown, or a line of a few words without an end.
fn is_heading(words: &str) -> bool {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | ',' | ';' | '/' | '-' | '\'');
    words.starts_with("# ")
        || words.starts_with("## ")
        || (words.contains(' ') || words.chars().all(char::is_alphabetic))
            && !words.is_empty()
            && words.len() < 100
            && words.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_reports_have_their_colours_and_nothing_is_lost() {
        let paint = Paint { colours: true };
        for (line, painted) in [
            ("error[K01]: a: b", "\x1b[1;31merror[K01]:\x1b[0m a: b"),
            ("warn[K09]: a", "\x1b[33mwarn[K09]:\x1b[0m a"),
            ("  = fix: drop it", "  \x1b[32m= fix:\x1b[0m drop it"),
            ("  | ^^", "  \x1b[1;31m| ^^\x1b[0m"),
            ("  get  x  0.5 RU, proven: rows", "  get  x  0.5 RU, \x1b[32mproven: rows\x1b[0m"),
            ("  get  x, NOT proven: order", "  get  x, \x1b[1;31mNOT proven: order\x1b[0m"),
            ("    + a = 1", "    \x1b[32m+ a = 1\x1b[0m"),
            ("access patterns", "\x1b[1maccess patterns\x1b[0m"),
            ("orders.toml: 2 errors", "orders.toml: 2 errors"),
            ("", ""),
        ] {
            assert_eq!(paint.prose(line), painted);
            assert_eq!(Paint { colours: false }.prose(line), line);
        }
    }

    #[test]
    fn a_choice_wins_over_what_is_found() {
        assert!(Colour::Always.is_shown(false));
        assert!(!Colour::Never.is_shown(true));
        assert!(!Colour::Auto.is_shown(false));
    }
}
