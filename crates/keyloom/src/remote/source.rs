//! The default credential chain.
//!
//! Sources are tried in the order of AWS's own tools: environment, web identity, profile, container, instance.
//! Choosing a source involves no requests; temporary keys are fetched at the first request.

use std::path::PathBuf;

use super::Credentials;
use super::config::domain;
use super::surroundings::Surroundings;
use crate::error::{Error, Result};

/// A place that gives credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Known, and never another.
    Fixed(Credentials),
    /// The output of a program.
    Process { command: String },
    /// The Security Token Service, for a token in a file.
    WebIdentity { url: String, role: String, session: String, token_file: PathBuf },
    /// The endpoint of a container.
    Container { url: String, token: ContainerToken },
    /// The metadata service of an instance.
    Instance { url: String },
}

/// What a container shows to its endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ContainerToken {
    None,
    Text(String),
    /// Read again each time, because it changes.
    File(PathBuf),
}

/// The address of the containers' endpoint.
const CONTAINER: &str = "http://169.254.170.2";
/// The address of the instances' metadata.
const INSTANCE: &str = "http://169.254.169.254";

impl Source {
    /// The first place that has credentials, or may have some.
    pub(super) fn find(
        surroundings: &Surroundings,
        profile: Option<&str>,
        region: &str,
    ) -> Result<Self> {
        if let Some(source) = Self::find_stated(surroundings, profile, region)? {
            return Ok(source);
        }
        if let Some(source) = container(surroundings)? {
            return Ok(source);
        }
        let disabled = surroundings.variable("AWS_EC2_METADATA_DISABLED");
        if disabled.is_some_and(|disabled| disabled.eq_ignore_ascii_case("true")) {
            let looked = places(surroundings, profile);
            return Err(none_found(
                &looked,
                "AWS_EC2_METADATA_DISABLED forbids to ask the instance",
            ));
        }
        let url = surroundings.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        let url = url.unwrap_or_else(|| INSTANCE.to_owned());
        Ok(Self::Instance { url: url.trim_end_matches('/').to_owned() })
    }

    /// The first place that was named on purpose: the environment, or a profile.
    pub(super) fn find_stated(
        surroundings: &Surroundings,
        asked: Option<&str>,
        region: &str,
    ) -> Result<Option<Self>> {
        if asked.is_none() {
            if let Some(key) = surroundings.environment_key() {
                return Ok(Some(Self::Fixed(key)));
            }
            if let Some(source) = web_identity(surroundings, region, |name| {
                surroundings.variable(&format!("AWS_{}", name.to_uppercase()))
            }) {
                return Ok(Some(source));
            }
        }
        let profile = surroundings.profile_name(asked);
        if let Some(key) = surroundings.profile_key(&profile) {
            return Ok(Some(Self::Fixed(key)));
        }
        let setting = |name: &str| surroundings.profile_setting(&profile, name);
        if let Some(command) = setting("credential_process") {
            return Ok(Some(Self::Process { command }));
        }
        if let Some(source) = web_identity(surroundings, region, setting) {
            return Ok(Some(source));
        }
        for (name, what) in [
            ("role_arn", "assumes a role"),
            ("sso_session", "signs on"),
            ("sso_start_url", "signs on"),
        ] {
            if setting(name).is_some() {
                return Err(Error::Config(format!(
                    "profile `{profile}` {what} (`{name}`), which takes a tool: add a profile with \
                     `credential_process = aws configure export-credentials --profile {profile}` and name that one"
                )));
            }
        }
        match asked {
            Some(asked) => Err(Error::Config(format!(
                "profile `{asked}` has no credentials in {}: add aws_access_key_id and aws_secret_access_key, or credential_process",
                files(surroundings)
            ))),
            None => Ok(None),
        }
    }
}

/// A role for the bearer of a token: how pods of Kubernetes get credentials.
fn web_identity(
    surroundings: &Surroundings,
    region: &str,
    setting: impl Fn(&str) -> Option<String>,
) -> Option<Source> {
    let url = surroundings.variable("AWS_ENDPOINT_URL_STS");
    Some(Source::WebIdentity {
        token_file: PathBuf::from(setting("web_identity_token_file")?),
        role: setting("role_arn")?,
        session: setting("role_session_name").unwrap_or_else(|| "keyloom".to_owned()),
        url: url.unwrap_or_else(|| format!("https://sts.{region}.{}", domain(region))),
    })
}

fn container(surroundings: &Surroundings) -> Result<Option<Source>> {
    let relative = surroundings.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    let url = match relative {
        Some(path) => format!("{CONTAINER}{path}"),
        None => match surroundings.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
            Some(url) if is_safe(&url) => url,
            Some(url) => {
                return Err(Error::Config(format!(
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI is `{url}`: only https and addresses of this machine can be trusted with credentials"
                )));
            }
            None => return Ok(None),
        },
    };
    let token = match surroundings.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(path) => ContainerToken::File(PathBuf::from(path)),
        None => match surroundings.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN") {
            Some(token) => ContainerToken::Text(token),
            None => ContainerToken::None,
        },
    };
    Ok(Some(Source::Container { url, token }))
}

/// Whether credentials may be requested from this URL: it is encrypted, loopback, or one of AWS's link-local
/// credential endpoints.
fn is_safe(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return url.starts_with("https://") };
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let known = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23", "localhost"];
    known.contains(&host)
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn files(surroundings: &Surroundings) -> String {
    let file = |variable, usual: &str| surroundings.variable(variable).unwrap_or(usual.to_owned());
    format!(
        "{} and {}",
        file("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
        file("AWS_CONFIG_FILE", "~/.aws/config")
    )
}

/// The sources that were tried, as a sentence.
pub(super) fn places(surroundings: &Surroundings, profile: Option<&str>) -> String {
    format!(
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, profile `{}` in {}, \
         AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI, the metadata of the instance",
        surroundings.profile_name(profile),
        files(surroundings)
    )
}

/// The error when no source has credentials.
pub(super) fn none_found(looked: &str, last: &str) -> Error {
    Error::Config(format!(
        "no AWS credentials. Looked at: {looked} ({last}). Set the first two, add a profile, or give them with Endpoint::credentials"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &'static [(&str, &str)], config: &'static str) -> Result<Source> {
        let surroundings = Surroundings::of(
            |name| variables.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned()),
            |path| path.ends_with(".aws/config").then(|| config.to_owned()),
        );
        Source::find(&surroundings, None, "eu-west-1")
    }

    #[test]
    fn sources_are_tried_in_order() {
        let identity = [
            ("HOME", "/h"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
            ("AWS_ROLE_ARN", "arn:role"),
        ];
        let source = found(Box::leak(Box::new(identity)), "").unwrap();
        let Source::WebIdentity { url, role, .. } = source else { panic!("{source:?}") };
        assert_eq!(
            (url.as_str(), role.as_str()),
            ("https://sts.eu-west-1.amazonaws.com", "arn:role")
        );
        let process = found(&[("HOME", "/h")], "[default]\ncredential_process = get keys");
        assert_eq!(process.unwrap(), Source::Process { command: "get keys".into() });
        let container = found(&[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x")], "");
        let url = "http://169.254.170.2/v2/x".to_owned();
        assert_eq!(container.unwrap(), Source::Container { url, token: ContainerToken::None });
        let instance =
            found(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://[fd00:ec2::254]/")], "");
        assert_eq!(instance.unwrap(), Source::Instance { url: "http://[fd00:ec2::254]".into() });
    }

    #[test]
    fn what_cannot_be_used_says_the_way_out() {
        let message = |variables, config| match found(variables, config) {
            Err(error) => error.to_string(),
            Ok(source) => panic!("{source:?}"),
        };
        let role = message(&[("HOME", "/h")], "[default]\nrole_arn = r\nsource_profile = b");
        assert!(role.contains("export-credentials --profile default"), "{role}");
        let nothing = message(&[("AWS_EC2_METADATA_DISABLED", "true"), ("AWS_PROFILE", "p")], "");
        for place in [
            "AWS_ACCESS_KEY_ID",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "profile `p`",
            "~/.aws/config",
            "RELATIVE_URI",
            "metadata",
        ] {
            assert!(nothing.contains(place), "{place}: {nothing}");
        }
        let unsafe_url =
            message(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://evil.example/x")], "");
        assert!(unsafe_url.contains("evil.example"), "{unsafe_url}");
    }

    #[test]
    fn credentials_are_requested_only_over_safe_connections() {
        for safe in [
            "https://x/y",
            "http://localhost:1/c",
            "http://127.0.0.5/c",
            "http://[::1]:9/c",
            "http://169.254.170.23/v1",
        ] {
            assert!(is_safe(safe), "{safe}");
        }
        for not in [
            "http://10.0.0.1/c",
            "ftp://localhost",
            "http://localhost.evil/c",
            "http://169.254.170.2.evil/",
        ] {
            assert!(!is_safe(not), "{not}");
        }
    }
}
