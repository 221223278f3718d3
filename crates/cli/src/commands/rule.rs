//! `keyloom rule`: what a rule means.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_design::lint::RULES;
use keyloom_design::report::rule_link;
use keyloom_design::{Code, Severity};
use serde_json::json;

use crate::nearest::nearest;
use crate::output::{Failure, Output};
use crate::rule_pages::rule_page;

/// Explain a rule: what goes wrong, a wrong and a right design, how to fix it, when to allow it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom rule K07
  keyloom rule A03 P01
  keyloom rule                   # lists the rules")]
pub(crate) struct Rule {
    /// Rule ids, as reports print them; lists the rules if omitted.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Markdown, as in the documentation.
    Human,
    /// JSON.
    Json,
}

/// A rule of the linter, or a code of the reader.
#[derive(Clone, Copy)]
struct Entry {
    id: &'static str,
    severity: Severity,
    title: &'static str,
}

/// All codes that a report can print as a rule, in the order of reports.
fn entries() -> Vec<Entry> {
    let rules = RULES.iter().map(|rule| (rule.id, rule.severity, rule.title));
    let codes = Code::ALL.iter().map(|code| (code.as_str(), code.severity(), code.title()));
    rules.chain(codes).map(|(id, severity, title)| Entry { id, severity, title }).collect()
}

impl Rule {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let all = entries();
        let wanted = if self.ids.is_empty() {
            all.clone()
        } else {
            self.ids.iter().map(|id| find(&all, id)).collect::<Result<_, _>>()?
        };
        match (self.format, self.ids.is_empty()) {
            (Format::Json, with_pages) => {
                let list: Vec<_> =
                    wanted.iter().map(|entry| entry_json(entry, !with_pages)).collect();
                output.line(format_args!("{:#}", json!(list)))?;
            }
            (Format::Human, true) => {
                for Entry { id, severity, title } in wanted {
                    output.line(format_args!("{id}  {:<5}  {title}", severity.as_str()))?;
                }
            }
            (Format::Human, false) => {
                for (at, entry) in wanted.iter().enumerate() {
                    if at > 0 {
                        output.line("")?;
                    }
                    output.prose(rule_page(entry.id).unwrap_or_default().trim_end())?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn entry_json(entry: &Entry, with_page: bool) -> serde_json::Value {
    let mut value = json!({
        "rule": entry.id,
        "severity": entry.severity.as_str(),
        "title": entry.title,
        "help": rule_link(entry.id),
    });
    if let (true, Some(map)) = (with_page, value.as_object_mut()) {
        map.insert("page".to_owned(), json!(rule_page(entry.id)));
    }
    value
}

fn find(all: &[Entry], id: &str) -> Result<Entry, Failure> {
    let found = all.iter().find(|entry| entry.id.eq_ignore_ascii_case(id)).copied();
    found.ok_or_else(|| {
        let ids: Vec<&str> = all.iter().map(|entry| entry.id).collect();
        let hint = match keyloom_design::nearest(id, ids.iter().copied()) {
            Some(_) => nearest(id, &ids),
            None => "; `keyloom rule` lists them".to_owned(),
        };
        Failure::refused(format_args!("there is no rule {id:?}{hint}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_its_page_in_the_binary() {
        for Entry { id, title, .. } in entries() {
            let page = rule_page(id).unwrap_or_else(|| panic!("{id} is missing in rule_pages.rs"));
            assert!(page.starts_with(&format!("# {id}: {title}\n")), "{id}");
        }
    }

    #[test]
    fn ids_are_found_in_any_case_and_the_nearest_is_named() {
        let all = entries();
        assert_eq!(find(&all, "k07").map(|entry| entry.id).ok(), Some("K07"));
        let words = |id| match find(&all, id) {
            Err(Failure::Refused(words)) => words,
            _ => panic!("{id} is a rule"),
        };
        assert!(words("K77").contains("did you mean \"K07\"?"), "{}", words("K77"));
        assert!(words("constant").contains("lists them"), "{}", words("constant"));
    }
}
