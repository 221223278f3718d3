//! The README and the guide, followed as a reader does: every file saved, every command run, every output compared.
//!
//! With `KEYLOOM_GUIDE_COMMAND` it is an installed command that is typed: `scripts/walk` follows the pages with each.
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
    // Who names a command to follow the pages with has installed everything they need.
    if std::env::var_os("KEYLOOM_GUIDE_COMMAND").is_some_and(|named| !named.is_empty()) {
        return false;
    }
    let needs = match command.split_whitespace().find(|word| !word.contains('=')) {
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
            // Pages outside of `docs` are not in the book, so links to them name the repository.
            let there = match repository_path(target) {
                Some(path) => root().join(path).exists(),
                None => page.parent().unwrap().join(target).exists(),
            };
            let outside = outside && repository_path(target).is_none();
            assert!(outside || there, "{}: {link} leads nowhere", page.display());
        }
    }
}

/// The path in this repository that a link names.
fn repository_path(link: &str) -> Option<&str> {
    let path = link.strip_prefix("https://github.com/keyloom/keyloom/")?;
    path.strip_prefix("blob/main/").or_else(|| path.strip_prefix("tree/main/"))
}

/// Every page is in the table of contents that mdBook reads, and links to no page outside of the book.
#[test]
fn the_book_is_whole() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let mut folders = vec![docs.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&docs).unwrap().to_string_lossy().replace('\\', "/");
            let is_page = path.extension().is_some_and(|extension| extension == "md");
            if !is_page || name == "SUMMARY.md" {
                continue;
            }
            assert!(summary.contains(&format!("({name})")), "{name} is not in docs/SUMMARY.md");
            let text = std::fs::read_to_string(&path).unwrap();
            let depth = name.matches('/').count();
            let out = format!("]({}", "../".repeat(depth + 1));
            assert!(!text.contains(&out), "{name} links to a file outside of the book");
        }
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
