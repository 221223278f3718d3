//! The `keyloom` command.
//!
//! `args` says what can be typed, `commands` has one file per command, `output` is how they speak;
//! `trial` runs a design's patterns on the embedded engine, `deployment` creates its tables at an
//! endpoint, `endpoint` reaches one, `observed` serves a database with its statistics, `console` answers the pages in a browser,
//! `admin` asks a database that is served.

mod admin;
#[cfg(unix)]
mod allocator;
mod args;
mod commands;
mod config;
mod console;
mod deployment;
mod design_file;
#[cfg(test)]
mod documented;
mod endpoint;
mod identities;
mod nearest;
mod observed;
mod output;
mod paint;
mod pattern;
mod progress;
mod replicas;
mod rule_pages;
#[cfg(feature = "postgres")]
mod store_url;
mod transfer;
mod trial;
mod yaml;

use std::process::ExitCode;

use args::Command;
use output::Output;

fn main() -> ExitCode {
    let command = Command::from_environment();
    let mut output = Output::stdout();
    match commands::run(command, &mut output) {
        Ok(code) => code,
        // The reader closed the pipe, as `head` does.
        Err(output::Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure);
            failure.code()
        }
    }
}
