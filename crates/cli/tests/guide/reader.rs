//! A reader who follows a page: a folder of their own, a shell, and the servers that they left running.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The port that pages speak of. The reader's servers listen on free ones.
const PORT: &str = "8000";

/// Whether a line says how far long work is: on a slow machine it appears, and pages do not show it.
fn is_progress(line: &str) -> bool {
    let counts = line.rsplit_once(": ").and_then(|(_, rest)| rest.split_once(" of "));
    counts.is_some_and(|(done, all)| [done, all].iter().all(|text| text.parse::<usize>().is_ok()))
}

pub(crate) struct Reader {
    folder: tempfile::TempDir,
    root: PathBuf,
    /// The files saved so far, as the page has them.
    files: Vec<(String, String)>,
    server: Option<(Child, String)>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Reader {
    /// A folder in which the repository's examples and the clients' packages are at hand.
    pub(crate) fn new(root: &Path) -> Reader {
        let folder = tempfile::tempdir().unwrap();
        let packages = root.join("tests/clients/js/node_modules");
        for (there, name) in [(root.join("examples"), "examples"), (packages, "node_modules")] {
            std::os::unix::fs::symlink(there, folder.path().join(name)).unwrap();
        }
        Reader { folder, root: root.to_owned(), files: Vec::new(), server: None }
    }

    pub(crate) fn save(&mut self, name: String, text: String) {
        self.write(&name, &text);
        self.files.push((name, text));
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, self.translated(text)).unwrap();
    }

    /// Types a command: its exit code, and the lines it printed on both streams.
    pub(crate) fn run(&mut self, command: &str) -> (i32, Vec<String>) {
        if command.starts_with("keyloom serve") {
            self.serve(command);
            return (0, Vec::new());
        }
        let output = self.shell(&format!("exec 2>&1; {}", self.translated(command))).output();
        let output = output.unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let text =
            self.server.as_ref().map_or(text.to_string(), |(_, port)| text.replace(port, PORT));
        let lines = text.lines().map(str::trim_end).filter(|line| !is_progress(line));
        let lines = lines.map(str::to_owned).collect();
        (output.status.code().unwrap_or(-1), lines)
    }

    /// Commands name the port of the page; the server listens on another one.
    fn translated(&self, text: &str) -> String {
        match &self.server {
            Some((_, port)) => text.replace(PORT, port),
            None => text.to_owned(),
        }
    }

    fn shell(&self, script: &str) -> Command {
        let mut path = std::env::var("PATH").unwrap_or_default();
        // Whoever has installed the command has installed the clients, too.
        let installed = std::env::var("KEYLOOM_GUIDE_COMMAND").ok();
        let built = || {
            path = format!("{}:{path}", self.root.join(".venv/bin").display());
            env!("CARGO_BIN_EXE_keyloom").to_owned()
        };
        let binary = installed.unwrap_or_else(built);
        let binary = Path::new(&binary).parent().unwrap().display();
        let mut command = Command::new("bash");
        command
            .args(["--norc", "-c", script])
            .current_dir(self.folder.path())
            .env("PATH", format!("{binary}:{path}"))
            .envs([("AWS_ACCESS_KEY_ID", "guide"), ("AWS_SECRET_ACCESS_KEY", "guide")])
            .envs([("AWS_DEFAULT_REGION", "us-east-1"), ("AWS_REGION", "us-east-1")])
            .envs([("AWS_PAGER", ""), ("NO_COLOR", "1")])
            .stdin(Stdio::null());
        command
    }

    /// Starts a server as the page says, in place of the one before.
    fn serve(&mut self, command: &str) {
        self.stop();
        let mut shell = self.shell(&format!("exec {command} --port 0"));
        let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.map_while(Result::ok).find_map(|line| {
            let rest = line.split_once("http://")?.1.to_owned();
            Some(rest.split_whitespace().next()?.trim_end_matches(['/', ',', '.']).to_owned())
        });
        let address = address.unwrap_or_else(|| panic!("{command} did not start"));
        let port = address.rsplit(':').next().unwrap().to_owned();
        self.server = Some((child, port));
        for (name, text) in &self.files {
            self.write(name, text);
        }
    }

    /// Ends the server as Ctrl-C does.
    fn stop(&mut self) {
        if let Some((mut server, _)) = self.server.take() {
            let _ = Command::new("kill").args(["-INT", &server.id().to_string()]).status();
            let _ = server.wait();
        }
    }
}
