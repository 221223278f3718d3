//! The file of `keyloom serve --identities`: access keys, who they belong to, and their policies.

use std::collections::BTreeMap;
use std::path::Path;

use keyloom_core::policy::{Policy, Principal};
use keyloom_server::{Credentials, Identity};
use serde::Deserialize;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::design_file::text_of;
use crate::output::Failure;

/// The whole file, TOML or JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    identity: Vec<Entry>,
}

/// One access key and whose it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    access_key: String,
    secret_key: String,
    /// The name of a user of the server's account; `arn` is for any other principal.
    name: Option<String>,
    arn: Option<String>,
    user_id: Option<String>,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    policies: Vec<PolicySource>,
}

/// A policy: the path of a file, relative to this one, or the document itself.
#[derive(Deserialize)]
#[serde(untagged)]
enum PolicySource {
    File(String),
    Inline(serde_json::Map<String, Value>),
}

/// Reads the identities of a file. `account` is the server's own.
pub(crate) fn read(path: &Path, account: &str) -> Result<Vec<Identity>, Failure> {
    let refused = |problem: String| {
        Failure::refused(format_args!(
            "the identities in {} cannot be used: {problem}",
            path.display()
        ))
    };
    let text = text_of(path)?;
    let file = parse(&text).map_err(refused)?;
    if file.identity.is_empty() {
        return Err(refused("there are none".into()));
    }
    let entries = file.identity.into_iter();
    entries
        .map(|entry| {
            let key = entry.access_key.clone();
            let identity = entry.identity(path, account);
            identity.map_err(|problem| refused(format!("access key {key:?}: {problem}")))
        })
        .collect()
}

fn parse(text: &str) -> Result<File, String> {
    let value = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| error.to_string())?
    } else {
        table(DeTable::parse(text).map_err(|error| error.to_string())?.get_ref())?
    };
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn table(table: &DeTable<'_>) -> Result<Value, String> {
    let entry = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = name.get_ref();
        Ok((name.to_string(), json(value.get_ref())?))
    };
    table.iter().map(entry).collect::<Result<_, String>>().map(Value::Object)
}

/// A value of TOML as one of JSON, which policies are written in.
fn json(value: &DeValue<'_>) -> Result<Value, String> {
    Ok(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(value) => (*value).into(),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            read.map_err(|error| format!("{number}: {error}"))?.into()
        }
        DeValue::Array(list) => {
            let elements = list.iter().map(|element| json(element.get_ref()));
            elements.collect::<Result<Vec<Value>, String>>()?.into()
        }
        DeValue::Table(inner) => table(inner)?,
        DeValue::Float(_) | DeValue::Datetime(_) => {
            return Err("fractions and dates must be written as strings".into());
        }
    })
}

impl Entry {
    fn identity(self, path: &Path, account: &str) -> Result<Identity, String> {
        let arn = match (self.arn, self.name) {
            (Some(arn), None) => arn,
            (None, Some(name)) => format!("arn:aws:iam::{account}:user/{name}"),
            _ => return Err("it needs either a name or an ARN".into()),
        };
        check_principal(&arn)?;
        let policies = self.policies.into_iter().map(|source| source.policy(path));
        let principal = Principal {
            arn,
            user_id: self.user_id.unwrap_or_else(|| self.access_key.clone()),
            tags: self.tags.into_iter().collect(),
        };
        let credentials = Credentials::new(self.access_key, self.secret_key);
        Ok(Identity::new(credentials, principal, policies.collect::<Result<_, String>>()?))
    }
}

/// Refuses what is not the ARN of a user or role.
fn check_principal(arn: &str) -> Result<(), String> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let is_account =
        |text: &str| text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    match parts.as_slice() {
        ["arn", _, "iam" | "sts", "", account, entity]
            if is_account(account)
                && entity.split_once('/').is_some_and(|(kind, name)| {
                    ["user", "role", "assumed-role"].contains(&kind) && !name.is_empty()
                }) =>
        {
            Ok(())
        }
        _ => Err(format!(
            "{arn:?} is not the ARN of a user or role, such as arn:aws:iam::123456789012:user/alice"
        )),
    }
}

impl PolicySource {
    fn policy(self, beside: &Path) -> Result<Policy, String> {
        match self {
            Self::Inline(document) => {
                parsed(&Value::Object(document).to_string()).map_err(|it| format!("policy: {it}"))
            }
            Self::File(name) => {
                let path = beside.parent().unwrap_or(Path::new("")).join(&name);
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
                parsed(&text).map_err(|problem| format!("{}: {problem}", path.display()))
            }
        }
    }
}

/// Reads a policy. One with an action that does not exist, a misspelled one, would never do what it says.
fn parsed(text: &str) -> Result<Policy, String> {
    let policy = Policy::identity(text).map_err(|error| error.to_string())?;
    match policy.unknown_actions(&keyloom_server::known_actions()).first() {
        Some(action) => Err(format!(
            "there is no action {action:?}; transactions and PartiQL need those of what they do, such as \
             dynamodb:PutItem and dynamodb:PartiQLSelect"
        )),
        None => Ok(policy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = r#"
        [[identity]]
        access_key = "AKIDACME"
        secret_key = "a secret of acme's own"
        name = "acme"
        tags = { tenant = "acme" }
        policies = ["tenant.json", { Version = "2012-10-17", Statement = [
            { Effect = "Deny", Action = "dynamodb:Scan", Resource = "*" },
        ] }]
    "#;

    const POLICY: &str =
        r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}}"#;

    fn read_text(text: &str) -> Result<String, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("identities");
        std::fs::write(directory.path().join("tenant.json"), POLICY).unwrap();
        std::fs::write(&path, text).unwrap();
        match read(&path, "000000000000") {
            Ok(identities) => Ok(format!("{identities:?}")),
            Err(failure) => Err(format!("{failure:?}").replace('\\', "")),
        }
    }

    #[test]
    fn toml_and_json_say_the_same() {
        let shown =
            r#"[Identity(Credentials("AKIDACME", …), arn:aws:iam::000000000000:user/acme)]"#;
        assert_eq!(read_text(TOML).as_deref(), Ok(shown));
        let json = format!(
            r#"{{"identity": [{{"access_key": "AKIDACME", "secret_key": "s", "name": "acme",
                "policies": ["tenant.json", {POLICY}]}}]}}"#
        );
        assert_eq!(read_text(&json).as_deref(), Ok(shown));
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_the_reason() {
        for (from, to, said) in [
            ("name =", "nmae =", "unknown field `nmae`"),
            (r#"name = "acme""#, "", "it needs either a name or an ARN"),
            (r#"name = "acme""#, r#"arn = "arn:aws:s3:::x""#, "is not the ARN of a user or role"),
            ("tenant.json", "none.json", "none.json cannot be read"),
            ("dynamodb:Scan", "dynamodb:Scna", "policy: there is no action \"dynamodb:Scna\""),
            ("dynamodb:Scan", "dynamodb:TransactWriteItems", "transactions and PartiQL need those"),
            ("dynamodb:Scan", "keyloom:Reboot", "there is no action \"keyloom:Reboot\""),
            ("dynamodb:Scan", "Scan", "policy: Statement[0].Action: 'Scan' is not an action"),
            (TOML, "", "there are none"),
            (TOML, "identity = 1", "invalid type: integer"),
            (TOML, "{", "EOF while parsing"),
            (TOML, "[[identity", "TOML parse error"),
        ] {
            let error = read_text(&TOML.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(said), "{to}: {error}");
            assert!(!error.contains("a secret"), "{error}");
        }
    }
}
