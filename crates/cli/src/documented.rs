//! Every command line that the documents show is one that the command takes: in blocks of a page, between backquotes,
//! and in the examples of `--help`. Those of `console` blocks are run, too (`tests/guide`).

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Command, CommandFactory as _, Parser as _};

use crate::args::Arguments;

/// Blocks whose lines may be commands: `text` and blocks without a language show them where they cannot be run.
const LANGUAGES: [&str; 5] = ["sh", "bash", "console", "text", ""];
/// What may stand before the name of the command.
const RUNNERS: [&str; 3] = ["npx", "exec", "sudo"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// All pages of the repository.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let named = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"];
    found.extend(named.map(|name| root().join(name)));
    let mut folders = vec![root().join("docs"), root().join("packaging"), root().join("examples")];
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    found.extend(crates.map(|entry| entry.unwrap().path().join("README.md")));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.retain(|path| path.exists());
    found
}

/// Texts with the line that they begin in.
type Numbered = Vec<(usize, String)>;

/// The lines of the blocks of a page, and what stands between backquotes outside of them; lines are counted from 1.
fn shown(page: &str) -> (Numbered, Numbered) {
    let (mut lines, mut spans) = (Vec::new(), Vec::new());
    let mut block: Option<bool> = None;
    let mut unfinished: Option<(usize, String)> = None;
    for (at, line) in page.lines().enumerate() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            block = match block {
                None => Some(LANGUAGES.contains(&info)),
                Some(_) => None,
            };
            continue;
        }
        match block {
            Some(true) => {
                let (number, mut whole) = unfinished.take().unwrap_or((at + 1, String::new()));
                let line = line.trim();
                whole.push_str(line.strip_prefix("$ ").unwrap_or(line));
                if whole.ends_with('\\') {
                    whole.pop();
                    unfinished = Some((number, whole));
                } else {
                    lines.push((number, whole));
                }
            }
            Some(false) => {}
            None => {
                let quoted = line.split('`').skip(1).step_by(2);
                spans.extend(quoted.map(|span| (at + 1, span.to_owned())));
            }
        }
    }
    (lines, spans)
}

/// The commands of a line of shell, in words: pipes and redirections end a command, and comments the line.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut all, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut quote = None;
    let mut is_target = false;
    for c in line.chars().chain([';']) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | '|' | ';' | '&' | '>' | '<' | '(' | ')') => {
                // What follows a redirection is a file.
                let is_stream =
                    |word: &String| c == '>' && word.chars().all(|c| c.is_ascii_digit());
                match word.take() {
                    Some(word) if is_stream(&word) => {}
                    Some(word) if !is_target => words.push(word),
                    Some(_) => is_target = false,
                    None => {}
                }
                is_target |= matches!(c, '>' | '<');
                if matches!(c, '|' | ';' | '&' | '(' | ')') {
                    all.push(std::mem::take(&mut words));
                }
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    all.push(words);
    all.retain(|words| !words.is_empty());
    all
}

/// The words of a command from `keyloom` on, if that is what runs.
fn ours(mut words: Vec<String>) -> Option<Vec<String>> {
    let is_before = |word: &String| {
        RUNNERS.contains(&word.as_str())
            || word.starts_with("--no-install")
            || word
                .split_once('=')
                .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let cargo = ["cargo", "run", "--release", "--"];
    if words.len() > cargo.len() && words.iter().zip(cargo).all(|(word, known)| word == known) {
        words.splice(..cargo.len(), ["keyloom".to_owned()]);
    }
    let begin = words.iter().position(|word| !is_before(word))?;
    let words = words.split_off(begin);
    (words.first()? == "keyloom").then_some(words)
}

/// What is wrong with a whole command line.
fn wrong(words: &[String]) -> Option<String> {
    let is_left_open = words.iter().any(|word| word.contains(['…', '$', '<', '{']));
    if words.len() == 1 {
        return None;
    }
    if is_left_open {
        return unknown(words);
    }
    let error = Arguments::try_parse_from(words).err()?;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        _ => Some(error.to_string()),
    }
}

/// The options of a command and of those below it, which may follow its arguments.
fn options(command: &Command, found: &mut Vec<String>) {
    found.extend(command.get_arguments().filter_map(|one| one.get_long()).map(str::to_owned));
    command.get_subcommands().for_each(|sub| options(sub, found));
}

/// What is wrong with the beginning of a command line: subcommands and options must be known.
fn unknown(words: &[String]) -> Option<String> {
    let mut command = Arguments::command();
    command.build();
    let mut words = words.iter().skip(1).peekable();
    while command.has_subcommands() {
        let Some(word) = words.next_if(|word| !word.starts_with('-')) else { break };
        let is_name = word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        match command.find_subcommand(word) {
            Some(found) => command = found.clone(),
            None if is_name => return Some(format!("there is no command `{word}`")),
            None => break,
        }
    }
    let mut known = vec!["help".to_owned(), "version".to_owned()];
    options(&command, &mut known);
    words.find_map(|word| {
        let name = word.strip_prefix("--")?.split('=').next()?;
        let name = name.trim_end_matches(|c: char| !c.is_ascii_lowercase() && c != '3');
        (!name.is_empty() && !known.iter().any(|option| option == name))
            .then(|| format!("`{}` has no option --{name}", command.get_name()))
    })
}

#[test]
fn every_command_line_of_the_documents_is_taken() {
    let (mut said, mut count) = (Vec::new(), 0);
    for path in pages() {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let (lines, spans) = shown(&text);
        for (line, text) in lines {
            for words in commands(&text).into_iter().filter_map(ours) {
                count += 1;
                said.extend(wrong(&words).map(|why| format!("{name}:{line}: {text}\n{why}")));
            }
        }
        for (line, text) in spans.iter().filter(|(_, text)| text.starts_with("keyloom ")) {
            for words in commands(text).into_iter().filter_map(ours) {
                count += 1;
                said.extend(unknown(&words).map(|why| format!("{name}:{line}: `{text}`: {why}")));
            }
        }
    }
    assert!(count > 150, "only {count} commands were found");
    assert!(said.is_empty(), "{}", said.join("\n\n"));
}

/// The examples under the help of a command and of those below it.
fn examples(command: &Command, found: &mut Vec<String>) {
    let helps = [command.get_after_help(), command.get_after_long_help()];
    for help in helps.into_iter().flatten() {
        let text = help.to_string().replace("\\\n", " ");
        found.extend(
            text.lines().map(str::trim).filter(|l| l.starts_with("keyloom ")).map(str::to_owned),
        );
    }
    command.get_subcommands().for_each(|sub| examples(sub, found));
}

#[test]
fn every_example_of_the_help_is_taken() {
    let mut found = Vec::new();
    examples(&Arguments::command(), &mut found);
    assert!(found.len() > 40, "only {} examples were found", found.len());
    let lines = found.iter().flat_map(|line| commands(line).into_iter().filter_map(ours));
    let said: Vec<String> = lines.filter_map(|words| wrong(&words)).collect();
    assert!(said.is_empty(), "{}", said.join("\n\n"));
}

#[test]
fn a_wrong_line_is_noticed() {
    let of = |line: &str| -> Vec<String> {
        let (lines, spans) = shown(line);
        let lines = lines.iter().flat_map(|(_, line)| commands(line)).filter_map(ours);
        let spans = spans.iter().flat_map(|(_, span)| commands(span)).filter_map(ours);
        lines
            .filter_map(|words| wrong(&words))
            .chain(spans.filter_map(|words| unknown(&words)))
            .collect()
    };
    for right in [
        "```sh\nkeyloom completions bash > ~/completions/keyloom\n```",
        "```console\n$ A=1 npx keyloom serve --memory --port 0 & # starts\n```",
        "```text\nkeyloom check shop.toml \\\n  --deny unproven | less --odd\n```",
        "`keyloom migrate` and `keyloom migrate run …` and `keyloom dump --table NAME`",
        "```toml\nkeyloom nonsense\n```",
    ] {
        assert!(of(right).is_empty(), "{right}: {:?}", of(right));
    }
    for wrong in [
        "```sh\nkeyloom man --out ~/man1\n```",
        "```sh\necho a && keyloom chekc a.toml\n```",
        "```text\nkeyloom load a.jsonl\n```",
        "`keyloom doctor --safe`",
        "`keyloom migrate rum`",
    ] {
        assert_eq!(of(wrong).len(), 1, "{wrong}: {:?}", of(wrong));
    }
}
