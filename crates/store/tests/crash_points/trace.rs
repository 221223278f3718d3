//! Decodes the file operations recorded by `recorder.c`.

use std::path::PathBuf;

use keyloom_store::Bytes;

/// A recorded event.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A process began; earlier ones have ended, and their files are closed.
    Process,
    Open {
        fd: u32,
        path: PathBuf,
        creates: bool,
        truncates: bool,
    },
    Write {
        fd: u32,
        offset: u64,
        /// Without trailing zeros, which may be many.
        data: Bytes,
        /// Including trailing zeros.
        length: u64,
    },
    Sync {
        fd: u32,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
    MakeDirectory {
        path: PathBuf,
    },
    SetLength {
        fd: u32,
        length: u64,
    },
    Allocate {
        fd: u32,
        end: u64,
    },
    Close {
        fd: u32,
    },
    /// A message from the process.
    Mark(String),
}

const O_CREAT: u64 = 0o100;
const O_TRUNC: u64 = 0o1000;
const HEAD: usize = 17;

/// Parses a whole record.
pub(crate) fn parse(trace: &Bytes) -> Vec<Event> {
    let mut events = Vec::new();
    let mut at = 0;
    while at < trace.len() {
        let head = &trace[at..at + HEAD];
        let fd = u32::from_le_bytes(head[1..5].try_into().unwrap());
        let number = u64::from_le_bytes(head[5..13].try_into().unwrap());
        let length = u32::from_le_bytes(head[13..].try_into().unwrap()) as usize;
        let data = trace.slice(at + HEAD..at + HEAD + length);
        at += HEAD + length;
        events.push(event(head[0], fd, number, data));
    }
    events
}

fn event(kind: u8, fd: u32, number: u64, data: Bytes) -> Event {
    let text = || String::from_utf8(data.to_vec()).unwrap();
    let path = || PathBuf::from(text());
    match kind {
        b'N' => Event::Process,
        b'O' => Event::Open {
            fd,
            path: path(),
            creates: number & O_CREAT != 0,
            truncates: number & O_TRUNC != 0,
        },
        b'W' => {
            let length = data.len() as u64;
            Event::Write { fd, offset: number, data: without_zeros(data), length }
        }
        b'S' => Event::Sync { fd },
        b'R' => {
            let paths = text();
            let (from, to) = paths.split_once('\0').unwrap();
            Event::Rename { from: from.into(), to: to.into() }
        }
        b'U' => Event::Remove { path: path() },
        b'M' => Event::MakeDirectory { path: path() },
        b'T' => Event::SetLength { fd, length: number },
        b'A' => Event::Allocate { fd, end: number },
        b'C' => Event::Close { fd },
        b'K' => Event::Mark(text()),
        other => {
            panic!("unknown event of the recorder: {} {}", other as char, text())
        }
    }
}

/// Strips trailing zeros.
pub(crate) fn without_zeros(data: Bytes) -> Bytes {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut used = data.len();
    while used >= ZEROS.len() && data[used - ZEROS.len()..used] == ZEROS {
        used -= ZEROS.len();
    }
    let used = data[..used].iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    data.slice(..used)
}
