//! The README and the guide, followed as a reader does: every file saved, every command run, every output compared.
//!
//! `KEYLOOM_BLESS=1` writes the output that commands have now into the pages; read the difference before you commit it.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod page;
mod reader;

use std::path::{Path, PathBuf};

use page::{Step, matches, steps, with_output};
use reader::Reader;

/// Commands that other tests run, with the one that does.
const ELSEWHERE: [(&str, &str); 2] =
    [("cargo run --release -- demo", ".ci/run"), ("scripts/test", "this is it")];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

fn guide() -> Vec<PathBuf> {
    let folder = root().join("docs/guide");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// Follows a page; what went otherwise than it says.
fn follow(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut reader = Reader::new(root());
    let (mut wrong, mut renewed) = (Vec::new(), Vec::new());
    for step in steps(&text) {
        let (line, command, shown) = match step {
            Step::File { name, text } => {
                reader.save(name, text);
                continue;
            }
            Step::Command { line, text, shown } => (line, text, shown),
        };
        if ELSEWHERE.iter().any(|(elsewhere, _)| command.starts_with(elsewhere))
            || missing(&command)
        {
            continue;
        }
        let (code, output) = reader.run(&command);
        let right =
            if shown.is_empty() { code == 0 } else { code <= 1 && matches(&shown, &output) };
        if !right {
            wrong.push(format!(
                "{name}:{}: {command}\nexit {code}\n{}",
                line + 1,
                output.join("\n")
            ));
            renewed.push((line, shown.len(), output));
        }
    }
    if std::env::var_os("KEYLOOM_BLESS").is_some() && !renewed.is_empty() {
        std::fs::write(path, with_output(&text, &renewed)).unwrap();
    }
    wrong
}

/// Whether a command needs a client that is not installed here. `scripts/setup-clients` installs them.
fn missing(command: &str) -> bool {
    let needs = match command.split_whitespace().next() {
        Some("aws" | "python" | "pytest") => ".venv/bin",
        Some("node" | "npx") => "tests/clients/js/node_modules",
        _ => return false,
    };
    let missing = !root().join(needs).exists();
    assert!(
        !missing || std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_none(),
        "{command} needs {needs}; run scripts/setup-clients"
    );
    if missing {
        eprintln!("skipped: {command} needs {needs}");
    }
    missing
}

fn assert_followed(pages: &[PathBuf]) {
    let wrong: Vec<String> = pages.iter().flat_map(|page| follow(page)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_readme_does_what_it_says() {
    assert_followed(&[root().join("README.md")]);
}

#[test]
fn the_guide_does_what_it_says() {
    assert_followed(&guide());
}

/// Relative links of the README, the guide and the other documents lead to files.
#[test]
fn links_lead_somewhere() {
    let mut pages = guide();
    pages.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"]
            .map(|name| root().join(name)),
    );
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            let outside =
                target.contains("://") || target.is_empty() || target.starts_with("mailto:");
            let there = page.parent().unwrap().join(target).exists();
            assert!(outside || there, "{}: {link} leads nowhere", page.display());
        }
    }
}

/// Every chapter is in the table of contents that mdBook reads.
#[test]
fn the_summary_names_every_chapter() {
    let summary = std::fs::read_to_string(root().join("docs/guide/SUMMARY.md")).unwrap();
    for chapter in guide() {
        let name = chapter.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name}");
    }
}

#[test]
fn dots_stand_for_anything() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&lines("a\n…\nd"), &lines("a\nb\nc\nd")));
    assert!(matches(&lines("took … ms, … rows"), &lines("took 3 ms, 12 rows")));
    assert!(!matches(&lines("took … ms, … rows"), &lines("took 3 ms, 12 pages")));
    assert!(!matches(&lines("a\nb"), &lines("a")));
    assert!(!matches(&lines("a"), &lines("a\nb")));
}
