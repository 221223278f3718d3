//! The linter: mistakes that DynamoDB accepts silently, and that make a design wrong, slow or expensive.
//!
//! Every rule is one function over the whole design and its plans. Rules about load speak only where
//! volumes or rates are declared.

mod access;
mod change;
mod expression;
mod heat;
mod identity;
mod index;
pub(crate) mod key;
mod load;
mod partition;
mod proof;
mod refusal;
mod style;
mod tenant;
mod unique;
mod write;

pub use self::change::index_changes;
pub(crate) use self::expression::{changed_fields, written_attributes};
use crate::diagnostic::{Code, Diagnostic, Excerpt, Severity};
use crate::model::{Allow, Design, EntityKey, Index, Table};
use crate::plan::{IndexUse, Plan, WritePlan};
use crate::repair::FileEdit;
use crate::source::{Source, Span};
pub(crate) use refusal::CLOSES;

/// A finding of a rule, as the linter reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id, or a diagnostic's code.
    pub rule: &'static str,
    /// How bad it is here.
    pub severity: Severity,
    /// The place in the file.
    pub span: Span,
    /// The entity, pattern, write, table or index it is about.
    pub subject: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Numbers and examples that show it.
    pub evidence: String,
    /// What to do.
    pub fix: String,
    /// A change of the design file that takes it away without bringing another.
    pub change: Option<FileEdit>,
}

impl Finding {
    /// The finding with its source excerpt, as a terminal shows it.
    pub fn render(&self, source: &Source) -> String {
        let shown = |text: &'_ str| (!text.is_empty()).then_some(text.to_owned());
        let (evidence, fix) = (shown(&self.evidence), shown(&self.fix));
        Excerpt {
            severity: self.severity,
            code: self.rule,
            message: &self.message,
            span: self.span,
            notes: &[("evidence", evidence.as_deref()), ("fix", fix.as_deref())],
        }
        .render(source)
    }
}

impl From<&Diagnostic> for Finding {
    fn from(diagnostic: &Diagnostic) -> Self {
        Self {
            rule: diagnostic.code.as_str(),
            severity: diagnostic.severity,
            span: diagnostic.span,
            subject: diagnostic.subject.clone(),
            message: diagnostic.message.clone(),
            evidence: diagnostic.reason.clone().unwrap_or_default(),
            fix: diagnostic.fix.clone().unwrap_or_default(),
            change: None,
        }
    }
}

/// A rule of the linter.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its id, such as `K01`.
    pub id: &'static str,
    /// Its usual severity.
    pub severity: Severity,
    /// What it finds.
    pub title: &'static str,
    check: fn(&Context, &mut Findings),
}

/// What rules look at.
pub(crate) struct Context<'a> {
    pub(crate) design: &'a Design,
    pub(crate) plans: &'a [Plan],
    pub(crate) writes: &'a [WritePlan],
    pub(crate) uses: &'a [IndexUse],
    /// Whether this is the whole design, and not only the part without errors.
    pub(crate) is_whole: bool,
}

/// Collects the findings of one rule.
pub(crate) struct Findings {
    rule: Rule,
    list: Vec<Finding>,
}

impl Findings {
    /// Adds a finding of the rule's usual severity; evidence and fix follow by [`Draft::because`] and [`Draft::fix`].
    pub(crate) fn add(
        &mut self,
        span: Span,
        subject: &str,
        message: impl Into<String>,
    ) -> Draft<'_> {
        self.list.push(Finding {
            rule: self.rule.id,
            severity: self.rule.severity,
            span,
            subject: subject.to_owned(),
            message: message.into(),
            evidence: String::new(),
            fix: String::new(),
            change: None,
        });
        Draft { finding: self.list.last_mut() }
    }
}

/// A finding that is still being written.
pub(crate) struct Draft<'a> {
    finding: Option<&'a mut Finding>,
}

impl Draft<'_> {
    pub(crate) fn because(mut self, evidence: impl Into<String>) -> Self {
        if let Some(finding) = &mut self.finding {
            finding.evidence = evidence.into();
        }
        self
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        if let Some(finding) = &mut self.finding {
            finding.fix = fix.into();
        }
        self
    }

    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        if let Some(finding) = &mut self.finding {
            finding.severity = severity;
        }
        self
    }
}

use Severity::{Error, Info, Warn};

/// Every rule, in the order of reports.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: "K01", severity: Error, title: "unpadded number in a string sort key", check: key::unpadded_number },
    Rule { id: "K02", severity: Error, title: "separator may occur in a value, and nothing guards it", check: key::unguarded_separator },
    Rule { id: "K03", severity: Error, title: "ambiguous key template", check: key::ambiguous },
    Rule { id: "K04", severity: Error, title: "key may pass 2048 (partition) or 1024 (sort) bytes", check: key::too_long },
    Rule { id: "K05", severity: Error, title: "range or begins_with on a partition key", check: refusal::partition_range },
    Rule { id: "K06", severity: Error, title: "two conditions on one sort key", check: access::two_conditions },
    Rule { id: "K07", severity: Error, title: "prefix that no key has, or that ends inside a value", check: access::bad_prefix },
    Rule { id: "K08", severity: Error, title: "inclusive upper bound cuts the last period", check: access::cut_period },
    Rule { id: "K09", severity: Warn, title: "variable-width or offset timestamps in keys", check: key::loose_time },
    Rule { id: "K10", severity: Warn, title: "value bytes below the separator break tuple order", check: key::low_bytes },
    Rule { id: "K11", severity: Warn, title: "mixed separators or case styles in one table", check: style::mixed },
    Rule { id: "K12", severity: Warn, title: "more than five components, or components that no pattern uses", check: style::many_components },
    Rule { id: "K13", severity: Info, title: "opaque keys without a type prefix", check: style::opaque },
    Rule { id: "K14", severity: Error, title: "optional component in a primary key", check: key::optional_component },
    Rule { id: "P01", severity: Error, title: "constant partition key with declared growth", check: partition::constant },
    Rule { id: "P02", severity: Warn, title: "partition key with few values", check: partition::few_values },
    Rule { id: "P03", severity: Warn, title: "time-only partition key", check: partition::time_only },
    Rule { id: "P04", severity: Warn, title: "skewed partition key", check: partition::skewed },
    Rule { id: "P05", severity: Info, title: "sequential ids as partition key are harmless", check: partition::sequential },
    Rule { id: "P06", severity: Error, title: "local index, and an item collection that may pass 10 GB", check: heat::collection_size },
    Rule { id: "P07", severity: Warn, title: "local index blocks the splitting of a hot collection", check: partition::local_index_heat },
    Rule { id: "P08", severity: Warn, title: "ever-increasing sort key blocks the splitting of a hot collection", check: partition::increasing_heat },
    Rule { id: "P09", severity: Warn, title: "unbounded item collection read without a limit", check: partition::unbounded_read },
    Rule { id: "P10", severity: Warn, title: "random shard on data that is read by id", check: partition::random_shard },
    Rule { id: "P11", severity: Info, title: "too many or too few shards", check: partition::shard_count },
    Rule { id: "P12", severity: Error, title: "one partition key value gets more than a partition takes", check: heat::hot_value },
    Rule { id: "P13", severity: Error, title: "partition key that a policy cannot guard for a tenant", check: tenant::unguarded },
    Rule { id: "I01", severity: Warn, title: "index that no pattern uses", check: index::unused },
    Rule { id: "I02", severity: Warn, title: "two indexes that could be one", check: index::mergeable },
    Rule { id: "I03", severity: Warn, title: "many indexes, or writes multiplied by them", check: index::many },
    Rule { id: "I04", severity: Warn, title: "everything projected where a few attributes suffice", check: index::wide_projection },
    Rule { id: "I05", severity: Warn, title: "often changed attribute in an index key", check: index::hot_key_change },
    Rule { id: "I06", severity: Warn, title: "index partition key with few values slows the table's writes", check: index::back_pressure },
    Rule { id: "I07", severity: Info, title: "sparse index that holds most items", check: index::dense },
    Rule { id: "I08", severity: Error, title: "items land in an index by accident", check: index::accidental },
    Rule { id: "I09", severity: Error, title: "strongly consistent read of a global index", check: access::inconsistent },
    Rule { id: "I10", severity: Warn, title: "index change that needs delete and create", check: change::none_here },
    Rule { id: "A01", severity: Error, title: "pattern needs a Scan", check: refusal::scan },
    Rule { id: "A02", severity: Info, title: "filter throws items away", check: access::filter_waste },
    Rule { id: "A03", severity: Error, title: "order asked for is not key order", check: access::wrong_order },
    Rule { id: "A04", severity: Error, title: "foreign rows in the range, or rows outside it", check: access::bleeds },
    Rule { id: "A05", severity: Warn, title: "second step fetches items one by one", check: access::one_by_one },
    Rule { id: "A06", severity: Error, title: "inputs cannot build the key", check: refusal::no_key },
    Rule { id: "A07", severity: Warn, title: "writes that must agree are not in one transaction", check: write::not_together },
    Rule { id: "A08", severity: Warn, title: "read before write", check: write::reads_first },
    Rule { id: "A09", severity: Warn, title: "item may pass 400 KB", check: write::large_item },
    Rule { id: "A10", severity: Warn, title: "page may pass 1 MB", check: access::large_page },
    Rule { id: "A11", severity: Info, title: "read without a write that feeds it", check: write::unfed },
    Rule { id: "A12", severity: Warn, title: "update changes a primary key field", check: write::key_field_changes },
    Rule { id: "A13", severity: Error, title: "asked for and not proven", check: proof::unproven },
    Rule { id: "A14", severity: Warn, title: "fan-out of more requests than declared", check: proof::wide_fan },
    Rule { id: "A15", severity: Warn, title: "list or set that grows without an end", check: write::endless_growth },
    Rule { id: "A16", severity: Warn, title: "hand-written request that states no question", check: proof::unstated },
    Rule { id: "E01", severity: Error, title: "reserved word without a placeholder", check: expression::reserved },
    Rule { id: "E02", severity: Error, title: "overlapping update paths", check: expression::overlapping },
    Rule { id: "E03", severity: Error, title: "update of a key attribute", check: expression::key_update },
    Rule { id: "E04", severity: Error, title: "filter on a key attribute", check: access::filter_on_key },
    Rule { id: "E05", severity: Error, title: "filter that DynamoDB refuses", check: access::refused_filter },
    Rule { id: "U01", severity: Warn, title: "two items may have one primary key", check: unique::time_only },
    Rule { id: "U02", severity: Error, title: "two entities may have one primary key", check: unique::shared_key },
    Rule { id: "U03", severity: Error, title: "uniqueness rule that nothing enforces", check: unique::unenforced },
    Rule { id: "U04", severity: Error, title: "fewer keys than items", check: identity::too_few_keys },
    Rule { id: "U05", severity: Error, title: "identity that the primary key does not hold", check: identity::unidentified },
    Rule { id: "T01", severity: Error, title: "time to live that never comes", check: identity::never_expires },
    Rule { id: "W01", severity: Error, title: "update cannot rebuild an index key", check: write::stale_index_key },
];

/// Rules that conclude from what a design does not have: half a design proves nothing there.
const FROM_ABSENCE: [&str; 5] = ["K12", "I01", "I02", "I04", "A11"];

/// The rule with this id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// Findings, and what suppressions took out of them.
#[derive(Clone, Debug, Default)]
pub struct LintResult {
    /// What remains, in the order of the file.
    pub findings: Vec<Finding>,
    /// What was suppressed, with the reason given.
    pub suppressed: Vec<(Finding, String)>,
}

/// Runs every rule.
pub(crate) fn run(context: &Context) -> LintResult {
    let mut result = LintResult::default();
    let mut used = vec![false; context.design.allows().len()];
    for rule in RULES.iter().filter(|rule| context.is_whole || !FROM_ABSENCE.contains(&rule.id)) {
        let mut findings = Findings { rule: *rule, list: Vec::new() };
        (rule.check)(context, &mut findings);
        for finding in findings.list {
            let allowed = context.design.allows().iter().position(|allow| applies(allow, &finding));
            match allowed.and_then(|at| context.design.allows().get(at).map(|allow| (at, allow))) {
                Some((at, allow)) => {
                    if let Some(flag) = used.get_mut(at) {
                        *flag = true;
                    }
                    result.suppressed.push((finding, allow.reason.clone()));
                }
                None => result.findings.push(finding),
            }
        }
    }
    heat::leave_out_repetitions(&mut result);
    for (allow, used) in context.design.allows().iter().zip(used) {
        if !used && context.is_whole {
            result.findings.push(unused_allow(allow));
        }
    }
    result.findings.sort_by_key(|finding| (finding.span, finding.rule));
    result
}

fn applies(allow: &Allow, finding: &Finding) -> bool {
    let subject = allow.subject.as_deref();
    allow.rule == finding.rule
        && subject.is_none_or(|subject| {
            subject == finding.subject || finding.subject.rsplit('.').next() == Some(subject)
        })
}

fn unused_allow(allow: &Allow) -> Finding {
    let subject = allow.subject.clone().unwrap_or_default();
    Finding {
        rule: Code::UnusedAllow.as_str(),
        severity: Severity::Warn,
        span: allow.span,
        message: format!("the suppression of {} suppresses nothing", allow.rule),
        evidence: if subject.is_empty() {
            "no finding has this rule".to_owned()
        } else {
            format!("`{subject}` has no finding of this rule")
        },
        subject,
        fix: "remove it".to_owned(),
        change: None,
    }
}

/// `tasks.GSI1`, or the table's name.
pub(crate) fn index_subject(table: &Table, index: &Index) -> String {
    match &index.name {
        Some(name) => format!("{}.{name}", table.name),
        None => table.name.clone(),
    }
}

/// `SK = "TASK#{task_id}"`.
pub(crate) fn key_text(key: &EntityKey) -> String {
    format!("{} = \"{}\"", key.attribute, key.shape.template().text())
}

/// Names in backticks, separated by commas.
pub(crate) fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// A number for people: 1.5 M, 12 k, 0.25.
pub(crate) fn short(number: f64) -> String {
    let scaled = [(1e9, " G"), (1e6, " M"), (1e3, " k")]
        .into_iter()
        .find(|(scale, _)| number.abs() >= *scale);
    let (value, unit) = scaled.map_or((number, ""), |(scale, unit)| (number / scale, unit));
    let text = if value.fract().abs() < 0.05 || value.abs() >= 100.0 {
        format!("{value:.0}")
    } else if value.abs() >= 1.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    };
    format!("{text}{unit}")
}

/// Bytes for people: 1.2 KB, 11 GB.
pub(crate) fn short_bytes(bytes: f64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB"];
    let mut value = bytes;
    let mut at = 0;
    while value >= 1024.0 && at + 1 < units.len() {
        value /= 1024.0;
        at += 1;
    }
    let unit = units.get(at).copied().unwrap_or("B");
    if value.fract().abs() < 0.05 || value >= 100.0 {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}
