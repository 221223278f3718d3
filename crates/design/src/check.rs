//! Checking: plans, findings and cost of a whole design.

use crate::cost::{Bill, Prices, bill};
use crate::diagnostic::{Diagnostic, Severity};
use crate::lint::{self, Context, Finding};
use crate::model::Design;
use crate::plan::{IndexUse, Plan, WritePlan, index_uses, plan, plan_write};
use crate::source::Source;

/// Everything that is known about a design.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// The file.
    pub source: Source,
    /// What is wrong, in the order of the file.
    pub findings: Vec<Finding>,
    /// What was suppressed, with the reason given.
    pub suppressed: Vec<(Finding, String)>,
    /// The design; absent when the file could not be understood.
    pub design: Option<Design>,
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
    /// Whether anything is wrong at error level: `keyloom check` then exits with 1.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// Checks a design.
pub fn check(design: &Design, prices: &Prices) -> CheckReport {
    let plans = plan(design, prices);
    let writes: Vec<WritePlan> =
        design.writes().iter().map(|write| plan_write(design, write, prices)).collect();
    let uses = index_uses(design, &plans);
    let context = Context { design, plans: &plans, writes: &writes, uses: &uses };
    let result = lint::run(&context);
    let bill = bill(design, &plans, &writes, prices);
    CheckReport {
        source: design.source().clone(),
        findings: result.findings,
        suppressed: result.suppressed,
        design: Some(design.clone()),
        plans,
        writes,
        index_uses: uses,
        bill,
    }
}

/// Reads and checks a design file; mistakes in the file are findings too.
pub fn check_text(file_name: &str, text: &str, prices: &Prices) -> CheckReport {
    let (design, diagnostics) = Design::parse(file_name, text);
    let mut report = match design {
        Some(design) => check(&design, prices),
        None => CheckReport { source: Source::new(file_name, text), ..CheckReport::default() },
    };
    let found: Vec<Finding> =
        diagnostics.iter().map(|problem: &Diagnostic| problem.into()).collect();
    report.findings.splice(0..0, found);
    report.findings.sort_by_key(|finding| (finding.span, finding.rule));
    report
}
