//! Reading files: designs for the commands that need a whole one, and prices.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use keyloom_design::cost::Prices;
use keyloom_design::source::Source;
use keyloom_design::{CheckReport, Design, check_text};

use crate::config::Config;
use crate::output::Failure;

/// What a file is called in messages; `-` is standard input.
pub(crate) fn name_of(path: &Path) -> String {
    if is_input(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Whether a path stands for standard input.
pub(crate) fn is_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads a file, or standard input for `-`, which can be read once.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if !is_input(path) {
        return std::fs::read_to_string(path);
    }
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("it can be read only once"));
    }
    io::read_to_string(io::stdin())
}

/// The text of a file that a command was given.
pub(crate) fn text_of(path: &Path) -> Result<String, Failure> {
    read(path).map_err(|error| {
        Failure::refused(format_args!("{} cannot be read: {error}", name_of(path)))
    })
}

/// Reads and checks a design file.
pub(crate) fn check_file(path: &Path, prices: &Prices) -> Result<CheckReport, Failure> {
    let text = text_of(path)?;
    Ok(checked(&name_of(path), &text, prices, &Config::find()?))
}

/// Checks a text by the project's levels.
pub(crate) fn checked(name: &str, text: &str, prices: &Prices, config: &Config) -> CheckReport {
    let mut report = check_text(name, text, prices);
    config.judge(&mut report);
    report
}

/// The design of a checked file; its mistakes, if it cannot be understood.
pub(crate) fn design_of(report: &CheckReport) -> Result<&Design, Failure> {
    report.design.as_ref().filter(|_| report.is_whole).ok_or_else(|| {
        let shown: Vec<String> =
            report.findings.iter().map(|finding| finding.render(&report.source)).collect();
        Failure::refused(format_args!(
            "{} is not a design that can be used\n\n{}",
            report.source.name(),
            shown.join("\n")
        ))
    })
}

/// Prices from a file, or those that come with the program.
pub(crate) fn prices(path: Option<&Path>) -> Result<Prices, Failure> {
    let Some(path) = path else { return Ok(Prices::default()) };
    let text = text_of(path)?;
    let name = name_of(path);
    let (prices, problems) = Prices::parse(&name, &text);
    if problems.is_empty() {
        return Ok(prices);
    }
    let source = Source::new(name, text);
    let shown: Vec<String> = problems.iter().map(|problem| problem.render(&source)).collect();
    Err(Failure::refused(format_args!("the prices cannot be used\n\n{}", shown.join("\n"))))
}
