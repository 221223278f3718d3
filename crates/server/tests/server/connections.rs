//! Ten thousand idle connections.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use keyloom_server::{Config, Limits, Server};

use crate::client::{Client, Echo, config, counter, post};

const CONNECTIONS: u64 = 10_000;
/// Set for the child process: where the server is.
const ROLE: &str = "KEYLOOM_TEST_IDLE_CLIENT";

/// The idle clients run in a child process, because client and server together need two open files
/// per connection.
#[test]
fn ten_thousand_idle_connections_do_not_block_others() {
    if let Ok(role) = std::env::var(ROLE) {
        return hold_connections(&role);
    }
    let limits = Limits { max_connections_per_client: 20_000, ..Limits::default() };
    let server = Server::start(Config { limits, ..config() }, Echo).unwrap();
    let files = rlimit::increase_nofile_limit(CONNECTIONS + 1000).unwrap();
    let count = CONNECTIONS.min(files.saturating_sub(500));
    if count < CONNECTIONS {
        println!("only {count} connections: the limit on open files is {files}");
    }
    let mut holder = start_holder(server.addr(), count);
    let mut ready = String::new();
    let output = holder.stdout.take().unwrap();
    let mut lines = BufReader::new(output);
    while !ready.starts_with("holding") {
        ready.clear();
        assert!(lines.read_line(&mut ready).unwrap() > 0, "the other process failed");
    }

    let open = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        counter(&server, "keyloom_connections ") > count
    });
    assert!(open, "{} of {count} connections are open", counter(&server, "keyloom_connections "));
    let mut client = Client::connect(server.addr());
    let started = Instant::now();
    for _ in 0..100 {
        assert_eq!(client.ask(post("GetItem", "{}")).text(), "{}");
    }
    let took = started.elapsed();
    assert!(took < Duration::from_secs(2), "100 requests took {took:?}");

    let started = Instant::now();
    server.shutdown();
    assert!(started.elapsed() < Duration::from_secs(5), "idle connections delay the shutdown");
    holder.kill().unwrap();
    holder.wait().unwrap();
}

fn start_holder(server: SocketAddr, count: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "connections::ten_thousand_idle_connections_do_not_block_others",
            "--nocapture",
        ])
        .env(ROLE, format!("{server} {count}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn hold_connections(role: &str) {
    let (server, count) = role.split_once(' ').unwrap();
    let (server, count): (SocketAddr, u64) = (server.parse().unwrap(), count.parse().unwrap());
    rlimit::increase_nofile_limit(count + 100).unwrap();
    let held: Vec<TcpStream> = (0..count).map(|_| TcpStream::connect(server).unwrap()).collect();
    println!("\nholding {}", held.len());
    std::io::stdout().flush().unwrap();
    // Until the test kills this process, or the parent's end closes our input.
    let _ = std::io::stdin().read_line(&mut String::new());
}
