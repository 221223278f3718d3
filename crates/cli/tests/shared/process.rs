//! `keyloom serve` in a process of its own; it ends with the test.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

pub(crate) struct ServerProcess {
    pub(crate) process: Child,
    pub(crate) url: String,
}

impl ServerProcess {
    /// Serves on a free port, with these arguments. The keys are for S3, and nobody checks them.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_keyloom"))
            .args(["serve", "--port", "0"])
            .args(arguments)
            .envs([("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_REGION", "c")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        Self { url: url.unwrap().to_owned(), process }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
