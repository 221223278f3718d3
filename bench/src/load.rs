//! The load generator: any number of connections on one thread, each asking its next question as
//! soon as the last one is answered.
//!
//! Client and server share the machine, so the client must be light: requests are prebuilt bytes,
//! of the answers only the head is looked at, and there is no runtime in between.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::http::Head;
use crate::process::own_thread_cpu;

/// How long an answer may take before the run is given up.
const PATIENCE: Duration = Duration::from_mins(1);

/// The bytes read at once; the buffer is shared by all connections.
const READ_BYTES: usize = 256 << 10;

/// What was measured.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Questions answered.
    pub(crate) operations: u64,
    /// From the first question to the last answer.
    pub(crate) elapsed: Duration,
    /// What the generator itself used.
    pub(crate) own_cpu: Duration,
    /// How long each answer took, sorted.
    latencies: Vec<Duration>,
}

impl Outcome {
    /// Answers per second.
    pub(crate) fn rate(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64()
    }

    /// The latency that this fraction of the answers stayed below.
    pub(crate) fn quantile(&self, fraction: f64) -> Duration {
        let place = (self.latencies.len() as f64 * fraction) as usize;
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get(place.min(last)).copied().unwrap_or_default()
    }
}

/// Asks for so long over so many connections. Connection `i` of `n` takes the requests `i`, `i + n`
/// and so on, so that no two ask the same at the same time.
pub(crate) fn run(
    address: SocketAddr,
    connections: usize,
    duration: Duration,
    requests: &[Vec<u8>],
) -> Result<Outcome> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(connections);
    let mut buffer = vec![0; READ_BYTES];
    let mut lines = Vec::with_capacity(connections);
    for place in 0..connections {
        lines.push(Line::open(&poll, address, place)?);
    }
    let mut latencies = Vec::with_capacity(1 << 16);
    let cpu_before = own_thread_cpu()?;
    let start = Instant::now();
    let mut busy = connections;
    while busy > 0 {
        poll.poll(&mut events, Some(PATIENCE))?;
        if events.is_empty() {
            bail!("no answer within {} s", PATIENCE.as_secs());
        }
        for event in &events {
            let Token(place) = event.token();
            let Some(line) = lines.get_mut(place) else { continue };
            if line.is_done {
                continue;
            }
            let Some(latency) = line.advance(&mut buffer)? else { continue };
            latencies.extend(latency.answered);
            if start.elapsed() >= duration {
                line.is_done = true;
                busy -= 1;
            } else if line.is_closed {
                line.reopen(&poll)?;
            } else {
                line.ask(requests, connections)?;
            }
        }
    }
    let elapsed = start.elapsed();
    latencies.sort_unstable();
    Ok(Outcome {
        operations: latencies.len() as u64,
        elapsed,
        own_cpu: own_thread_cpu()?.saturating_sub(cpu_before),
        latencies,
    })
}

/// One connection.
struct Line<'r> {
    address: SocketAddr,
    place: usize,
    stream: TcpStream,
    /// Which request is next.
    next: usize,
    asked: Instant,
    state: State<'r>,
    /// The server said that it would close the connection.
    is_closed: bool,
    is_done: bool,
}

enum State<'r> {
    /// Not connected yet, or between two questions.
    Idle,
    Sending(&'r [u8]),
    /// The part of the head that has come.
    Head(Vec<u8>),
    Body {
        missing: usize,
        closes: bool,
    },
}

/// The connection is free for the next question.
struct Ready {
    /// How long the last one took, if there was one.
    answered: Option<Duration>,
}

impl<'r> Line<'r> {
    fn open(poll: &Poll, address: SocketAddr, place: usize) -> Result<Self> {
        let stream = connect(poll, address, place)?;
        Ok(Self {
            address,
            place,
            stream,
            next: place,
            asked: Instant::now(),
            state: State::Idle,
            is_closed: false,
            is_done: false,
        })
    }

    /// Connects again; an event will tell when that is done.
    fn reopen(&mut self, poll: &Poll) -> Result<()> {
        self.stream = connect(poll, self.address, self.place)?;
        self.is_closed = false;
        Ok(())
    }

    fn ask(&mut self, requests: &'r [Vec<u8>], step: usize) -> Result<()> {
        let request = requests.get(self.next % requests.len()).context("there are no requests")?;
        self.next = (self.next + step) % requests.len();
        self.asked = Instant::now();
        self.state = State::Sending(request);
        self.send()
    }

    /// Does what the socket allows; tells when the connection is free.
    fn advance(&mut self, buffer: &mut [u8]) -> Result<Option<Ready>> {
        match self.state {
            State::Idle => {
                if let Some(error) = self.stream.take_error()? {
                    return Err(error).context("while connecting");
                }
                let is_connected = self.stream.peer_addr().is_ok();
                return Ok(is_connected.then_some(Ready { answered: None }));
            }
            State::Sending(_) => self.send()?,
            State::Head(_) | State::Body { .. } => {}
        }
        if matches!(self.state, State::Sending(_)) { Ok(None) } else { self.receive(buffer) }
    }

    fn send(&mut self) -> Result<()> {
        while let State::Sending(rest) = self.state {
            match self.stream.write(rest) {
                Ok(sent) if sent == rest.len() => self.state = State::Head(Vec::new()),
                Ok(sent) => self.state = State::Sending(rest.get(sent..).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_not_yet(&error) => return Ok(()),
                Err(error) => return Err(error).context("while a request was sent"),
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Ready>> {
        loop {
            let count = match self.stream.read(buffer) {
                Ok(0) => bail!("the server closed the connection in the midst of an answer"),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if is_not_yet(&error) => return Ok(None),
                Err(error) => return Err(error).context("while an answer was received"),
            };
            self.take(buffer.get(..count).unwrap_or_default())?;
            if let State::Body { missing: 0, closes } = self.state {
                let answered = Some(self.asked.elapsed());
                self.state = State::Idle;
                self.is_closed = closes;
                return Ok(Some(Ready { answered }));
            }
        }
    }

    fn take(&mut self, received: &[u8]) -> Result<()> {
        match &mut self.state {
            State::Body { missing, .. } => {
                *missing = missing.checked_sub(received.len()).context("the answer is too long")?;
            }
            State::Head(begun) => {
                // Nearly always the head comes in one piece: then it is not copied.
                let copied = (!begun.is_empty()).then(|| [begun.as_slice(), received].concat());
                let bytes = copied.as_deref().unwrap_or(received);
                match Head::parse(bytes)? {
                    None => *begun = bytes.to_vec(),
                    Some(head) if head.status != 200 => {
                        let body = bytes.get(head.length..).unwrap_or_default();
                        bail!("answered {}: {}", head.status, String::from_utf8_lossy(body));
                    }
                    Some(head) => {
                        let missing = (head.length + head.body).checked_sub(bytes.len());
                        let missing = missing.context("the answer is too long")?;
                        self.state = State::Body { missing, closes: head.closes };
                    }
                }
            }
            State::Idle | State::Sending(_) => bail!("an answer came before the question"),
        }
        Ok(())
    }
}

fn connect(poll: &Poll, address: SocketAddr, place: usize) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let interest = Interest::READABLE | Interest::WRITABLE;
    poll.registry().register(&mut stream, Token(place), interest)?;
    Ok(stream)
}

fn is_not_yet(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected)
}
