//! Where the database is and how to log in: from a URL, the environment and a service file.
//!
//! As with other clients of PostgreSQL, what the URL says comes first, then the service (`service=` or
//! `PGSERVICE`), then the environment (`PGHOST`, `PGPASSWORD`…), then a password file. Nothing here
//! prints a password, not even `Debug`.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::tls::Verification;
use crate::StoreError;

/// How a PostgreSQL store is reached.
#[derive(Clone)]
pub struct PostgresOptions {
    pub(super) config: Config,
    pub(super) verification: Verification,
    pub(super) root_certificate: Option<PathBuf>,
    /// The schema that holds the store's tables: several stores fit into one database.
    pub(super) schema: String,
    /// How many snapshots may be open at once; others wait.
    pub(super) snapshots: usize,
    /// Whether it is an error if the tables are not there.
    pub(super) must_exist: bool,
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresOptions").field(&self.place()).finish()
    }
}

/// Parameters of the URL that are not handed to the driver.
const OWN: [&str; 6] =
    ["sslmode", "sslrootcert", "service", "passfile", "keyloom_schema", "keyloom_snapshots"];

/// Parameters of a service file and of the environment.
const KNOWN: [(&str, &str); 8] = [
    ("host", "PGHOST"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("dbname", "PGDATABASE"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
];

impl PostgresOptions {
    /// Reads a URL such as `postgres://user@host:5432/database?sslmode=verify-full` and fills in
    /// what it leaves out. Besides the driver's parameters it knows `sslmode`, `sslrootcert`,
    /// `service`, `passfile`, `keyloom_schema` (default `keyloom`) and `keyloom_snapshots`.
    pub fn from_url(url: &str) -> Result<Self, StoreError> {
        Self::read(url, &|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn read(url: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, StoreError> {
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        if !matches!(scheme, Some("postgres" | "postgresql")) {
            return Err(refused("the URL does not begin with postgres:// or postgresql://"));
        }
        let (base, mut own, rest) = split(url)?;
        let mut config: Config = format!("{base}{rest}").parse().map_err(|error| unread(&error))?;
        if let Some(service) = own.get("service").cloned().or_else(|| env("PGSERVICE")) {
            for (name, value) in service_file(&service, env)? {
                fill(&mut config, &mut own, &name, &value)?;
            }
        }
        for (name, variable) in KNOWN {
            if let Some(value) = env(variable) {
                fill(&mut config, &mut own, name, &value)?;
            }
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host("localhost");
        }
        if config.get_user().is_none() {
            let user =
                env("USER").ok_or_else(|| refused("it names no user; add one, or set PGUSER"))?;
            config.user(user);
        }
        config.application_name("keyloom");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        if config.get_password().is_none()
            && let Some(password) = password_file(&config, own.get("passfile"), env)
        {
            config.password(password);
        }
        let mode = own.get("sslmode").map_or("prefer", String::as_str);
        let (ssl_mode, verification) = Verification::of(mode, own.contains_key("sslrootcert"))
            .ok_or_else(|| refused(&format!("sslmode={mode} is not a mode")))?;
        config.ssl_mode(ssl_mode);
        Ok(Self {
            config,
            verification,
            root_certificate: root_certificate(verification, own.get("sslrootcert"), env),
            schema: schema(own.get("keyloom_schema").map_or("keyloom", String::as_str))?,
            snapshots: snapshots(own.get("keyloom_snapshots"))?,
            must_exist: false,
        })
    }

    /// For whoever only reads: connecting creates nothing, and fails where there is no store.
    #[must_use]
    pub fn must_exist(mut self) -> Self {
        self.must_exist = true;
        self
    }

    /// The database without credentials, for messages.
    pub(super) fn place(&self) -> String {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => "localhost".into(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        format!("postgres://{host}:{port}/{database}")
    }
}

/// The file with the authorities to trust; none for the public ones. As in libpq it is in the home
/// folder unless it is named, and `system` means none.
fn root_certificate(
    verification: Verification,
    named: Option<&String>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Option<PathBuf> {
    match named.map(String::as_str) {
        Some("system") => None,
        Some(path) => Some(path.into()),
        None if verification == Verification::Nothing => None,
        None => home(env, ".postgresql/root.crt").filter(|path| path.exists()),
    }
}

/// What the driver cannot read, by the name that its error's source has: names only, no values.
fn unread(error: &tokio_postgres::Error) -> StoreError {
    let named = std::error::Error::source(error).map(|source| format!(": {source}"));
    refused(&format!("{error}{}", named.unwrap_or_default()))
}

fn refused(reason: &str) -> StoreError {
    StoreError::Engine {
        action: "read the URL of the PostgreSQL store".into(),
        detail: reason.into(),
    }
}

/// The URL without its parameters, our parameters, and the driver's as a query string.
fn split(url: &str) -> Result<(&str, BTreeMap<String, String>, String), StoreError> {
    let Some((base, query)) = url.split_once('?') else {
        return Ok((url, BTreeMap::new(), String::new()));
    };
    let (mut own, mut others) = (BTreeMap::new(), Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| refused(&format!("{pair} has no value")))?;
        if OWN.contains(&name) {
            own.insert(name.to_owned(), unescape(value)?);
        } else {
            others.push(pair);
        }
    }
    let rest = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
    Ok((base, own, rest))
}

/// Replaces `%2F` and the like.
fn unescape(value: &str) -> Result<String, StoreError> {
    let broken = || refused("a parameter has a % that no two hexadecimal digits follow");
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let (digits, after) = after.split_at_checked(2).ok_or_else(broken)?;
            let digits = std::str::from_utf8(digits).map_err(|_| broken())?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| broken())?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).map_err(|_| refused("a parameter is not UTF-8"))
}

/// Sets a parameter that nothing has set yet.
fn fill(
    config: &mut Config,
    own: &mut BTreeMap<String, String>,
    name: &str,
    value: &str,
) -> Result<(), StoreError> {
    let number = || {
        value.parse::<u16>().map_err(|_| refused(&format!("{name} is {value}, which is no number")))
    };
    match name {
        "host" if config.get_hosts().is_empty() => drop(config.host(value)),
        "port" if config.get_ports().is_empty() => drop(config.port(number()?)),
        "user" if config.get_user().is_none() => drop(config.user(value)),
        "password" if config.get_password().is_none() => drop(config.password(value)),
        "dbname" if config.get_dbname().is_none() => drop(config.dbname(value)),
        "connect_timeout" if config.get_connect_timeout().is_none() => {
            config.connect_timeout(Duration::from_secs(number()?.into()));
        }
        "host" | "port" | "user" | "password" | "dbname" | "connect_timeout" => {}
        name if OWN.contains(&name) => drop(own.entry(name.into()).or_insert_with(|| value.into())),
        name => return Err(refused(&format!("the service file has the unknown parameter {name}"))),
    }
    Ok(())
}

/// The parameters of a service: `[name]` and then `parameter=value` lines.
fn service_file(
    service: &str,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, StoreError> {
    let path = env("PGSERVICEFILE").map(PathBuf::from).or_else(|| home(env, ".pg_service.conf"));
    let path = path.ok_or_else(|| refused("a service is named, and PGSERVICEFILE is not set"))?;
    let text = fs::read_to_string(&path)
        .map_err(|error| StoreError::io(format!("read {}", path.display()), error))?;
    let mut found = None;
    for line in
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            if found.is_some() {
                break;
            }
            found = (name == service).then(Vec::new);
        } else if let (Some(found), Some((name, value))) = (&mut found, line.split_once('=')) {
            found.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    found.ok_or_else(|| refused(&format!("{} has no service [{service}]", path.display())))
}

/// The password of the first line `host:port:database:user:password` that fits; `*` fits everything.
fn password_file(
    config: &Config,
    path: Option<&String>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let path = path.cloned().or_else(|| env("PGPASSFILE")).map(PathBuf::from);
    let text = fs::read_to_string(path.or_else(|| home(env, ".pgpass"))?).ok()?;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.as_str(),
        _ => "localhost",
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default();
    let wanted = [host, port.as_str(), config.get_dbname().unwrap_or(user), user];
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.splitn(5, ':').collect();
        let (password, place) = fields.split_last().filter(|(_, place)| place.len() == 4)?;
        let fits =
            place.iter().zip(wanted).all(|(field, wanted)| *field == "*" || *field == wanted);
        fits.then(|| (*password).to_owned())
    })
}

fn home(env: &dyn Fn(&str) -> Option<String>, file: &str) -> Option<PathBuf> {
    Some(PathBuf::from(env("HOME")?).join(file))
}

/// A schema's name, which becomes part of statements: plain letters, digits and `_` only.
fn schema(name: &str) -> Result<String, StoreError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if begins && name.len() <= 63 && name.chars().all(is_plain) {
        return Ok(name.to_owned());
    }
    Err(refused("keyloom_schema must be 1 to 63 lower-case letters, digits and _, no digit first"))
}

fn snapshots(value: Option<&String>) -> Result<usize, StoreError> {
    let Some(value) = value else { return Ok(4) };
    let number = value.parse().ok().filter(|number| (1..=1000).contains(number));
    number.ok_or_else(|| refused("keyloom_snapshots must be a number from 1 to 1000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str, variables: &[(&str, &str)]) -> Result<PostgresOptions, StoreError> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        PostgresOptions::read(url, &|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_url_comes_before_the_service_and_that_before_the_environment() {
        let directory = tempfile::tempdir().unwrap();
        let services = directory.path().join("services");
        fs::write(&services, "# mine\n[other]\nuser=x\n[prod]\nhost=db\nuser=svc\nport=6000\n")
            .unwrap();
        let services = services.to_str().unwrap();
        let environment = [
            ("PGSERVICEFILE", services),
            ("PGUSER", "env"),
            ("PGPASSWORD", "secret"),
            ("PGPORT", "7"),
        ];
        let options =
            read("postgres:///shop?service=prod&keyloom_schema=a_1", &environment).unwrap();
        assert_eq!(options.place(), "postgres://db:6000/shop");
        assert_eq!(options.config.get_user(), Some("svc"));
        assert_eq!(options.config.get_password(), Some(&b"secret"[..]));
        assert_eq!(options.schema, "a_1");
        let options = read("postgres://me@host:1/x", &environment).unwrap();
        assert_eq!(
            (options.place().as_str(), options.config.get_user()),
            ("postgres://host:1/x", Some("me"))
        );
    }

    #[test]
    fn a_password_is_never_shown() {
        let options = read("postgres://me:hunter2@host/x", &[]).unwrap();
        assert!(!format!("{options:?}{}", options.place()).contains("hunter2"));
        for url in [
            "postgres://me:hunter2@host:port/x",
            "postgres://me:hunter2@host/x?sslmode=no",
            "postgres://me@host/x?password=hunter2&port=x",
            "postgres://me:hunter2@host/x?pasword=hunter2",
        ] {
            let error = read(url, &[]).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_password_file_fits_by_host_port_database_and_user() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pass");
        fs::write(&file, "a:*:*:me:wrong\n*:5433:shop:me:ri:ght\n*:*:*:*:last\n").unwrap();
        let url = |port| format!("postgres://me@b:{port}/shop?passfile={}", file.display());
        let password = |port| {
            let options = read(&url(port), &[]).unwrap();
            String::from_utf8(options.config.get_password().unwrap().to_vec()).unwrap()
        };
        assert_eq!((password(5433).as_str(), password(1).as_str()), ("ri:ght", "last"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (url, named) in [
            ("mysql://x", "postgres://"),
            ("postgres://u@h/d?sslmode=perhaps", "sslmode=perhaps"),
            ("postgres://u@h/d?keyloom_schema=A;drop", "keyloom_schema"),
            ("postgres://u@h/d?keyloom_snapshots=0", "keyloom_snapshots"),
            ("postgres://h/d", "PGUSER"),
            ("postgres://u@h/d?sslrootcert=%zz", "%"),
        ] {
            let error = read(url, &[]).unwrap_err().to_string();
            assert!(error.contains(named), "{url}: {error}");
        }
    }
}
