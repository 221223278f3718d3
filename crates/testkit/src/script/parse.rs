//! The text of a script, cut into steps.

use super::expect::Expected;

/// A part of a script.
#[derive(Debug)]
pub(super) enum Block {
    /// Comments and empty lines, with their line ends.
    Remark(String),
    /// A request with its reply.
    Step(Step),
}

impl Block {
    /// The text of a remark.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Remark(text) => text,
            Self::Step(step) => &step.request_text,
        }
    }
}

/// A request with its reply.
#[derive(Debug)]
pub(super) struct Step {
    /// The line where it begins, from 1.
    pub(super) line: usize,
    /// `PutItem`, or `@advance`.
    pub(super) operation: String,
    /// The rest of the request: JSON, or something that is meant not to be.
    pub(super) body: String,
    /// The lines of the request as they stand, with their line ends.
    pub(super) request_text: String,
    pub(super) reply: Option<Expected>,
}

/// Cuts a script into blocks.
pub(super) fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut lines = text.split_inclusive('\n').enumerate().peekable();
    while let Some((position, line)) = lines.next() {
        if is_remark(line) {
            blocks.push(Block::Remark(line.to_owned()));
            continue;
        }
        let Some(request) = line.strip_prefix("> ") else {
            return Err(format!("{}: neither a step nor a comment: {line}", position + 1));
        };
        let (operation, first) = request.split_once(char::is_whitespace).unwrap_or((request, ""));
        let mut body = first.to_owned();
        let mut request_text = line.to_owned();
        while let Some((_, more)) = lines.next_if(|(_, l)| !is_reply(l) && !ends_step(l)) {
            body.push_str(more);
            request_text.push_str(more);
        }
        let mut reply = String::new();
        let reply_line = lines.peek().map_or(position, |(position, _)| *position) + 1;
        while let Some((_, more)) =
            lines.next_if(|(_, l)| (!reply.is_empty() || is_reply(l)) && !ends_step(l))
        {
            reply.push_str(more);
        }
        let reply = match reply.as_str() {
            "" => None,
            text => Some(Expected::parse(text).map_err(|e| format!("{reply_line}: {e}"))?),
        };
        let operation = operation.trim().to_owned();
        blocks.push(Block::Step(Step { line: position + 1, operation, body, request_text, reply }));
    }
    Ok(blocks)
}

fn is_remark(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

fn ends_step(line: &str) -> bool {
    is_remark(line) || line.starts_with("> ")
}

/// A reply begins with a status.
fn is_reply(line: &str) -> bool {
    let mut bytes = line.bytes();
    bytes.by_ref().take(3).filter(u8::is_ascii_digit).count() == 3 && bytes.next() == Some(b' ')
}
