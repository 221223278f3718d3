//! Real clients live the life of a table against the started server, which verifies their
//! signatures. `scripts/setup-clients` installs them; with `KEYLOOM_REQUIRE_CLIENTS=1`, as in CI, a
//! client that is missing fails its test.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use keyloom_testkit::lockstep::Place;

use crate::{ACCESS_KEY, SECRET_KEY, Served};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Says aloud that a test is skipped: past the test harness, which keeps quiet about tests that pass.
fn skip(why: &str) {
    assert!(
        std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_none(),
        "{why}, and KEYLOOM_REQUIRE_CLIENTS demands it"
    );
    let _ = writeln!(std::io::stderr(), "skipped: {why}; run scripts/setup-clients");
}

/// Runs a client against a server of its own.
fn live(place: Place, mut client: Command) {
    let served = Served::closed(place);
    client
        .env("KEYLOOM_ENDPOINT", served.server.url())
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
    println!("{place:?}, {:?}:\n{}", start.elapsed(), text(&output.stdout));
    assert!(output.status.success(), "{client:?}\n{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("ok: drop"), "it came to the end");
}

#[test]
fn boto3_lives_the_life_of_a_table() {
    let python = root().join(".venv/bin/python");
    if !python.exists() {
        return skip("boto3 is not installed");
    }
    for place in [Place::Memory, Place::Disk] {
        let mut client = Command::new(&python);
        client.arg("tests/clients/boto3_life.py");
        live(place, client);
    }
}

#[test]
fn the_aws_cli_lives_the_life_of_a_table() {
    let aws = root().join(".venv/bin/aws");
    if !aws.exists() {
        return skip("the AWS CLI is not installed");
    }
    let mut client = Command::new("bash");
    client.arg("tests/clients/awscli_life.sh").env("AWS_CLI", aws);
    live(Place::Disk, client);
}

#[test]
fn the_javascript_sdk_lives_the_life_of_a_table() {
    if Command::new("node").arg("--version").output().is_err() {
        return skip("Node is not installed");
    }
    if !root().join("tests/clients/js/node_modules/@aws-sdk").exists() {
        return skip("the AWS SDK for JavaScript is not installed");
    }
    for place in [Place::Memory, Place::Disk] {
        let mut client = Command::new("node");
        client.arg("tests/clients/js/life.mjs");
        live(place, client);
    }
}
