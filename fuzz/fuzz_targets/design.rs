//! Design files: any text is a design, or has findings that point into it.

#![no_main]

use keyloom_design::cost::Prices;
use keyloom_design::{Design, check_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (design, diagnostics) = Design::parse("fuzz.toml", text);
    for diagnostic in &diagnostics {
        let source = keyloom_design::source::Source::new("fuzz.toml", text);
        assert!(!diagnostic.render(&source).is_empty());
    }
    let report = check_text("fuzz.toml", text, &Prices::default());
    for finding in &report.findings {
        if finding.span.is_some() {
            assert!(text.get(finding.span.start()..finding.span.end()).is_some(), "{finding:?}");
        }
    }
    // A design without errors becomes a module, or says why not.
    if let Some(design) = design
        && !report.has_errors()
        && let Err(reasons) = keyloom_design::rust_module(&design, "fuzz")
    {
        assert!(!reasons.is_empty());
    }
});
