//! `keyloom.toml`: what a project says once instead of on every command line. It is looked for in the working directory and
//! above it, as far as the first one; flags win.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use keyloom_design::lint::rule;
use keyloom_design::{CheckReport, Code, Severity};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::nearest::nearest;
use crate::output::Failure;

/// The name of the file.
const FILE: &str = "keyloom.toml";
/// Where `keyloom serve` listens.
pub(crate) const DEFAULT_ENDPOINT: &str = "http://127.0.0.1:8000";
const KEYS: [&str; 3] = ["designs", "endpoint", "lint"];
const LEVELS: [&str; 4] = ["off", "info", "warn", "error"];

/// What a project says.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Where it is, if there is one.
    path: Option<PathBuf>,
    /// Names of design files, relative to it; the last part may have stars.
    designs: Vec<String>,
    /// The endpoint of commands that ask one.
    endpoint: Option<String>,
    lint: BTreeMap<String, Level>,
}

/// How bad findings of a rule are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Off,
    Is(Severity),
}

impl Config {
    /// The file of the working directory; nothing is said where there is none.
    pub(crate) fn find() -> Result<Self, Failure> {
        match std::env::current_dir() {
            Ok(directory) => Self::above(&directory),
            Err(_) => Ok(Self::default()),
        }
    }

    fn above(directory: &Path) -> Result<Self, Failure> {
        let found = directory.ancestors().map(|above| above.join(FILE)).find(|path| path.is_file());
        let Some(path) = found else { return Ok(Self::default()) };
        let refused =
            |reason: String| Failure::refused(format_args!("{}: {reason}", path.display()));
        let text = std::fs::read_to_string(&path)
            .map_err(|error| refused(format!("it cannot be read: {error}")))?;
        let mut config = Self::read(&text).map_err(refused)?;
        config.path = Some(path);
        Ok(config)
    }

    fn read(text: &str) -> Result<Self, String> {
        let table = DeTable::parse(text).map_err(|error| error.to_string())?;
        let mut config = Self::default();
        for (name, value) in table.get_ref() {
            let line = text.get(..name.span().start).unwrap_or_default().matches('\n').count() + 1;
            let key: &str = name.get_ref();
            let read = match key {
                "designs" => strings(value).map(|designs| config.designs = designs),
                "endpoint" => string(value).map(|endpoint| config.endpoint = Some(endpoint)),
                "lint" => levels(value).map(|lint| config.lint = lint),
                _ => Err(format!(
                    "there is no such key{}; there are {}",
                    nearest(key, &KEYS),
                    KEYS.join(", ")
                )),
            };
            read.map_err(|problem| format!("line {line}: `{key}`: {problem}"))?;
        }
        Ok(config)
    }

    /// The endpoint that a command asks: its flag, or what the project says.
    pub(crate) fn endpoint(flag: Option<&str>) -> Result<Option<String>, Failure> {
        match flag {
            Some(endpoint) => Ok(Some(endpoint.to_owned())),
            None => Ok(Self::find()?.endpoint),
        }
    }

    /// The design files that a command was given, or those of the project.
    pub(crate) fn designs(&self, given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        if !given.is_empty() {
            return Ok(given.to_vec());
        }
        let Some(path) = self.path.as_ref().filter(|_| !self.designs.is_empty()) else {
            return Err(Failure::refused(format_args!(
                "no design file is given: name one, or list the project's in {FILE}: designs = [\"designs/*.toml\"]"
            )));
        };
        let home = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut files = Vec::new();
        for name in &self.designs {
            let matching = matching(&home, name);
            if matching.is_empty() {
                return Err(Failure::refused(format_args!(
                    "{}: `designs`: nothing is called {name:?}",
                    path.display()
                )));
            }
            files.extend(matching.into_iter().map(|file| short(&file)));
        }
        Ok(files)
    }

    /// Gives findings the level that the project gives their rules.
    pub(crate) fn judge(&self, report: &mut CheckReport) {
        if self.lint.is_empty() {
            return;
        }
        for mut finding in std::mem::take(&mut report.findings) {
            match self.lint.get(finding.rule) {
                Some(Level::Off) => {
                    report.suppressed.push((finding, format!("off in {FILE}")));
                    continue;
                }
                Some(Level::Is(severity)) => finding.severity = *severity,
                None => {}
            }
            report.findings.push(finding);
        }
    }
}

/// A path as one would type it here.
fn short(file: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    file.strip_prefix(&here).unwrap_or(file).to_owned()
}

/// The files of a name whose last part may have stars, in order.
fn matching(home: &Path, name: &str) -> Vec<PathBuf> {
    let path = home.join(name);
    let pattern = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !pattern.contains('*') {
        return if path.is_file() { vec![path] } else { Vec::new() };
    }
    let Some(Ok(entries)) = path.parent().map(std::fs::read_dir) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| fits(pattern, name)))
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && !path.ends_with(FILE))
        .collect();
    files.sort();
    files
}

/// Whether a name fits a pattern in which a star stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(left) = name.strip_prefix(start) else { return false };
    left.char_indices().map(|(at, _)| at).chain([left.len()]).any(|at| {
        let (_, tail) = left.split_at(at);
        fits(rest, tail)
    })
}

fn string(value: &Spanned<DeValue<'_>>) -> Result<String, String> {
    let text = value.get_ref().as_str().ok_or("a text is expected, in quotes")?;
    Ok(text.to_owned())
}

fn strings(value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, String> {
    let list = value.get_ref().as_array().ok_or("a list of texts is expected")?;
    list.iter().map(string).collect()
}

fn levels(value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, Level>, String> {
    let table = value.get_ref().as_table().ok_or("a section is expected: [lint]")?;
    let entry = |(name, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let id: &str = name.get_ref();
        let level = string(value).and_then(|word| level(id, &word));
        level.map(|level| (id.to_owned(), level)).map_err(|problem| format!("`{id}`: {problem}"))
    };
    table.iter().map(entry).collect()
}

fn level(id: &str, word: &str) -> Result<Level, String> {
    let Some(rule) = rule(id) else {
        return Err("there is no such rule; `keyloom rule` lists them".to_owned());
    };
    let level = match word {
        "off" => Level::Off,
        "info" => Level::Is(Severity::Info),
        "warn" => Level::Is(Severity::Warn),
        "error" => Level::Is(Severity::Error),
        _ => {
            let hint = nearest(word, &LEVELS);
            return Err(format!("{word:?} is no level{hint}; there are {}", LEVELS.join(", ")));
        }
    };
    if rule.id == Code::AmbiguousTemplate.as_str() && level != Level::Is(Severity::Error) {
        return Err("such a key cannot be read at all, so it stays an error".to_owned());
    }
    Ok(level)
}

#[cfg(test)]
mod tests {
    use keyloom_design::check_text;
    use keyloom_design::cost::Prices;

    use super::*;

    fn refusal(text: &str) -> String {
        Config::read(text).expect_err(text)
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (text, words) in [
            (
                "endpiont = \"x\"",
                "line 1: `endpiont`: there is no such key; did you mean \"endpoint\"?",
            ),
            ("\nendpoint = 8000", "line 2: `endpoint`: a text is expected"),
            ("designs = \"a.toml\"", "`designs`: a list of texts"),
            ("designs = [1]", "`designs`: a text is expected"),
            ("lint = 1", "`lint`: a section"),
            ("[lint]\nK77 = \"off\"", "`K77`: there is no such rule"),
            ("[lint]\nK11 = \"of\"", "`K11`: \"of\" is no level; did you mean \"off\"?"),
            ("[lint]\nK03 = \"warn\"", "`K03`: such a key cannot be read"),
            ("a = ", "TOML parse error"),
        ] {
            assert!(refusal(text).contains(words), "{text}: {}", refusal(text));
        }
    }

    #[test]
    fn levels_change_what_findings_are() {
        let design = "[table.t]\npartition_key = \"PK\"\nsort_key = \"SK\"\n[entity.A]\nPK = \"A#{id}\"\nSK = \"N#{n}\"\n\
             fields = { id = \"token\", n = { type = \"u32\", plain = true } }\n";
        let checked = |lint: &str| {
            let mut report = check_text("a.toml", design, &Prices::default());
            Config::read(lint).expect(lint).judge(&mut report);
            report
        };
        let severity = |lint: &str| {
            let report = checked(lint);
            let found = report.findings.iter().find(|finding| finding.rule == "K01");
            found.map(|finding| finding.severity)
        };
        assert_eq!(severity(""), Some(Severity::Error));
        assert_eq!(severity("[lint]\nK01 = \"warn\""), Some(Severity::Warn));
        assert_eq!(severity("[lint]\nK01 = \"off\""), None);
        let off = checked("[lint]\nK01 = \"off\"");
        assert!(off.findings.iter().all(|finding| finding.rule != "K01"));
        assert!(off.suppressed.iter().any(|(finding, _)| finding.rule == "K01"));
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, fit) in [
            ("*.toml", "a.toml", true),
            ("*.toml", "a.tom", false),
            ("a*b*c", "abbc", true),
            ("a*b*c", "acb", false),
            ("*", "", true),
            ("é*", "éa", true),
        ] {
            assert_eq!(fits(pattern, name), fit, "{pattern} {name}");
        }
    }
}
