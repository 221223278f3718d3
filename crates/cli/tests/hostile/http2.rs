//! An HTTP/2 client of bare frames, which does what no library does: it never opens its window.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const INITIAL_WINDOW_SIZE: u16 = 4;

/// One connection.
pub(crate) struct Client {
    stream: TcpStream,
    next_stream: u32,
    pub(crate) sent_bytes: usize,
}

impl Client {
    /// Connects, with a window of so many bytes for each answer.
    pub(crate) fn connect(address: &str, window: u32) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut client = Self { stream, next_stream: 1, sent_bytes: 0 };
        let mut start = PREFACE.to_vec();
        let setting = [&INITIAL_WINDOW_SIZE.to_be_bytes()[..], &window.to_be_bytes()].concat();
        start.extend(frame(SETTINGS, 0, 0, &setting));
        client.send(&start);
        client
    }

    fn send(&mut self, bytes: &[u8]) {
        self.sent_bytes += bytes.len();
        // The server may have had enough.
        let _ = self.stream.write_all(bytes);
    }

    /// Asks, and waits for nothing.
    pub(crate) fn ask(&mut self, operation: &str, body: &[u8]) -> u32 {
        let stream = self.next_stream;
        self.next_stream += 2;
        let mut frames = frame(HEADERS, END_HEADERS, stream, &header_block(operation));
        frames.extend(frame(DATA, END_STREAM, stream, body));
        self.send(&frames);
        stream
    }

    /// Opens the window of an answer by so many bytes.
    pub(crate) fn open_window(&mut self, stream: u32, bytes: u32) {
        self.send(&frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes()));
    }

    /// Reads whatever came, without blocking for more.
    pub(crate) fn drain(&mut self) -> usize {
        self.stream.set_nonblocking(true).unwrap();
        let (mut buffer, mut total) = (vec![0; 65_536], 0);
        while let Ok(read @ 1..) = self.stream.read(&mut buffer) {
            total += read;
        }
        self.stream.set_nonblocking(false).unwrap();
        total
    }

    /// Whether the server ends the connection within this time.
    pub(crate) fn is_cut_within(&mut self, limit: Duration) -> bool {
        let start = std::time::Instant::now();
        let mut buffer = vec![0; 65_536];
        self.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        while start.elapsed() < limit {
            match self.stream.read(&mut buffer) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return true,
            }
        }
        false
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length.get(1..).unwrap().to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The headers of a request: each a literal that is not indexed, with a new name.
fn header_block(operation: &str) -> Vec<u8> {
    let target = format!("DynamoDB_20120810.{operation}");
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "localhost"),
        ("x-amz-target", target.as_str()),
        ("content-type", "application/x-amz-json-1.0"),
    ] {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.as_bytes());
        }
    }
    block
}
