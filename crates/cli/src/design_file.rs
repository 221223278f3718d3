//! Reading files: designs for the commands that need a whole one, and prices.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use keyloom_design::cost::Prices;
use keyloom_design::source::Source;
use keyloom_design::{CheckReport, Design, MAX_FILE_BYTES, check_text};

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
        if is_pipe_without_writer(path) {
            return Err(io::Error::other("it is a named pipe: give a file, or - with the text"));
        }
        return read_most(File::open(path)?);
    }
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("it can be read only once"));
    }
    read_most(io::stdin())
}

/// Whether opening a file could wait for ever. A shell's `<(…)` is a pipe that has a writer, in a folder of descriptors.
fn is_pipe_without_writer(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let of_shell = ["/dev/", "/proc/"].iter().any(|folder| path.starts_with(folder));
        !of_shell && std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// A text that is no longer than a design may be: devices, for one, have no end.
fn read_most(file: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    // Before it is decoded, as the cut may lie inside a character.
    if bytes.len() > MAX_FILE_BYTES {
        let most = MAX_FILE_BYTES >> 20;
        return Err(io::Error::other(format!(
            "it is longer than {most} MB, the most that is read"
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
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
