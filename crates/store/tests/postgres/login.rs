//! TLS in each of its modes, and logins from the environment, a service file and a password file.

use std::process::Command;
use std::time::{Duration, Instant};

use keyloom_store::{PostgresOptions, PostgresStore, Store};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::server::Postgres;
use crate::{connect, schema, shared};

/// What must never be shown.
const SECRET: &str = "hunter2-hunter2";

/// An authority, and a certificate for `localhost` that it has issued, with its key.
fn authority() -> (String, String, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let own = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let server_key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec!["localhost".into()]).unwrap();
    let server = server.signed_by(&server_key, &issuer).unwrap();
    (own, server.pem(), server_key.serialize_pem())
}

/// A server with TLS, whose user `guarded` needs a password and whose user `tls` needs TLS.
fn guarded_server() -> Option<(Postgres, String)> {
    let server = Postgres::start(false)?;
    let (root, certificate, key) = authority();
    server.write_file("server.crt", &certificate);
    server.write_file("server.key", &key);
    server.write_file(
        "data/pg_hba.conf",
        "local all all trust\nhost all guarded all scram-sha-256\nhostnossl all tls all reject\n\
         host all all all trust\n",
    );
    server.query(&format!("CREATE ROLE guarded SUPERUSER LOGIN PASSWORD '{SECRET}'"));
    server.query("CREATE ROLE tls SUPERUSER LOGIN");
    server.set(&[("ssl_cert_file", "../server.crt"), ("ssl_key_file", "../server.key")]);
    server.set(&[("ssl", "on")]);
    Some((server, root))
}

fn url(server: &Postgres, user: &str, host: &str, parameters: &str) -> String {
    format!("postgres://{user}@{host}:{}/postgres?keyloom_schema=s&{parameters}", server.port())
}

fn try_connect(url: &str) -> Result<PostgresStore, String> {
    let options = PostgresOptions::from_url(url).map_err(|error| error.to_string())?;
    PostgresStore::connect(options).map_err(|error| error.to_string())
}

/// Whether the connections of a store are encrypted.
fn is_encrypted(server: &Postgres, url: &str) -> bool {
    let store = try_connect(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    assert_eq!(store.get(b"key").unwrap(), None);
    let encrypted = server.query(
        "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
         WHERE application_name = 'keyloom'",
    );
    drop(store);
    assert!(matches!(encrypted.as_str(), "t" | "f"), "some are and some are not: {encrypted}");
    // Its connections must be gone before the next store is looked at.
    let end = Instant::now() + Duration::from_secs(20);
    let left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'keyloom'";
    while server.query(left) != "0" {
        assert!(Instant::now() < end, "connections stay open");
        std::thread::sleep(Duration::from_millis(20));
    }
    encrypted == "t"
}

/// The error of a connection that is refused, which takes no patience.
fn refusal(url: &str) -> String {
    let begun = Instant::now();
    let error = try_connect(url).err().unwrap_or_else(|| panic!("{url} was accepted"));
    assert!(begun.elapsed() < Duration::from_secs(10), "{url}: it was tried again and again");
    assert!(!error.contains(SECRET), "{error}");
    error
}

#[test]
fn each_sslmode_is_what_it_says() {
    let Some((server, root)) = guarded_server() else { return };
    let root = server.write_file("root.crt", &root).display().to_string();
    let other = server.write_file("other.crt", &authority().0).display().to_string();
    let with = |host: &str, parameters: &str| url(&server, "keyloom", host, parameters);
    assert!(!is_encrypted(&server, &with("127.0.0.1", "sslmode=disable")));
    for (host, parameters) in [
        ("127.0.0.1", String::new()),
        ("127.0.0.1", "sslmode=prefer".into()),
        ("127.0.0.1", "sslmode=require".into()),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={root}")),
        ("localhost", format!("sslmode=verify-full&sslrootcert={root}")),
    ] {
        assert!(is_encrypted(&server, &with(host, &parameters)), "{parameters}");
    }
    for (host, parameters) in [
        // The certificate is for another name.
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={root}")),
        // Nobody that is trusted has issued it.
        ("localhost", format!("sslmode=verify-full&sslrootcert={other}")),
        ("localhost", format!("sslmode=verify-ca&sslrootcert={other}")),
        ("localhost", format!("sslmode=require&sslrootcert={other}")),
        ("localhost", "sslmode=verify-full&sslrootcert=system".into()),
    ] {
        let error = refusal(&with(host, &parameters));
        assert!(error.contains("certificate"), "{parameters}: {error}");
    }
    let unencrypted = refusal(&url(&server, "tls", "127.0.0.1", "sslmode=disable"));
    assert!(unencrypted.contains("no encryption"), "{unencrypted}");
    for name in ["sslcert", "sslkey", "sslcrl"] {
        let error = refusal(&with("localhost", &format!("{name}=x")));
        assert!(error.contains(name), "{error}");
    }
    server.set(&[("ssl", "off")]);
    for parameters in ["sslmode=require", &format!("sslmode=verify-ca&sslrootcert={root}")] {
        let error = refusal(&with("127.0.0.1", parameters));
        assert!(error.contains("does not support TLS"), "{error}");
    }
    assert!(!is_encrypted(&server, &with("127.0.0.1", "sslmode=prefer")));
}

/// Runs [`child`] in a process with these variables; what it prints.
fn in_environment(url: &str, variables: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "login::child", "--ignored", "--nocapture"]);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command.env("KEYLOOM_LOGIN_URL", url).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let shown = [output.stdout, output.stderr].concat();
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(!shown.contains(SECRET), "a password is shown: {shown}");
    (output.status.success(), shown)
}

#[test]
#[ignore = "run by the next test in an environment of its own"]
fn child() {
    let Ok(url) = std::env::var("KEYLOOM_LOGIN_URL") else { return };
    let store = PostgresStore::connect(PostgresOptions::from_url(&url).unwrap()).unwrap();
    assert_eq!(store.get(b"key").unwrap(), None);
    eprintln!("{store:?}");
}

#[test]
fn logins_come_from_the_environment_a_service_file_and_a_password_file() {
    let Some((server, root)) = guarded_server() else { return };
    let root = server.write_file("root.crt", &root).display().to_string();
    let port = server.port().to_string();
    let service = format!(
        "[shop]\nhost=localhost\nport={port}\nuser=guarded\npassword={SECRET}\ndbname=postgres\n\
         sslmode=verify-full\nsslrootcert={root}\n"
    );
    let service = server.write_file("services", &service).display().to_string();
    let passwords = format!("localhost:{port}:*:guarded:{SECRET}\n");
    let passwords = server.write_file("passwords", &passwords).display().to_string();
    let place = [("PGHOST", "localhost"), ("PGPORT", port.as_str()), ("PGUSER", "guarded")];
    let tls = [("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", root.as_str())];
    let database = ("PGDATABASE", "postgres");
    let named = "postgres:///postgres";
    for (url, variables) in [
        (named, [&place[..], &tls[..], &[("PGPASSWORD", SECRET)]].concat()),
        ("postgres://", [&place[..], &tls[..], &[database, ("PGPASSWORD", SECRET)]].concat()),
        (named, [&place[..], &[("PGPASSFILE", passwords.as_str())]].concat()),
        ("postgres:///?service=shop", vec![("PGSERVICEFILE", service.as_str())]),
        (named, vec![("PGSERVICEFILE", service.as_str()), ("PGSERVICE", "shop")]),
    ] {
        let (is_in, shown) = in_environment(url, &variables);
        assert!(
            is_in && shown.contains(&format!("postgres://localhost:{port}/postgres")),
            "{shown}"
        );
    }
    let wrong = format!("wrong {SECRET}");
    for (url, variables, named) in [
        (named, [&place[..], &[("PGPASSWORD", wrong.as_str())]].concat(), "28P01"),
        (named, place.to_vec(), "password"),
        (named, [&place[..2], &[("PGUSER", "nobody")]].concat(), "nobody"),
        (named, vec![("PGSERVICEFILE", service.as_str()), ("PGSERVICE", "other")], "[other]"),
        (named, [&place[..], &[("PGSSLMODE", "perhaps")]].concat(), "sslmode=perhaps"),
    ] {
        let (is_in, shown) = in_environment(url, &variables);
        assert!(!is_in && shown.contains(named), "{named}: {shown}");
    }
}

#[test]
fn who_only_reads_creates_nothing() {
    let Some(server) = shared() else { return };
    let schema = schema();
    let url = server.url(&schema);
    let read = || {
        let options = PostgresOptions::from_url(&url).unwrap().must_exist();
        PostgresStore::connect(options).map_err(|error| error.to_string())
    };
    let refusal = read().unwrap_err();
    assert!(refusal.contains("holds none"), "{refusal}");
    let schemata = format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'");
    assert_eq!(server.query(&schemata), "0");
    let epoch = connect(&url).exclusive().unwrap().commit().unwrap();
    let rows = || {
        let marks = |table: &str| {
            server.query(&format!("SELECT xmin, xmax FROM {schema}.{table} ORDER BY xmin::text"))
        };
        ["kv", "lane", "total"].map(marks)
    };
    let before = rows();
    let store = read().unwrap();
    assert_eq!((store.epoch(), store.get(b"key").unwrap()), (epoch, None));
    drop(store);
    assert_eq!(rows(), before, "nothing is written, nor locked");
}

#[test]
fn a_refusal_to_read_is_not_answered_with_tables() {
    let Some(server) = Postgres::start(false) else { return };
    drop(connect(&server.url("theirs")));
    server.query("CREATE ROLE stranger LOGIN; GRANT CREATE ON DATABASE postgres TO stranger");
    let url = server.url("theirs").replace("keyloom@", "stranger@");
    let refusal = try_connect(&url).unwrap_err();
    assert!(refusal.contains("permission denied for schema"), "{refusal}");
}
