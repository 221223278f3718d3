//! Starting a server that is not ours.

use std::net::{TcpListener, TcpStream};
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

/// Starts a program that listens on `-p PORT` or `--port PORT`; none if it is not there.
pub(crate) fn start(program: &str) -> Option<Endpoint> {
    let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
    let arguments: &[&str] = match program {
        "moto_server" => &["-p"],
        _ => &["--createTableMs", "0", "--deleteTableMs", "0", "--port"],
    };
    let child = Command::new(program)
        .args(arguments)
        .arg(port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut endpoint = Endpoint { child, url: format!("http://127.0.0.1:{port}") };
    let patience = Instant::now() + Duration::from_mins(1);
    while Instant::now() < patience {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some(endpoint);
        }
        if endpoint.child.try_wait().ok()?.is_some() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}
