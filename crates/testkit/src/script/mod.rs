//! Golden scripts: requests and the replies they must get, in text files.
//!
//! ```text
//! # A comment. The table is made; what exactly it answers is not the point here.
//! > CreateTable {"TableName": "t", …}
//! 200 ...
//!
//! > PutItem {"TableName": "t", "Item": {"pk": {"S": "a"}}}
//! 200 {}
//!
//! > @advance 600
//! ```
//!
//! A step begins with `>` and an operation, then the body of the request, over as many lines as it
//! likes. The reply follows: a status and JSON, up to an empty line. In a reply, `...` as the whole
//! body stands for any, `"*"` for any value, and `"$name"` takes the value and inserts it wherever a
//! later request says `"$name"`. Steps that begin with `@` act on the databases: `@setup orders`
//! sends the requests of `setup/orders.setup`, which must all succeed; `@advance` moves the clock by
//! seconds, `@maintenance` does what otherwise happens in the background, `@reopen` closes the
//! database on disk and opens it again.
//!
//! Every script runs on a database in memory, on one on disk and on servers that share a PostgreSQL, one request
//! after the other on another server; all must give the replies.
//! With `KEYLOOM_BLESS=1` the replies in the file are replaced by those of the database in memory;
//! placeholders stay where they are.

mod expect;
mod parse;
mod render;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use keyloom_engine::Database;

use crate::lockstep::{self, Answer, Lockstep};
use expect::{Expected, Names};
use parse::{Block, Step};

/// How many servers take turns.
const SERVERS: usize = 3;

/// What a run over a directory of scripts did.
#[derive(Debug, Default)]
pub struct Summary {
    /// The scripts, by their path under the directory.
    pub scripts: Vec<PathBuf>,
    /// How many requests they sent to each database.
    pub requests: usize,
    /// What did not come out as expected.
    pub failures: Vec<String>,
}

/// Runs every `*.script` under a directory.
pub fn run_directory(directory: &Path) -> io::Result<Summary> {
    let bless = std::env::var_os("KEYLOOM_BLESS").is_some_and(|value| value != "0");
    let mut summary = Summary::default();
    for path in scripts_under(directory)? {
        let text = fs::read_to_string(&path)?;
        let name = path.strip_prefix(directory).unwrap_or(&path).to_owned();
        let setup = |name: &str| fs::read_to_string(directory.join(format!("setup/{name}.setup")));
        match run(&text, &setup, bless) {
            Ok(outcome) => {
                summary.requests += outcome.requests;
                let described = outcome.failures.into_iter();
                summary.failures.extend(described.map(|f| format!("{}:{f}", path.display())));
                if bless && outcome.blessed != text {
                    fs::write(&path, outcome.blessed)?;
                }
            }
            Err(problem) => summary.failures.push(format!("{}:{problem}", path.display())),
        }
        summary.scripts.push(name);
    }
    Ok(summary)
}

fn scripts_under(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(scripts_under(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "script") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// What one script did.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    requests: usize,
    /// Each begins with the line of its step.
    failures: Vec<String>,
    /// The script with the replies that the database in memory gave.
    blessed: String,
}

/// Reads a setup by its name.
type Setups<'a> = &'a dyn Fn(&str) -> io::Result<String>;

/// Runs a script; the error is a script that cannot be read.
fn run(text: &str, setups: Setups<'_>, bless: bool) -> Result<Outcome, String> {
    let mut databases = Lockstep::with_servers(SERVERS);
    let [mut memory_names, mut disk_names, mut server_names] = [(); 3].map(|()| Names::default());
    let mut outcome = Outcome::default();
    for block in parse::blocks(text)? {
        let Block::Step(step) = block else {
            outcome.blessed.push_str(block.text());
            continue;
        };
        outcome.blessed.push_str(&step.request_text);
        if let Some(command) = step.operation.strip_prefix('@') {
            act(&mut databases, command, &step, setups)
                .map_err(|problem| format!("{}: {problem}", step.line))?;
            continue;
        }
        outcome.requests += 1;
        let memory = send(databases.memory(), &step, &memory_names)?;
        let expected = match (&step.reply, bless) {
            (Some(reply), false) => reply.clone(),
            (Some(reply), true) if reply.matches(&memory, &mut memory_names.clone()) => {
                reply.clone()
            }
            (Some(reply), true) => reply.adjusted_to(&memory),
            (None, true) => Expected::lasting(&memory),
            (None, false) => return Err(format!("{}: the step has no reply", step.line)),
        };
        outcome.blessed.push_str(&expected.render());
        let disk = send(databases.disk(), &step, &disk_names)?;
        let mut answers =
            vec![("memory", memory, &mut memory_names), ("disk", disk, &mut disk_names)];
        if let Some(cluster) = databases.cluster() {
            let answer = send(cluster.next(), &step, &server_names)?;
            answers.push(("servers", answer, &mut server_names));
        }
        for (place, answer, names) in answers {
            if !expected.matches(&answer, names) {
                outcome.failures.push(mismatch(&step, place, &expected, &answer));
            }
        }
    }
    Ok(outcome)
}

fn send(database: &Database, step: &Step, names: &Names) -> Result<Answer, String> {
    let body = names.insert_into(&step.body).map_err(|name| {
        format!("{}: ${name} is used before any reply has given it a value", step.line)
    })?;
    Ok(lockstep::call(database, &step.operation, body.as_bytes()))
}

fn act(
    databases: &mut Lockstep,
    command: &str,
    step: &Step,
    setups: Setups<'_>,
) -> Result<(), String> {
    let argument = step.body.trim();
    match (command, argument.parse()) {
        ("advance", Ok(seconds)) => databases.advance(Duration::from_secs(seconds)),
        ("maintenance", _) => databases.run_maintenance(),
        ("reopen", _) => databases.reopen(),
        ("setup", _) => {
            let text = setups(argument).map_err(|error| format!("setup {argument}: {error}"))?;
            set_up(databases, &text).map_err(|problem| format!("setup {argument}:{problem}"))?;
        }
        _ => return Err(format!("no such step: @{command} {argument}")),
    }
    Ok(())
}

/// Sends the requests of a setup.
fn set_up(databases: &Lockstep, text: &str) -> Result<(), String> {
    for block in parse::blocks(text)? {
        let Block::Step(step) = block else { continue };
        for database in databases.databases() {
            let answer = send(database, &step, &Names::default())?;
            if answer.status != 200 {
                return Err(format!("{}: {answer}", step.line));
            }
        }
    }
    Ok(())
}

fn mismatch(step: &Step, place: &str, expected: &Expected, answer: &Answer) -> String {
    format!(
        "{}: {} ({place})\nexpected {}got      {}",
        step.line,
        step.operation,
        expected.render(),
        Expected::exactly(answer).render()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = r#"# Two tables.
> CreateTable {"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}
200 ...

> PutItem {"TableName": "tab", "Item": {"pk": {"S": "a"}, "n": {"N": "1"}}}
200 {}

> GetItem {"TableName": "tab", "Key": {"pk": {"S": "a"}}}
200 {"Item": {"n": {"N": "$n"}, "pk": {"S": "*"}}}

> PutItem {"TableName": "tab", "Item": {"pk": {"S": "$n"}}}
200 {}

> GetItem {"TableName": "tab", "Key": {"pk": {"S": "1"}}}
200 {"Item": {"pk": {"S": "1"}}}
"#;

    fn run_alone(text: &str, bless: bool) -> Result<Outcome, String> {
        run(text, &|_| Err(io::ErrorKind::NotFound.into()), bless)
    }

    #[test]
    fn a_script_runs_on_both_databases() {
        let outcome = run_alone(SCRIPT, false).unwrap();
        assert_eq!((outcome.failures.as_slice(), outcome.requests), (&[] as &[String], 5));
        assert_eq!(outcome.blessed, SCRIPT);
    }

    #[test]
    fn a_wrong_reply_fails_everywhere_and_is_blessed() {
        let wrong = SCRIPT.replace(r#""pk": {"S": "1"}}}"#, r#""pk": {"S": "2"}}}"#);
        let failed = run_alone(&wrong, false).unwrap();
        assert!(matches!(failed.failures.len(), 2 | 3), "{:?}", failed.failures);
        let blessed = run_alone(&wrong, true).unwrap().blessed;
        assert_eq!(run_alone(&blessed, false).unwrap().failures, [] as [String; 0], "{blessed}");
        assert!(blessed.contains(r#""n": {"N": "$n"}"#), "placeholders stay: {blessed}");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        for (text, problem) in [
            ("> PutItem {}\n", "1: the step has no reply"),
            ("\nhello\n", "2: "),
            ("> PutItem {\"a\": \"$x\"}\n200 {}\n", "1: $x is used before"),
            ("> PutItem {}\n200 {\n", "2: "),
            ("> @fly\n", "1: no such step"),
            ("\n> @setup nothing\n", "2: setup nothing: "),
        ] {
            let error = run_alone(text, false).unwrap_err();
            assert!(error.starts_with(problem), "{text:?}: {error}");
        }
    }
}
