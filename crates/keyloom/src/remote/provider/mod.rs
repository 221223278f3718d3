//! Credentials that are fetched, cached, and refreshed before they expire.

use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use std::time::Duration;

use ureq::Agent;

use super::Credentials;
use super::credentials::Dialect;
use super::source::{ContainerToken, Source, none_found};
use super::xml::text_of;
use crate::error::Error;
use crate::retry::AttemptError;

/// Keys are replaced this long before they end, so that no request is on its way with one that has ended.
const MARGIN_MS: u64 = 5 * 60 * 1000;
/// After a failure, a source is left alone this long while what it gave before still holds.
const PAUSE_MS: u64 = 30 * 1000;
/// Metadata services are on the local network: one that does not answer soon does not exist.
const CONNECT: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_secs(10);
/// How long a token of the instance's metadata service holds: the longest there is.
const TOKEN_SECONDS: &str = "21600";

/// A source and what it gave last.
pub(super) struct Provider {
    source: Source,
    /// The sources that were tried before this one, for the error.
    looked: String,
    last: RwLock<Last>,
    /// Held by the caller that fetches.
    turn: Mutex<()>,
}

/// What a source gave last.
#[derive(Default)]
struct Last {
    credentials: Option<Arc<Credentials>>,
    /// After a failure, what still holds is used until then without asking again.
    retry_after_ms: u64,
}

impl Last {
    /// What holds for a while, or is all there is for the moment.
    fn fresh(&self, now_ms: u64) -> Option<Arc<Credentials>> {
        let until = if now_ms < self.retry_after_ms { now_ms } else { now_ms + MARGIN_MS };
        self.holding(until)
    }

    fn holding(&self, until_ms: u64) -> Option<Arc<Credentials>> {
        self.credentials.as_ref().filter(|known| known.holds_at(until_ms)).map(Arc::clone)
    }
}

/// Why a source gave nothing.
enum Trouble {
    /// It is not there, or does not want to: asking again is no use.
    Lasting(String),
    /// A moment later it may.
    Passing(String),
}

impl Provider {
    pub(super) fn new(source: Source, looked: String) -> Self {
        Self { source, looked, last: RwLock::default(), turn: Mutex::default() }
    }

    /// Credentials that hold for the request that is about to be sent.
    pub(super) fn credentials(&self, now_ms: u64) -> Result<Arc<Credentials>, AttemptError> {
        let last = || self.last.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last().fresh(now_ms) {
            return Ok(known);
        }
        // One caller refreshes. The others use the credentials that are still valid, or wait for the new ones.
        let at_hand = last().holding(now_ms);
        let _turn = match self.turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) => match at_hand {
                Some(known) => return Ok(known),
                None => self.turn.lock().unwrap_or_else(PoisonError::into_inner),
            },
        };
        if let Some(known) = last().fresh(now_ms) {
            return Ok(known);
        }
        let fetched = self.fetch();
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        match fetched {
            Ok(new) => {
                let new = Arc::new(new);
                *last = Last { credentials: Some(Arc::clone(&new)), retry_after_ms: 0 };
                Ok(new)
            }
            Err(trouble) => {
                last.retry_after_ms = now_ms + PAUSE_MS;
                last.holding(now_ms).ok_or_else(|| self.failure(trouble))
            }
        }
    }

    fn failure(&self, trouble: Trouble) -> AttemptError {
        match trouble {
            Trouble::Passing(reason) => {
                AttemptError::NotSent(format!("credentials from {}: {reason}", self.place()))
            }
            Trouble::Lasting(reason) if matches!(self.source, Source::Instance { .. }) => {
                AttemptError::Local(none_found(&self.looked, &reason))
            }
            Trouble::Lasting(reason) => AttemptError::Local(Error::Config(format!(
                "credentials from {}: {reason}",
                self.place()
            ))),
        }
    }

    fn place(&self) -> String {
        match &self.source {
            Source::Fixed(_) => "the configuration".to_owned(),
            Source::Process { command } => format!("credential_process `{command}`"),
            Source::WebIdentity { role, .. } => format!("the web identity of role `{role}`"),
            Source::Container { url, .. } => format!("the container's endpoint {url}"),
            Source::Instance { url } => format!("the instance's metadata at {url}"),
        }
    }

    fn fetch(&self) -> Result<Credentials, Trouble> {
        match &self.source {
            Source::Fixed(credentials) => Ok(credentials.clone()),
            Source::Process { command } => from_process(command),
            Source::WebIdentity { url, role, session, token_file } => {
                let token = read_token(token_file)?;
                from_web_identity(url, role, session, &token)
            }
            Source::Container { url, token } => from_container(url, token),
            Source::Instance { url } => from_instance(url),
        }
    }
}

impl Credentials {
    fn holds_at(&self, time_ms: u64) -> bool {
        self.expires_ms.is_none_or(|expires| time_ms < expires)
    }
}

/// A client for next door; a proxy would lead away from there.
fn neighbour() -> Agent {
    agent(true)
}

fn agent(direct: bool) -> Agent {
    let config = Agent::config_builder()
        .timeout_connect(Some(CONNECT))
        .timeout_global(Some(ANSWER))
        .http_status_as_error(false);
    if direct { config.proxy(None).build().new_agent() } else { config.build().new_agent() }
}

fn read_token(path: &std::path::Path) -> Result<String, Trouble> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Trouble::Lasting(format!("{}: {error}", path.display())))?;
    Ok(text.trim().to_owned())
}

/// The body of a successful response, or the error.
fn body(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<String, Trouble> {
    let mut answer = answer.map_err(|error| match error {
        ureq::Error::Io(_)
        | ureq::Error::Timeout(_)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed => Trouble::Passing(error.to_string()),
        error => Trouble::Lasting(error.to_string()),
    })?;
    let status = answer.status().as_u16();
    let text = answer.body_mut().read_to_string().map_err(|e| Trouble::Passing(e.to_string()))?;
    match status {
        200 => Ok(text),
        429 | 500.. => Err(Trouble::Passing(format!("HTTP {status}"))),
        _ => {
            let said = text_of(&text, "Message").unwrap_or_default();
            Err(Trouble::Lasting(format!("HTTP {status} {said}").trim().to_owned()))
        }
    }
}

fn from_process(command: &str) -> Result<Credentials, Trouble> {
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let output = Command::new(shell)
        .args([flag, command])
        .output()
        .map_err(|error| Trouble::Lasting(error.to_string()))?;
    if !output.status.success() {
        // The last line of stderr has the reason; stdout may contain secrets.
        let said = String::from_utf8_lossy(&output.stderr)
            .trim()
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned();
        return Err(Trouble::Lasting(format!("it failed ({}): {said}", output.status)));
    }
    Credentials::from_json(&output.stdout, Dialect::Process).map_err(Trouble::Lasting)
}

fn from_container(url: &str, token: &ContainerToken) -> Result<Credentials, Trouble> {
    let token = match token {
        ContainerToken::None => None,
        ContainerToken::Text(text) => Some(text.clone()),
        ContainerToken::File(path) => Some(read_token(path)?),
    };
    let mut request = neighbour().get(url);
    if let Some(token) = token {
        request = request.header("authorization", token);
    }
    let text = body(request.call())?;
    Credentials::from_json(text.as_bytes(), Dialect::Metadata).map_err(Trouble::Lasting)
}

/// IMDSv2: a token first, then the role's name, then its key.
fn from_instance(url: &str) -> Result<Credentials, Trouble> {
    let agent = neighbour();
    let token = agent
        .put(format!("{url}/latest/api/token"))
        .header("x-aws-ec2-metadata-token-ttl-seconds", TOKEN_SECONDS)
        .send_empty()
        // Not every machine is an instance: if the first request gets no answer, there is no metadata service.
        .map_err(|error| Trouble::Lasting(error.to_string()))?;
    let token = body(Ok(token))?;
    let get = |path: &str| {
        let request = agent.get(format!("{url}/latest/meta-data/iam/security-credentials/{path}"));
        body(request.header("x-aws-ec2-metadata-token", &token).call())
    };
    let role = get("")?;
    let role = role.lines().next().map(str::trim).filter(|role| !role.is_empty());
    let role = role.ok_or_else(|| Trouble::Lasting("the instance has no role".into()))?;
    let text = get(role)?;
    Credentials::from_json(text.as_bytes(), Dialect::Metadata).map_err(Trouble::Lasting)
}

fn from_web_identity(
    url: &str,
    role: &str,
    session: &str,
    token: &str,
) -> Result<Credentials, Trouble> {
    let form = [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", role),
        ("RoleSessionName", session),
        ("WebIdentityToken", token),
    ];
    let text = body(agent(false).post(url).send_form(form))?;
    Credentials::from_xml(&text).map_err(Trouble::Lasting)
}

#[cfg(test)]
mod tests;
