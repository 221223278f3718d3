//! The attacks, each with the bound that it must stay within.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::http2::Client;
use crate::server::{Attacked, Watch, ask, head};

/// What the process takes besides what is counted: stacks, buffers of the kernel's making, and what the
/// allocator rounds up.
const SLACK_BYTES: u64 = 64 << 20;

const MIB: u64 = 1 << 20;

fn is_long() -> bool {
    std::env::var_os("KEYLOOM_HOSTILE_LONG").is_some()
}

/// How large an attack is, here and in the long form.
fn size<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

/// Says what an attack has cost, and whether that was too much.
fn judge(what: &str, server: &Attacked, watch: Watch, limit_bytes: u64, sent_bytes: u64) {
    let peak_bytes = watch.peak_bytes() - server.idle_bytes;
    println!(
        "{what}: {} KB sent, {} MB above the {} MB of idle, limit {} MB",
        sent_bytes / 1000,
        peak_bytes / MIB,
        server.idle_bytes / MIB,
        limit_bytes / MIB
    );
    let allowed = limit_bytes + SLACK_BYTES;
    assert!(peak_bytes <= allowed, "{what}: {peak_bytes} bytes, more than {allowed}");
}

fn judge_recovery(what: &str, server: &Attacked) {
    let recovered = server.recovers();
    let left = server.resident_bytes().saturating_sub(server.idle_bytes) / MIB;
    println!("{what}: {left} MB above idle, {recovered:?} after the attack");
    assert!(recovered.is_some(), "{what}: {left} MB are kept a minute after the attack");
}

/// A server whose memory is limited, unless another one is attacked, which may not know the option.
fn limited(mebibytes: u64) -> (Attacked, u64) {
    let limit = mebibytes.to_string();
    let arguments: &[&str] = match std::env::var_os("KEYLOOM_ATTACKED_UNLIMITED") {
        Some(_) => &[],
        None => &["--memory-limit", &limit],
    };
    (Attacked::start(arguments), mebibytes * MIB)
}

/// Scans whose answers nobody takes: the window is closed, or opened for a byte only.
#[test]
fn answers_that_wait_on_a_closed_window_are_bounded() {
    let (server, limit_bytes) = limited(size(128, 256));
    for window in [0, 1] {
        let what = format!("closed window ({window})");
        let watch = server.watch();
        let mut clients: Vec<Client> =
            (0..8).map(|_| Client::connect(&server.address, window)).collect();
        for _ in 0..250 {
            for client in &mut clients {
                client.ask("Scan", br#"{"TableName":"tab"}"#);
                client.drain();
            }
        }
        let (start, mut slowest) = (Instant::now(), Duration::ZERO);
        while start.elapsed() < Duration::from_secs(size(2, 10)) {
            slowest = slowest.max(server.serves_others());
            std::thread::sleep(Duration::from_millis(20));
        }
        println!("{what}: others waited {slowest:?} at most");
        let sent: usize = clients.iter().map(|client| client.sent_bytes).sum();
        judge(&what, &server, watch, limit_bytes, sent as u64);
        drop(clients);
        judge_recovery(&what, &server);
    }
    // What ran when its client left comes to its end, and nothing is left behind.
    let is_over = (0..300).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        server.counter("keyloom_requests_in_flight") == 0
    });
    assert!(is_over, "{} are still open", server.counter("keyloom_requests_in_flight"));
}

/// A client that opens its windows byte by byte holds its connection no longer than one that does not.
#[test]
fn a_client_that_sips_is_cut() {
    if !is_long() {
        println!("only in the long form: it takes a minute");
        return;
    }
    let (server, _) = limited(256);
    let mut client = Client::connect(&server.address, 1);
    let streams: Vec<u32> =
        (0..100).map(|_| client.ask("Scan", br#"{"TableName":"tab"}"#)).collect();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(70) {
        for stream in &streams {
            client.open_window(*stream, 1);
        }
        if client.is_cut_within(Duration::from_secs(1)) {
            println!("cut after {:?}", start.elapsed());
            judge_recovery("sips", &server);
            return;
        }
    }
    panic!("a client that takes a byte in a second is still served");
}

/// The longest body that a server reads.
const LONGEST_BODY: usize = 16 << 20;

/// A body whose decoded form is many times as large.
fn nested(bytes: usize, element: &str, closing: &str) -> Vec<u8> {
    let start = r#"{"TableName":"tab","Item":{"id":{"S":"a"},"l":{"L":["#;
    let mut body = Vec::with_capacity(bytes + 100);
    body.extend(start.as_bytes());
    while body.len() < bytes {
        body.extend(element.as_bytes());
        body.push(b',');
    }
    body.pop();
    body.extend(closing.as_bytes());
    body
}

#[test]
fn bodies_that_grow_when_they_are_decoded_are_bounded() {
    let (server, limit_bytes) = limited(size(192, 512));
    // A larger body than the longest that is read would be refused unread, and show nothing.
    let (clients, bytes) = (size(6, 28), size(2_000_000, LONGEST_BODY - 100));
    for (what, body) in [
        ("nulls", nested(bytes, r#"{"NULL":true}"#, "]}}}")),
        ("nulls, wrong at the end", nested(bytes, r#"{"NULL":true}"#, r#",{"X":1}]}}}"#)),
        ("empty lists", nested(bytes, r#"{"L":[]}"#, "]}}}")),
        ("empty maps", nested(bytes, r#"{"M":{}}"#, "]}}}")),
        ("numbers", nested(bytes, r#"{"N":"1"}"#, "]}}}")),
        ("wrong shapes", nested(bytes, "0", "]}}}")),
    ] {
        let watch = server.watch();
        let statuses: Vec<Option<u16>> = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..clients)
                .map(|_| scope.spawn(|| ask(&server.address, "PutItem", &body)))
                .collect();
            let slowest = (0..10).map(|_| server.serves_others()).max();
            println!("{what}: others waited {slowest:?} at most");
            asking.into_iter().map(|client| client.join().unwrap()).collect()
        });
        println!("{what}: {statuses:?}");
        // An item, too large for one, too large for the memory, or no room just now.
        let known = |status: &Option<u16>| matches!(status, Some(200 | 400 | 413 | 503));
        assert!(statuses.iter().all(known), "{what}: {statuses:?}");
        judge(what, &server, watch, limit_bytes, (clients * bytes) as u64);
        judge_recovery(what, &server);
    }
}

/// Bodies that are begun and not ended hold what was sent of them, and no more than the limit.
#[test]
fn bodies_that_never_end_are_bounded_and_others_are_served() {
    let (server, limit_bytes) = limited(128);
    let watch = server.watch();
    let mut held: Vec<TcpStream> = Vec::new();
    let piece = vec![b'x'; 8 << 20];
    for _ in 0..size(24, 200) {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
        stream.write_all(head("PutItem", 16 << 20).as_bytes()).unwrap();
        let _ = stream.write_all(&piece);
        held.push(stream);
    }
    let slowest = (0..10).map(|_| server.serves_others()).max();
    println!("endless bodies: others waited {slowest:?} at most");
    judge("endless bodies", &server, watch, limit_bytes, (held.len() * piece.len()) as u64);
    drop(held);
    judge_recovery("endless bodies", &server);
}

/// Most of these bodies are refused: the pages that they leave behind count as well, and so does what is
/// allocated for those that are not refused.
#[test]
fn refused_bodies_and_held_ones_together_are_bounded() {
    let (server, limit_bytes) = limited(256);
    let watch = server.watch();
    let (clients, piece) = (100, vec![b' '; 15_000_000]);
    let held: Vec<TcpStream> = std::thread::scope(|scope| {
        let send = || {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
            stream.write_all(head("PutItem", 16_000_000).as_bytes()).unwrap();
            let _ = stream.write_all(&piece);
            stream
        };
        let sending: Vec<_> = (0..clients).map(|_| scope.spawn(send)).collect();
        sending.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let slowest = (0..10).map(|_| server.serves_others()).max();
    println!("refused bodies: others waited {slowest:?} at most");
    judge("refused bodies", &server, watch, limit_bytes, (held.len() * piece.len()) as u64);
    drop(held);
    judge_recovery("refused bodies", &server);
}
