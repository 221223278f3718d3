//! The pages in `docs` about designs: every design on them is checked, and says what its page says.
#![expect(clippy::unwrap_used, reason = "tests")]

mod language;
mod rules;

use std::path::{Path, PathBuf};

use keyloom_design::cost::Prices;
use keyloom_design::{CheckReport, check_text};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn check(text: &str) -> CheckReport {
    check_text("page.toml", text, &Prices::default())
}

/// What a report found, for the message of a failed test.
fn shown(report: &CheckReport) -> String {
    let lines: Vec<String> = report
        .findings
        .iter()
        .map(|finding| format!("{} {}: {}", finding.rule, finding.subject, finding.message))
        .collect();
    lines.join("\n")
}

/// A block of code on a page.
struct Block {
    /// The heading it stands under.
    heading: String,
    /// What stands after the fence: `toml`, or `toml entity`.
    kind: String,
    text: String,
}

/// The blocks of code of a page, from top to bottom.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut heading, mut open) = (String::new(), false);
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(kind) => {
                open = true;
                let (heading, kind) = (heading.clone(), kind.to_owned());
                blocks.push(Block { heading, kind, text: String::new() });
            }
            None if open => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {
                if let Some(title) = line.strip_prefix('#') {
                    title.trim_start_matches('#').trim().clone_into(&mut heading);
                }
            }
        }
    }
    assert!(!open, "a block is not closed");
    blocks
}
