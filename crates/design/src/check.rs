//! Checking: plans, findings and cost of a whole design.

use crate::cost::{Bill, Prices, bill};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::lint::{self, Context, Finding};
use crate::model::Design;
use crate::plan::{
    IndexUse, Plan, Problem, Verdict, WritePlan, index_uses, plan, plan_only, plan_write,
};
use crate::repair::repair;
use crate::source::{Source, Span};

/// Everything that is known about a design.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// The file that was checked.
    pub source: Source,
    /// What is wrong, in the order of the file.
    pub findings: Vec<Finding>,
    /// What was suppressed, with the reason given.
    pub suppressed: Vec<(Finding, String)>,
    /// The design, as far as it could be understood.
    pub design: Option<Design>,
    /// Whether that is all of it: no error in the file.
    pub is_whole: bool,
    /// A plan for each access pattern.
    pub plans: Vec<Plan>,
    /// A plan for each write.
    pub writes: Vec<WritePlan>,
    /// Which patterns use which index.
    pub index_uses: Vec<IndexUse>,
    /// What it costs.
    pub bill: Bill,
}

impl CheckReport {
    /// The patterns that are not proven in everything they ask, allowed or not; a hand-written request without
    /// conditions says nothing that could be proven.
    pub fn unproven(&self) -> impl Iterator<Item = &Plan> {
        self.plans.iter().filter(|plan| !plan.is_proven())
    }

    /// Whether anything is wrong at error level: `keyloom check` then exits with 1.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// Checks a design.
pub fn check(design: &Design, prices: &Prices) -> CheckReport {
    check_part(design.clone(), prices, true, plan)
}

/// As [`check`], without counter-examples.
pub(crate) fn check_quickly(design: Design, prices: &Prices) -> CheckReport {
    check_part(design, prices, true, plan_only)
}

/// Plans every pattern of a design.
type Planner = fn(&Design, &Prices) -> Vec<Plan>;

fn check_part(
    mut design: Design,
    prices: &Prices,
    is_whole: bool,
    planner: Planner,
) -> CheckReport {
    let mut plans = planner(&design, prices);
    if !is_whole {
        // Whether a pattern has no key or only a broken one, cannot be told.
        plans.retain(|plan| plan.verdict != Verdict::Refused || plan.problems.iter().any(is_told));
        design.accesses.retain(|access| plans.iter().any(|plan| plan.name == access.name));
    }
    let design = &design;
    let writes: Vec<WritePlan> =
        design.writes().iter().map(|write| plan_write(design, write, prices)).collect();
    let uses = index_uses(design, &plans);
    let context = Context { design, plans: &plans, writes: &writes, uses: &uses, is_whole };
    let result = lint::run(&context);
    let bill = bill(design, &plans, &writes, prices);
    CheckReport {
        source: design.source().clone(),
        findings: result.findings,
        suppressed: result.suppressed,
        design: Some(design.clone()),
        is_whole,
        plans,
        writes,
        index_uses: uses,
        bill,
    }
}

/// A hand-written request is refused for what it says itself.
fn is_told(problem: &Problem) -> bool {
    matches!(problem, Problem::Raw(_))
}

/// The report of a file that cannot be read, so that a run over many files names each of them.
pub fn unreadable(file_name: &str, reason: &str) -> CheckReport {
    let message = format!("{file_name} cannot be read: {reason}");
    let problem = Diagnostic::error(Code::Unreadable, Span::NONE, message)
        .because("nothing is known about its patterns")
        .fix("check the path and its permissions; a design file is UTF-8".to_owned());
    CheckReport {
        source: Source::new(file_name, ""),
        findings: vec![(&problem).into()],
        ..CheckReport::default()
    }
}

/// Reads and checks a design file; mistakes in the file are findings too.
pub fn check_text(file_name: &str, text: &str, prices: &Prices) -> CheckReport {
    let mut report = check_once(file_name, text, prices, plan);
    repair(&mut report, prices, &|changed| check_once(file_name, changed, prices, plan_only));
    report
}

/// As [`check_text`], without looking for changes that help.
fn check_once(file_name: &str, text: &str, prices: &Prices, planner: Planner) -> CheckReport {
    let (design, diagnostics) = Design::read(file_name, text);
    let is_whole = diagnostics.iter().all(|problem| problem.severity != Severity::Error);
    // In a text that is not TOML, anything may be missing.
    let mut report = if diagnostics.iter().any(|problem| problem.code == Code::Syntax) {
        CheckReport { source: Source::new(file_name, text), ..CheckReport::default() }
    } else {
        check_part(design, prices, is_whole, planner)
    };
    let found: Vec<Finding> =
        diagnostics.iter().map(|problem: &Diagnostic| problem.into()).collect();
    report.findings.splice(0..0, found);
    report.findings.sort_by_key(|finding| (finding.span, finding.rule));
    report
}
