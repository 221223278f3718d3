//! Starting a server that is not ours.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Endpoint {
    child: Child,
    url: String,
}

impl Endpoint {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Implementations of DynamoDB that are not ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Independent {
    /// From npm, installed by `scripts/setup-clients`: ten megabytes in three seconds. Knows no transactions.
    Dynalite,
    /// From PyPI: thirty times the size, so it runs only where somebody installed it. Knows transactions.
    Moto,
}

impl Independent {
    /// The installed program, or one that the PATH finds.
    fn program(self) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (installed, name) = match self {
            Self::Dynalite => {
                (root.join("tests/clients/js/node_modules/.bin/dynalite"), "dynalite")
            }
            Self::Moto => (root.join(".venv/bin/moto_server"), "moto_server"),
        };
        if installed.exists() { installed } else { PathBuf::from(name) }
    }

    /// Starts it; the reason if it cannot be.
    pub(crate) fn start(self) -> Result<Endpoint, String> {
        // A port that is free now may be taken a moment later, and then it ends at once.
        let again = |_| self.start_once();
        self.start_once().or_else(again).or_else(again)
    }

    fn start_once(self) -> Result<Endpoint, String> {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .map_err(|error| format!("no free port: {error}"))?
            .port();
        let arguments: &[&str] = match self {
            Self::Dynalite => &["--createTableMs", "0", "--deleteTableMs", "0", "--port"],
            Self::Moto => &["-p"],
        };
        let child = Command::new(self.program())
            .args(arguments)
            .arg(port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{self:?} is not installed ({error})"))?;
        let mut endpoint = Endpoint { child, url: format!("http://127.0.0.1:{port}") };
        let patience = Instant::now() + Duration::from_mins(1);
        while Instant::now() < patience {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(endpoint);
            }
            if let Ok(Some(status)) = endpoint.child.try_wait() {
                return Err(format!("{self:?} ended at once ({status})"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("{self:?} does not listen after a minute"))
    }
}

/// Says aloud that a test is skipped: past the test harness, which keeps quiet about tests that pass.
pub(crate) fn say_skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}; run scripts/setup-clients");
}
