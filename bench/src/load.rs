//! The load generator: any number of connections on one thread, each asking its next question as
//! soon as the last one is answered.
//!
//! Client and server share the machine, so the client must be light: requests are prebuilt bytes,
//! of the answers only the head is looked at, and there is no runtime in between.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::http::{self, Head};
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

/// The number of the last write: no two of a run are the same.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// What stands before the part of an item that differs with each write.
const STAMPED: &str = r#""data":{"S":""#;

/// The length of that part.
const STAMP_BYTES: usize = 16;

/// A request, ready to be sent.
#[derive(Debug)]
pub(crate) struct Question {
    bytes: Vec<u8>,
    /// Where the items differ with each write. A database may see that an item is put as it is
    /// already, and write nothing.
    stamps: Vec<usize>,
}

impl Question {
    pub(crate) fn new(target: &str, body: &str) -> Self {
        let bytes = http::request(target, body);
        let start = bytes.len() - body.len();
        let places = body.match_indices(STAMPED);
        let stamps = places.map(|(place, found)| start + place + found.len()).collect();
        Self { bytes, stamps }
    }

    fn stamp(&mut self) {
        for place in &self.stamps {
            let mut number = WRITES.fetch_add(1, Ordering::Relaxed);
            let stamp = self.bytes.get_mut(*place..place + STAMP_BYTES).unwrap_or_default();
            for digit in stamp {
                *digit = b'a' + (number & 15) as u8;
                number >>= 4;
            }
        }
    }
}

/// Asks for so long over so many connections, spread over the servers. Connection `i` of `n` takes the
/// requests `i`, `i + n` and so on, so that no two ask the same at the same time.
pub(crate) fn run(
    servers: &[SocketAddr],
    connections: usize,
    duration: Duration,
    questions: &mut [Question],
) -> Result<Outcome> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(connections);
    let mut buffer = vec![0; READ_BYTES];
    let mut lines = Vec::with_capacity(connections);
    for (place, address) in servers.iter().cycle().take(connections).enumerate() {
        lines.push(Line::open(&poll, *address, place)?);
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
            let Some(latency) = line.advance(questions, &mut buffer)? else { continue };
            latencies.extend(latency.answered);
            if start.elapsed() >= duration {
                line.is_done = true;
                busy -= 1;
            } else if line.is_closed {
                line.reopen(&poll)?;
            } else {
                line.ask(questions, connections)?;
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
struct Line {
    address: SocketAddr,
    place: usize,
    stream: TcpStream,
    /// Which question is asked, and which is next.
    current: usize,
    next: usize,
    asked: Instant,
    state: State,
    /// The server said that it would close the connection.
    is_closed: bool,
    is_done: bool,
}

enum State {
    /// Not connected yet, or between two questions.
    Idle,
    /// So many bytes have been sent.
    Sending(usize),
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

impl Line {
    fn open(poll: &Poll, address: SocketAddr, place: usize) -> Result<Self> {
        let stream = connect(poll, address, place)?;
        Ok(Self {
            address,
            place,
            stream,
            current: place,
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

    fn ask(&mut self, questions: &mut [Question], step: usize) -> Result<()> {
        self.current = self.next % questions.len().max(1);
        self.next = self.current + step;
        questions.get_mut(self.current).context("there are no questions")?.stamp();
        self.asked = Instant::now();
        self.state = State::Sending(0);
        self.send(questions)
    }

    /// Does what the socket allows; tells when the connection is free.
    fn advance(&mut self, questions: &[Question], buffer: &mut [u8]) -> Result<Option<Ready>> {
        match self.state {
            State::Idle => {
                if let Some(error) = self.stream.take_error()? {
                    return Err(error).context("while connecting");
                }
                let is_connected = self.stream.peer_addr().is_ok();
                return Ok(is_connected.then_some(Ready { answered: None }));
            }
            State::Sending(_) => self.send(questions)?,
            State::Head(_) | State::Body { .. } => {}
        }
        if matches!(self.state, State::Sending(_)) { Ok(None) } else { self.receive(buffer) }
    }

    fn send(&mut self, questions: &[Question]) -> Result<()> {
        let question = questions.get(self.current).context("there is no such question")?;
        while let State::Sending(sent) = self.state {
            let rest = question.bytes.get(sent..).unwrap_or_default();
            match self.stream.write(rest) {
                Ok(count) if count == rest.len() => self.state = State::Head(Vec::new()),
                Ok(count) => self.state = State::Sending(sent + count),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_write_differs_from_all_others() {
        let item = format!(r#"{{"data":{{"S":"{}"}}}}"#, "x".repeat(20));
        let mut question = Question::new("BatchWriteItem", &format!("[{item},{item}]"));
        let mut seen = Vec::new();
        for _ in 0..3 {
            question.stamp();
            let text = String::from_utf8(question.bytes.clone()).unwrap();
            seen.extend(text.split(STAMPED).skip(1).map(|part| part[..20].to_owned()));
        }
        assert!(seen.iter().all(|part| part.ends_with("xxxx")));
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 6);
    }
}
