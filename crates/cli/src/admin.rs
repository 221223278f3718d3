//! Asking a running `keyloom serve` for what only its operator may see.

use std::time::Duration;

use clap::Args;
use keyloom_engine::{Clock as _, SystemClock};
use keyloom_server::Credentials;

use crate::output::Failure;

/// Answers with many tables have a few megabytes.
const MAX_BYTES: u64 = 256 << 20;

/// How long it may take to reach the server.
const REACHED_WITHIN: Duration = Duration::from_secs(30);

/// The keys of a server that verifies signatures.
#[derive(Args, Debug)]
pub(crate) struct Keys {
    /// Access key, if the server verifies signatures.
    #[arg(long, requires = "secret_key", env = "KEYLOOM_ACCESS_KEY")]
    access_key: Option<String>,
    /// Secret of the access key. Prefer the environment variable: other users can see arguments.
    #[arg(long, requires = "access_key", env = "KEYLOOM_SECRET_KEY", hide_env_values = true)]
    secret_key: Option<String>,
}

impl Keys {
    /// Access key and secret, if they were given.
    pub(crate) fn pair(&self) -> Option<(&str, &str)> {
        self.access_key.as_deref().zip(self.secret_key.as_deref())
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) endpoint: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// How long the answer may take; as long as it takes if nothing is said.
    pub(crate) patience: Option<Duration>,
}

impl Question<'_> {
    /// The answer; the one to 404 is `missing`.
    pub(crate) fn ask(self, keys: &Keys, missing: &str) -> Result<String, Failure> {
        let mut body = self.send(keys, &[], missing)?;
        let text = body.with_config().limit(MAX_BYTES).read_to_string();
        text.map_err(|error| {
            Failure::refused(format_args!("{} broke off its answer: {error}", self.endpoint))
        })
    }

    /// Sends a body, if the method has one, and returns the answer as it comes.
    pub(crate) fn send(
        self,
        keys: &Keys,
        body: &[u8],
        missing: &str,
    ) -> Result<ureq::Body, Failure> {
        let Self { method, path, patience, .. } = self;
        let endpoint = self.endpoint.trim_end_matches('/');
        let host = endpoint.split_once("://").map_or(endpoint, |(_, host)| host);
        let agent = ureq::Agent::config_builder()
            .timeout_global(patience)
            .timeout_connect(Some(REACHED_WITHIN))
            .http_status_as_error(false)
            .build()
            .new_agent();
        let mut headers = Vec::new();
        if let Some((access, secret)) = keys.pair() {
            let now_ms = SystemClock.now_ms();
            let credentials = Credentials::new(access, secret);
            headers.extend(credentials.sign((method, path), "us-east-1", host, body, now_ms));
        }
        let url = format!("{endpoint}{path}");
        let answer = if method == "POST" {
            let request = agent.post(url);
            headers.iter().fold(request, |r, (name, value)| r.header(*name, value)).send(body)
        } else {
            let request = agent.get(url);
            headers.iter().fold(request, |r, (name, value)| r.header(*name, value)).call()
        };
        let response = answer.map_err(|error| {
            Failure::refused(format_args!(
                "{endpoint} does not answer: {error}. Is `keyloom serve` running there?"
            ))
        })?;
        let status = response.status().as_u16();
        let mut body = response.into_body();
        match status {
            200 => Ok(body),
            404 => Err(Failure::refused(format_args!("{endpoint} {missing}"))),
            _ => {
                let text = body.with_config().limit(MAX_BYTES).read_to_string();
                let advice = match status {
                    400 | 401 | 403 => {
                        ". If it verifies signatures, give --access-key and --secret-key"
                    }
                    _ => "",
                };
                Err(Failure::refused(format_args!(
                    "{endpoint} refuses (status {status}): {}{advice}",
                    text.unwrap_or_default().trim()
                )))
            }
        }
    }
}
