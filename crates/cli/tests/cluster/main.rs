//! Servers in processes of their own that share a PostgreSQL.
#![cfg(all(unix, feature = "postgres"))]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at the first surprise")]
#![expect(clippy::print_stderr, reason = "a test says when it is skipped")]

mod copy;
mod endpoints;
mod faults;
#[path = "../../../testkit/src/postgres.rs"]
#[expect(dead_code, unreachable_pub, reason = "other tests use the rest")]
mod postgres;
mod server;

use postgres::Postgres;
use server::Server;

#[test]
fn a_server_keeps_its_data_in_the_database() {
    let Some(postgres) = Postgres::start(false) else { return };
    let url = postgres.url("served");
    let first = Server::start(&url);
    first.create_table("Orders");
    first.put("Orders", "a");
    drop(first);
    let second = Server::start(&url);
    assert_eq!(second.get("Orders", "a"), Some("a".into()));
}

#[test]
fn a_password_is_shown_to_nobody() {
    let Some(postgres) = Postgres::start(false) else { return };
    let secret = "s3cr3t-w0rd";
    let port = postgres.port();
    let url = format!("postgres://keyloom:{secret}@127.0.0.1:{port}/postgres?sslmode=disable");
    // Everybody can see arguments.
    let refused = Server::command().args(["--store", &url]).output().unwrap();
    let shown = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && shown.contains("KEYLOOM_STORE"), "{shown}");
    assert!(!shown.contains(secret), "{shown}");
    // In the environment it is read, and kept to itself.
    let served = Server::run(Server::command().env("KEYLOOM_STORE", &url));
    assert!(!served.said.contains(secret) && served.said.contains("127.0.0.1"), "{}", served.said);
    let arguments = std::fs::read(format!("/proc/{}/cmdline", served.process.id()));
    assert!(!String::from_utf8_lossy(&arguments.unwrap_or_default()).contains(secret));
    drop(served);
    let nobody = url.replace("/postgres?", "/nowhere?");
    let failed = Server::command().env("KEYLOOM_STORE", &nobody).output().unwrap();
    let shown = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(!failed.status.success() && !shown.contains(secret), "{shown}");
}

#[test]
fn the_status_tells_servers_jobs_and_lanes() {
    let Some(postgres) = Postgres::start(false) else { return };
    let url = postgres.url("status");
    let (first, second) = (Server::start(&url), Server::start(&url));
    first.create_table("Orders");
    second.put("Orders", "a");
    let status = |format: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_keyloom"));
        let arguments = ["cluster", "status", "--store", &url, "--format", format];
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let told: serde_json::Value = serde_json::from_str(&status("json")).unwrap();
    assert_eq!(told["tables"], 1, "{told}");
    let servers = told["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 2, "{told}");
    for server in servers {
        assert_eq!(server["alive"], true, "{told}");
        assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));
    }
    assert!(told["lanes"].as_array().unwrap().len() >= 2, "{told}");
    assert!(status("human").contains("alive"));
    let metrics = second.page("/metrics");
    for (family, least) in [
        ("keyloom_cluster_servers_alive 2", 1),
        ("keyloom_cluster_round_trip_seconds 0.", 1),
        ("keyloom_cluster_server_silent_seconds{", 2),
        ("keyloom_cluster_jobs{", 2),
        ("keyloom_cluster_lane_flights_total{", 2),
        ("keyloom_cluster_lane_silent_seconds{", 2),
    ] {
        let lines = metrics.lines().filter(|line| line.starts_with(family)).count();
        assert!(lines >= least, "{family}: {metrics}");
    }
    // A server that nobody asks anything hears of new tables all the same.
    let is_current = || {
        let told: serde_json::Value = serde_json::from_str(&status("json")).unwrap();
        let servers = told["servers"].as_array().unwrap().clone();
        servers.iter().all(|server| server["epochs_behind"] == 0)
    };
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !is_current() {
        assert!(std::time::Instant::now() < end, "{}", status("human"));
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    // Nobody there: what cannot be reached has another exit code than what nobody serves.
    let nowhere = url.replace("/postgres?", "/nowhere?");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_keyloom"));
    let failed = command.args(["cluster", "status", "--store", &nowhere]).status().unwrap();
    assert_eq!(failed.code(), Some(2));
}

#[test]
fn the_status_of_a_database_without_a_store_is_a_refusal_and_no_store() {
    let Some(postgres) = Postgres::start(false) else { return };
    let url = postgres.url("nobody");
    for arguments in [
        vec!["cluster", "status", "--store", &url],
        vec!["copy", "--from", &url, "--to", "unmade"],
        vec!["copy", "--from", &url, "--to", "http://localhost:1"],
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_keyloom"));
        let output = command.args(&arguments).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains("holds none"), "{arguments:?}: {told}");
    }
    let schemata = "SELECT count(*) FROM pg_namespace WHERE nspname = 'nobody'";
    assert_eq!(postgres.query(schemata), "0");
}

/// The console's overview has every server of a store, in a browser.
#[test]
fn the_console_shows_every_server() {
    let tests =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/console");
    let is_there = tests.join("node_modules/playwright-core").exists()
        && std::path::Path::new("/usr/bin/chromium").exists();
    if !is_there {
        let demanded = std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_some();
        assert!(!demanded, "Playwright or Chromium is missing, and KEYLOOM_REQUIRE_CLIENTS is set");
        eprintln!("skipped: Playwright or Chromium is not installed (scripts/setup-clients)");
        return;
    }
    let Some(postgres) = Postgres::start(false) else { return };
    let url = postgres.url("shown");
    let servers = [Server::start(&url), Server::start(&url), Server::start(&url)];
    servers[0].create_table("Orders");
    let output = std::process::Command::new("node")
        .arg(tests.join("cluster.mjs"))
        .arg(tests.join("../../../target/console"))
        .args(servers.iter().map(|server| format!("http://{}", server.address)))
        .output()
        .expect("to run node");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("ok      cluster"), "nothing was tested:\n{said}");
}
