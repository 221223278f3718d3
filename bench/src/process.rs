//! Servers as processes of their own, and what the system says of them.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::contender::Contender;
use crate::http::Client;

/// The clock ticks per second that Linux reports CPU time in, on every architecture.
const TICKS_PER_SECOND: f64 = 100.0;

/// How long a server may take to start, or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) contender: Contender,
    pub(crate) address: SocketAddr,
    /// From the start of the process to the first answer.
    pub(crate) first_answer: Duration,
    child: Child,
}

impl Server {
    /// Starts a server and waits until it has answered this question.
    pub(crate) fn start(
        contender: Contender,
        mut command: Command,
        address: SocketAddr,
        log: &Path,
        (target, body): (&str, &str),
    ) -> Result<Self> {
        let name = contender.label();
        let output = File::create(log).with_context(|| format!("create {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let start = Instant::now();
        let child = command.spawn().with_context(|| format!("start {name}: {command:?}"))?;
        let mut server = Self { contender, address, first_answer: Duration::ZERO, child };
        while Client::new(address).call(target, body).is_err() {
            if server.child.try_wait()?.is_some() || start.elapsed() > PATIENCE {
                bail!("{name} does not answer {target}; its output is in {}", log.display());
            }
            sleep(Duration::from_micros(200));
        }
        server.first_answer = start.elapsed();
        Ok(server)
    }

    /// The CPU time that the process has used, in all its threads.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let path = format!("/proc/{}/stat", self.child.id());
        let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        // The name of the program may hold spaces; what follows its parenthesis does not.
        let (_, fields) = text.rsplit_once(") ").with_context(|| format!("{path} is odd"))?;
        let ticks: f64 = fields
            .split(' ')
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse::<f64>().unwrap_or_default())
            .sum();
        Ok(Duration::from_secs_f64(ticks / TICKS_PER_SECOND))
    }

    /// The memory that the process has in use.
    pub(crate) fn resident_bytes(&self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
        let kilobytes: u64 = kilobytes.with_context(|| format!("{path} has no VmRSS"))?;
        Ok(kilobytes << 10)
    }

    /// Asks the server to end, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        let process = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &process]).status().context("run kill")?;
        let asked = Instant::now();
        while self.child.try_wait()?.is_none() {
            if asked.elapsed() > PATIENCE {
                bail!("{} does not end", self.contender.label());
            }
            sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A loopback address whose port is free at the moment.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// The CPU time that the calling thread has used.
pub(crate) fn own_thread_cpu() -> Result<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").context("read schedstat")?;
    let nanoseconds = text.split(' ').next().and_then(|field| field.parse().ok());
    Ok(Duration::from_nanos(nanoseconds.context("schedstat is odd")?))
}
