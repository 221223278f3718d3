//! A Markdown page as a reader follows it: files to write, commands to type, output to expect.

/// What a page asks its reader to do, in order.
#[derive(Debug)]
pub(crate) enum Step {
    /// A fenced block with a file name: the reader saves it.
    File { name: String, text: String },
    /// A line of a `console` block after `$`, and the lines under it.
    Command { line: usize, text: String, shown: Vec<String> },
}

/// The steps of a page. Lines are counted from 0.
pub(crate) fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let block: Vec<(usize, &str)> =
            lines.by_ref().take_while(|(_, line)| !line.starts_with("```")).collect();
        match info.split_once(' ') {
            Some((_, name)) => steps.push(Step::File {
                name: name.to_owned(),
                text: block.iter().flat_map(|(_, line)| [line, "\n"]).collect(),
            }),
            None if info == "console" => steps.extend(commands(&block)),
            None => {}
        }
    }
    steps
}

/// The commands of a console block. A line that ends in `\` goes on in the next one.
fn commands(block: &[(usize, &str)]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut unfinished = false;
    for (number, row) in block {
        match (row.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => {
                let (line, text) = (*number, command.to_owned());
                steps.push(Step::Command { line, text, shown: Vec::new() });
            }
            (None, Some(Step::Command { line, text, .. })) if unfinished => {
                *line = *number;
                text.pop();
                text.push_str(row.trim_start());
            }
            (None, Some(Step::Command { shown, .. })) => shown.push((*row).to_owned()),
            (None, _) => panic!("line {}: output without a command", number + 1),
        }
        unfinished = row.ends_with('\\');
    }
    steps
}

/// Whether the output is what a page shows. `…` stands for anything within a line, a line of its own for any lines.
pub(crate) fn matches(shown: &[String], output: &[String]) -> bool {
    match (shown.split_first(), output.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((first, rest)), _) if first == "…" => (0..=output.len())
            .any(|skipped| matches(rest, output.get(skipped..).unwrap_or_default())),
        (Some((first, shown)), Some((line, output))) => {
            line_matches(first, line) && matches(shown, output)
        }
        (Some(_), None) => false,
    }
}

fn line_matches(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The page with the output of some commands replaced: the line of each command, how many lines it shows, the new ones.
pub(crate) fn with_output(page: &str, renewed: &[(usize, usize, Vec<String>)]) -> String {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    for (command, shown, output) in renewed.iter().rev() {
        lines.splice(command + 1..command + 1 + shown, output.iter().cloned());
    }
    lines.join("\n") + "\n"
}
