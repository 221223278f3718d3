//! `keyloom key`: composite keys at the shell.

mod describe;
mod shard;
mod show;

use std::process::ExitCode;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use keyloom_keys::{
    BuildError, Clause, KeyRange, KeyRole, RangeError, SeparatorPolicy, Template, TemplateError,
    TemplateOptions, Value,
};
use serde_json::{Map, json};

use crate::output::{Failure, Format, Output};
use keyloom_design::key::visible;
use show::condition;

/// Build, parse and range over composite keys.
///
/// A template is literal text and fields in braces, such as 'ORDER#{placed_at:datetime}#{order_id:ulid}'. A field without
/// a type is a string. Types: string, token, fixed:N, u8 to u64, i64, decimal:10.2, year, month, date, hour, datetime,
/// datetime:ms, epoch_ms, uuid, ulid, bool, enum:a|b, hex; each with :desc for descending order.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom key 'USER#{id}#{seq:u32:6}' build id=alice seq=42
  keyloom key 'ORDER#{placed_at:datetime}#{order_id}' range 'placed_at between 2024-01-01 and 2024-01-31'")]
pub(crate) struct Key {
    /// The template.
    template: String,
    /// Separator between fields; taken from the template by default.
    #[arg(long, global = true, value_name = "TEXT")]
    separator: Option<String>,
    /// What to do with values that contain the separator.
    #[arg(long, global = true, value_enum, default_value_t = Policy::Reject)]
    policy: Policy,
    /// A sort key: up to 1024 bytes.
    #[arg(long, global = true, conflicts_with = "partition")]
    sort: bool,
    /// A partition key: up to 2048 bytes (the default).
    #[arg(long, global = true)]
    partition: bool,
    /// Output format.
    #[arg(long, global = true, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(subcommand)]
    action: Action,
}

/// What to do with values that contain the separator.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Policy {
    /// Reject such values.
    Reject,
    /// Percent-encode the separator; this changes the sort order of values.
    Percent,
    /// Escape the separator and keep the sort order of values.
    Ordered,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Build a key from its fields.
    #[command(after_help = "Example:
  keyloom key 'ORDER#{placed_at:datetime}#{order_id}' build placed_at=2024-01-15T10:30:00Z order_id=A7")]
    Build {
        /// The fields, as name=value.
        #[arg(value_name = "FIELD=VALUE")]
        values: Vec<Pair>,
    },
    /// Parse a key into its fields.
    #[command(after_help = "Example:
  keyloom key 'ORDER#{placed_at:datetime}#{order_id}' parse 'ORDER#2024-01-15T10:30:00Z#A7'")]
    Parse {
        /// The key.
        key: String,
        /// Also accept keys that the template would write differently, and report the differences.
        #[arg(long)]
        lenient: bool,
    },
    /// The common prefix of all keys with these leading field values.
    #[command(after_help = "Examples:
  keyloom key 'USER#{id}#ORDER#{order}' prefix id=1          # USER#1#ORDER#, never user 12
  keyloom key 'ORDER#{at:datetime}#{id}' prefix --partial at=2024-12")]
    Prefix {
        /// The leading fields, as name=value.
        #[arg(value_name = "FIELD=VALUE")]
        values: Vec<Pair>,
        /// Prefix of the next field's value.
        #[arg(long, value_name = "FIELD=TEXT")]
        partial: Option<Pair>,
    },
    /// The key range that satisfies a condition.
    #[command(after_help = "Examples:
  keyloom key 'ORDER#{at:datetime}#{id}' range 'at between 2024-01-01 and 2024-01-31'
  keyloom key '{customer}#{amount:decimal:10.2}' range 'amount >= 99.50' customer=C1")]
    Range {
        /// The condition: =, <, <=, >, >=, between .. and .., begins_with; several joined by and.
        condition: String,
        /// Further fields with fixed values, as name=value.
        #[arg(value_name = "FIELD=VALUE")]
        values: Vec<Pair>,
    },
    /// The keys of all shards, or the key of one item's shard.
    #[command(after_help = "Examples:
  keyloom key 'STATUS#{status}' shard --count 10 status=open               # all ten, to read them
  keyloom key 'STATUS#{status}' shard --count 10 status=open --of order-7  # the one to write to
  keyloom key 'STATUS#{status}' shard --writes 5000 status=open            # as many as the load needs")]
    Shard(shard::Shard),
    /// Lengths, sort order, and templates whose keys could collide.
    #[command(after_help = "Example:
  keyloom key 'PRODUCT#{id}' describe --against 'PRODUCT#{id}#VARIANT#{color}'")]
    Describe {
        /// Another template to compare with; may be repeated.
        #[arg(long, value_name = "TEMPLATE")]
        against: Vec<String>,
    },
}

/// A field and its value, as typed.
#[derive(Clone, Debug)]
struct Pair {
    name: String,
    value: String,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) => {
                Ok(Pair { name: name.trim().to_owned(), value: value.to_owned() })
            }
            None => Err(format!("write it as name=value, for example id={text}")),
        }
    }
}

/// Pairs as the library takes them; texts are read by the fields' formats.
fn values(pairs: &[Pair]) -> Vec<(&str, Value<'_>)> {
    pairs.iter().map(|pair| (pair.name.as_str(), Value::from(&pair.value))).collect()
}

impl Key {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let template = self.parse_template(&self.template)?;
        match &self.action {
            Action::Build { values: pairs } => {
                let key = template.build(&values(pairs)).map_err(Failure::refused)?;
                self.print(output, &key, || json!({ "key": key, "bytes": key.len() }))?;
            }
            Action::Parse { key, lenient: false } => self.parse(&template, key, output)?,
            Action::Parse { key, lenient: true } => self.parse_leniently(&template, key, output)?,
            Action::Prefix { values: pairs, partial } => {
                let prefix =
                    prefix(&template, pairs, partial.as_ref()).map_err(Failure::refused)?;
                self.print(output, &prefix, || json!({ "prefix": prefix }))?;
            }
            Action::Range { condition, values: pairs } => {
                let clause = Clause::parse(condition).map_err(Failure::refused)?;
                let range =
                    template.range_where(&clause, &values(pairs)).map_err(Failure::refused)?;
                self.print_range(&range, output)?;
            }
            Action::Shard(shard) => shard.run(&template, self.format, output)?,
            Action::Describe { against } => {
                let others = against
                    .iter()
                    .map(|text| self.parse_template(text))
                    .collect::<Result<Vec<_>, _>>()?;
                let description = describe::Description::new(&template, &others);
                match self.format {
                    Format::Human => description.print(output)?,
                    Format::Json => output.line(description.json())?,
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn parse_template(&self, text: &str) -> Result<Template, Failure> {
        let options = TemplateOptions {
            separator: self.separator.clone(),
            policy: match self.policy {
                Policy::Reject => SeparatorPolicy::Reject,
                Policy::Percent => SeparatorPolicy::PercentEscape,
                Policy::Ordered => SeparatorPolicy::OrderPreserving,
            },
            role: if self.sort { KeyRole::Sort } else { KeyRole::Partition },
        };
        Template::parse_with(text, &options, |_| None)
            .map_err(|error| Failure::refused(pointed(&error)))
    }

    fn print(
        &self,
        output: &mut Output,
        text: &str,
        json: impl FnOnce() -> serde_json::Value,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Human => output.line(text),
            Format::Json => output.line(json()),
        }
    }

    fn parse(&self, template: &Template, key: &str, output: &mut Output) -> Result<(), Failure> {
        let fields = template.parse_key(key).map_err(Failure::refused)?;
        let fields: Vec<(&str, String)> =
            fields.iter().map(|(name, value)| (name, value.to_string())).collect();
        match self.format {
            Format::Human => {
                show::table(fields.iter().map(|(name, value)| (*name, value.as_str())), output)
            }
            Format::Json => {
                let fields: Map<_, _> = fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value.into()))
                    .collect();
                output.line(json!({ "fields": fields }))
            }
        }
    }

    fn parse_leniently(
        &self,
        template: &Template,
        key: &str,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let read = template.parse_lenient(key);
        let canonical = read.canonical(template);
        if self.format == Format::Json {
            let fields: Map<_, _> = read
                .values
                .iter()
                .map(|(name, value)| (name.clone(), value.to_string().into()))
                .collect();
            let deviations: Vec<_> = read
                .deviations
                .iter()
                .map(|found| json!({ "at": found.at, "field": found.field, "problem": found.problem }))
                .collect();
            return output.line(
                json!({ "fields": fields, "deviations": deviations, "canonical": canonical }),
            );
        }
        let fields: Vec<(&str, String)> =
            read.values.iter().map(|(name, value)| (name.as_str(), value.to_string())).collect();
        show::table(fields.iter().map(|(name, value)| (*name, value.as_str())), output)?;
        for found in &read.deviations {
            let field =
                found.field.as_ref().map(|name| format!("field {name}, ")).unwrap_or_default();
            output.prose(format_args!("! {field}byte {}: {}", found.at, found.problem))?;
        }
        match canonical.filter(|canonical| canonical != key) {
            Some(canonical) => output.line(format_args!("should be  {}", visible(&canonical))),
            None => Ok(()),
        }
    }

    fn print_range(&self, range: &KeyRange, output: &mut Output) -> Result<(), Failure> {
        let (kind, condition) = condition(range);
        if self.format == Format::Json {
            return output.line(json!({
                "kind": kind,
                "condition": condition,
                "prefix": range.prefix(),
                "lower": range.lower(),
                "upper": range.upper(),
            }));
        }
        let (lower, upper) = (visible(range.lower()), visible(range.upper()));
        show::table(
            [
                ("condition", condition.as_str()),
                ("lower", lower.as_str()),
                ("upper", upper.as_str()),
            ]
            .into_iter(),
            output,
        )
    }
}

fn prefix(
    template: &Template,
    pairs: &[Pair],
    partial: Option<&Pair>,
) -> Result<String, RangeError> {
    match partial {
        Some(partial) => template.partial_prefix(&values(pairs), &partial.name, &partial.value),
        None => {
            template.prefix(&values(pairs)).map_err(|error: BuildError| RangeError::from(error))
        }
    }
}

/// The error with the template below it and a mark under the wrong part.
fn pointed(error: &TemplateError) -> String {
    let text = error.template();
    let before = text.get(..error.span().start).unwrap_or_default().chars().count();
    let marked = text.get(error.span()).unwrap_or_default().chars().count().max(1);
    format!(
        "{}\n  {text}\n  {}{}\n{}",
        error.reason(),
        " ".repeat(before),
        "^".repeat(marked),
        error.fix()
    )
}
