//! Where reports come from: a server, or a file.

use std::path::Path;
use std::time::Duration;

use keyloom_engine::{Clock as _, SystemClock};
use keyloom_observe::Report;
use keyloom_server::Credentials;

use crate::design_file::text_of;
use crate::output::Failure;

const PATH: &str = "/keyloom/stats";
const PATIENCE: Duration = Duration::from_secs(30);
/// A report of many tables has a few megabytes.
const MAX_BYTES: u64 = 256 << 20;

/// Asks a server.
pub(super) fn ask(endpoint: &str, keys: Option<(&str, &str)>) -> Result<Report, Failure> {
    let endpoint = endpoint.trim_end_matches('/');
    let host = endpoint.split_once("://").map_or(endpoint, |(_, host)| host);
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .build();
    let mut request = config.new_agent().get(format!("{endpoint}{PATH}"));
    if let Some((access, secret)) = keys {
        let credentials = Credentials::new(access, secret);
        for (name, value) in credentials.sign_get("us-east-1", host, PATH, SystemClock.now_ms()) {
            request = request.header(name, &value);
        }
    }
    let mut response = request.call().map_err(|error| {
        Failure::refused(format_args!(
            "{endpoint} does not answer: {error}. Is `keyloom serve` running there? (--endpoint)"
        ))
    })?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(MAX_BYTES).read_to_string();
    let body = body.map_err(|error| {
        Failure::refused(format_args!("{endpoint} broke off its answer: {error}"))
    })?;
    match status {
        200 => Report::from_json(&body).map_err(|error| {
            Failure::refused(format_args!("{endpoint} answers something else: {error}"))
        }),
        404 => Err(Failure::refused(format_args!(
            "{endpoint} has no statistics: it was started with --stats off, or it is not keyloom"
        ))),
        _ => Err(Failure::refused(format_args!(
            "{endpoint} refuses (status {status}): {}. If it verifies signatures, give \
             --access-key and --secret-key",
            body.trim()
        ))),
    }
}

/// Reads a recording.
pub(super) fn read(path: &Path) -> Result<Report, Failure> {
    let text = text_of(path)?;
    Report::from_json(&text)
        .map_err(|error| Failure::refused(format_args!("{}: {error}", path.display())))
}
