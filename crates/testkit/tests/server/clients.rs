//! Real clients live the life of a table against the started server, which verifies their
//! signatures. `scripts/setup-clients` installs them; with `KEYLOOM_REQUIRE_CLIENTS=1`, as in CI, a
//! client that is missing fails its test.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use keyloom_engine::{Database, Options};
use keyloom_observe::{Monitor, Sampling, StatsCollector, StatsOptions, Throttle};
use keyloom_server::{Config, Credentials, Server};
use keyloom_testkit::lockstep::Place;

use crate::{ACCESS_KEY, SECRET_KEY, Served, policies};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Says aloud that a test is skipped: past the test harness, which keeps quiet about tests that pass.
pub(crate) fn skip(why: &str) {
    assert!(
        std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_none(),
        "{why}, and KEYLOOM_REQUIRE_CLIENTS demands it"
    );
    let _ = writeln!(std::io::stderr(), "skipped: {why}; run scripts/setup-clients");
}

/// Runs a client against a server of its own.
fn live(place: Place, client: Command) {
    let served = Served::closed(place);
    run(&format!("{place:?}"), served.server.url(), client);
}

/// Runs a client against a server that counts every request, and refuses every second write to one of
/// its tables.
fn watched(client: Command) {
    let options = StatsOptions { sampling: Sampling::All, ..StatsOptions::default() };
    let throttle: Throttle = "inject=table=boto3-throttled:write:every=2".parse().unwrap();
    let monitor = Monitor::new(throttle).with(Arc::new(StatsCollector::new(options)));
    let options = Options { observer: Some(Arc::new(monitor)), ..Options::default() };
    let config = Config {
        address: ([127, 0, 0, 1], 0).into(),
        credentials: vec![Credentials::new(ACCESS_KEY, SECRET_KEY)],
        ..Config::default()
    };
    let server = Server::start(config, Database::memory_with(options)).unwrap();
    run("watched", server.url(), client);
}

pub(crate) fn run(server: &str, url: &str, mut client: Command) {
    client
        .env("KEYLOOM_ENDPOINT", url)
        .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        .env_remove("AWS_SESSION_TOKEN")
        .env_remove("AWS_PROFILE")
        .env("AWS_CONFIG_FILE", "/dev/null")
        .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("NO_PROXY", "127.0.0.1")
        .current_dir(root());
    let start = Instant::now();
    let output = client.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    println!("{server}, {:?}:\n{}", start.elapsed(), text(&output.stdout));
    assert!(output.status.success(), "{client:?}\n{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("ok: drop"), "it came to the end");
}

/// A script for boto3; none if that is not there.
pub(crate) fn boto3(script: &str) -> Option<Command> {
    let python = root().join(".venv/bin/python");
    if !python.exists() {
        skip("boto3 is not installed");
        return None;
    }
    let mut client = Command::new(&python);
    client.arg(format!("tests/clients/{script}"));
    Some(client)
}

/// A script for the AWS CLI; none if that is not there.
pub(crate) fn aws_cli(script: &str) -> Option<Command> {
    let aws = root().join(".venv/bin/aws");
    if !aws.exists() {
        skip("the AWS CLI is not installed");
        return None;
    }
    let mut client = Command::new("bash");
    client.arg(format!("tests/clients/{script}")).env("AWS_CLI", aws);
    Some(client)
}

/// A script for the AWS SDK for JavaScript; none if that is not there.
fn javascript(script: &str) -> Option<Command> {
    if Command::new("node").arg("--version").output().is_err() {
        skip("Node is not installed");
        return None;
    }
    if !root().join("tests/clients/js/node_modules/@aws-sdk/client-cloudwatch").exists() {
        skip("the AWS SDK for JavaScript is not installed");
        return None;
    }
    let mut client = Command::new("node");
    client.arg(format!("tests/clients/js/{script}"));
    Some(client)
}

#[test]
fn boto3_lives_the_life_of_a_table() {
    for place in [Place::Memory, Place::Disk] {
        if let Some(client) = boto3("boto3_life.py") {
            live(place, client);
        }
    }
}

#[test]
fn the_aws_cli_lives_the_life_of_a_table() {
    if let Some(client) = aws_cli("awscli_life.sh") {
        live(Place::Disk, client);
    }
}

#[test]
fn the_javascript_sdk_lives_the_life_of_a_table() {
    for place in [Place::Memory, Place::Disk] {
        if let Some(client) = javascript("life.mjs") {
            live(place, client);
        }
    }
}

#[test]
fn boto3_restores_backups_and_points_in_time() {
    for place in [Place::Memory, Place::Disk] {
        if let Some(client) = boto3("boto3_recovery.py") {
            live(place, client);
        }
    }
}

#[test]
fn the_aws_cli_restores_backups_and_points_in_time() {
    if let Some(client) = aws_cli("awscli_recovery.sh") {
        live(Place::Disk, client);
    }
}

#[test]
fn boto3_is_judged_by_policies() {
    if let Some(client) = boto3("boto3_policies.py") {
        run("policies", policies::served().url(), client);
    }
}

#[test]
fn the_aws_cli_is_judged_by_policies() {
    if let Some(client) = aws_cli("awscli_policies.sh") {
        run("policies", policies::served().url(), client);
    }
}

#[test]
fn boto3_finds_the_hot_key_in_every_protocol_of_cloudwatch() {
    if let Some(client) = boto3("boto3_insights.py") {
        watched(client);
    }
}

#[test]
fn the_aws_cli_finds_the_hot_key() {
    if let Some(client) = aws_cli("awscli_insights.sh") {
        watched(client);
    }
}

#[test]
fn the_javascript_sdk_finds_the_hot_key() {
    if let Some(client) = javascript("insights.mjs") {
        watched(client);
    }
}
