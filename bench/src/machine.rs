//! Where and with what a run was made.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

use crate::contender::Contender;

/// The machine and the versions, for the report.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) date: String,
    pub(crate) command: String,
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory: String,
    pub(crate) system: String,
    pub(crate) file_system: String,
    /// Other work on the machine when the run began: the load average.
    pub(crate) load: String,
    /// Programs and their versions.
    pub(crate) versions: Vec<(String, String)>,
}

impl Machine {
    /// Asks the system; what it does not tell is a question mark.
    pub(crate) fn inspect(
        command: String,
        keyloom: &Path,
        peers: &Path,
        scratch: &Path,
        installed: &[Contender],
    ) -> Self {
        let processor = first_value("/proc/cpuinfo", "model name");
        let memory = first_value("/proc/meminfo", "MemTotal");
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
        let scratch = scratch.display().to_string();
        let mut versions = vec![
            ("Keyloom".to_owned(), keyloom_version(keyloom)),
            ("rustc".to_owned(), output("rustc", &["--version"])),
            ("dynoxide, embedded".to_owned(), "dynoxide-rs 3.2.0".to_owned()),
        ];
        for contender in installed {
            if let Some(version) = peer_version(*contender, peers) {
                versions.push((contender.label().to_owned(), version));
            }
        }
        Self {
            date: output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
            command,
            processor,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory,
            system: output("uname", &["-sr"]),
            file_system: output("findmnt", &["-no", "FSTYPE,SOURCE", "-T", &scratch]),
            load,
            versions,
        }
    }
}

fn keyloom_version(program: &Path) -> String {
    let version = output(&program.display().to_string(), &["--version"]);
    let commit = output("git", &["describe", "--always", "--dirty"]);
    format!("{version}, commit {commit}")
}

fn peer_version(contender: Contender, peers: &Path) -> Option<String> {
    let run = |program: &str, arguments: &[&str]| {
        output(&peers.join(program).display().to_string(), arguments)
    };
    match contender {
        Contender::Dynoxide => {
            let product = run("dynoxide/bin/dynoxide", &["--version"]);
            Some(format!("dynoxide-rs 3.2.0, which calls itself {product}"))
        }
        Contender::Dynalite => {
            let path = peers.join("dynalite/node_modules/dynalite/package.json");
            let text = fs::read_to_string(path).ok()?;
            let package: serde_json::Value = serde_json::from_str(&text).ok()?;
            let version = package.get("version")?.as_str()?;
            Some(format!("{version} on Node.js {}", output("node", &["--version"])))
        }
        Contender::Moto => {
            let ask = "from importlib.metadata import version; print(version('moto'))";
            let python = run("moto/bin/python", &["--version"]);
            Some(format!("{} on {python}", run("moto/bin/python", &["-c", ask])))
        }
        _ => None,
    }
}

/// The first line that a command prints.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let line = text.unwrap_or_default().lines().next().unwrap_or("?").to_owned();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn first_value(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim());
    value.unwrap_or("?").to_owned()
}
