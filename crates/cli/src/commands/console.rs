//! `keyloom console`: the console's pages before any DynamoDB endpoint.
//!
//! This process signs, so that secrets never reach the page; the page carries a random token in its address, so that no
//! other page on the machine can use this process.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use clap::Args;
use keyloom::remote::{Endpoint, Remote};
use keyloom_core::Error;
use keyloom_core::hex::Hex;
use keyloom_engine::Reply;
use keyloom_server::{
    Backend, Config as ServerConfig, Console as ConsoleApi, ConsoleOptions, Dispatch, Health,
    Server,
};

use crate::admin::Keys;
use crate::config::{Config, DEFAULT_ENDPOINT};
use crate::console::{DesignConsole, DesignFile, Observed};
use crate::output::{Failure, Output};

/// Open the console for any DynamoDB endpoint, AWS included.
///
/// Shows tables, items by entity, access patterns, designs, findings and, before `keyloom serve`, the heat of keys.
/// `keyloom serve` has the same console at /keyloom/ without this command. Requests are signed by this process: with
/// --access-key, or else with the credentials of the environment and of ~/.aws. The pages are served to this machine only,
/// at an address with a secret that other pages do not have.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom console --endpoint http://localhost:8000 --design shop.toml
  keyloom console --endpoint aws --region eu-west-1 --read-only
  keyloom console --no-open --port 9000")]
pub(crate) struct Console {
    /// Endpoint URL, or `aws`. [default: that of keyloom.toml, or http://127.0.0.1:8000]
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Design file that says what items and keys mean; may be repeated.
    #[arg(long, value_name = "FILE")]
    design: Vec<PathBuf>,
    /// Refuse everything that writes: items, tables, design files.
    ///
    /// It binds whoever uses this address, which needs its secret. Programs reach the endpoint itself, and what they may
    /// do is for its own credentials to say.
    #[arg(long)]
    read_only: bool,
    /// The port of the pages; 0 picks a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Print the address and do not open a browser.
    #[arg(long)]
    no_open: bool,
    /// AWS region; defaults to the environment's.
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// Profile in ~/.aws; defaults to the environment's.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    #[command(flatten)]
    keys: Keys,
}

impl Console {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let place = Config::endpoint(self.endpoint.as_deref())?;
        let place = place.unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
        let remote = self.remote(&place)?;
        let token = token()?;
        let region = self.region.clone().unwrap_or_else(|| remote.region().to_owned());
        let config = ServerConfig {
            address: (Ipv4Addr::LOCALHOST, self.port).into(),
            region,
            console: ConsoleOptions {
                is_off: false,
                is_read_only: self.read_only,
                token: Some(token.clone()),
            },
            dispatch: Dispatch::network(),
            ..ServerConfig::default()
        };
        let (no_open, server) = (self.no_open, Server::bind(config, self.proxy(&place, remote)?));
        let server = server.map_err(Failure::refused)?;
        let address = format!("{}/keyloom/#token={token}", server.url());
        output.line(format_args!("console of {place} on {address}"))?;
        output.flush()?;
        if !no_open && !open(&address) {
            output.line("no browser could be opened: open the address yourself")?;
            output.flush()?;
        }
        server.run_until_terminated().map_err(Failure::refused)?;
        Ok(ExitCode::SUCCESS)
    }

    fn remote(&self, place: &str) -> Result<Remote, Failure> {
        let mut endpoint = if place == "aws" { Endpoint::aws() } else { Endpoint::url(place) };
        if let Some(region) = &self.region {
            endpoint = endpoint.region(region);
        }
        if let Some(profile) = &self.profile {
            endpoint = endpoint.profile(profile);
        }
        if let Some((access, secret)) = self.keys.pair() {
            endpoint = endpoint.credentials(keyloom::remote::Credentials::new(access, secret));
        }
        Remote::new(endpoint).map_err(Failure::refused)
    }

    fn proxy(self, place: &str, remote: Remote) -> Result<Proxy, Failure> {
        let endpoint = if place == "aws" { remote.url().to_owned() } else { place.to_owned() };
        let observed = if place == "aws" {
            Observed::Nobody
        } else {
            Observed::There { endpoint: endpoint.clone(), keys: self.keys }
        };
        let console = DesignConsole {
            backend: remote.clone().into(),
            designs: DesignFile::of(&self.design)?,
            observed,
            endpoint,
            throttle: None,
            is_read_only: self.read_only,
            config: Config::find()?,
        };
        Ok(Proxy { remote, console: Arc::new(console) })
    }
}

/// Passes requests on, signed.
struct Proxy {
    remote: Remote,
    console: Arc<DesignConsole>,
}

impl Backend for Proxy {
    fn call(&self, target: &str, body: &[u8]) -> Reply {
        match self.remote.call_target(target, body) {
            Ok(body) => Reply { status: 200, body },
            Err(keyloom::Error::Database(error)) => Reply::from(&error),
            Err(error) => Reply::from(&Error::InternalServer(format!(
                "{} does not answer: {error}",
                self.console.endpoint
            ))),
        }
    }

    fn statistics(&self, with_heat: bool) -> Option<String> {
        self.console.observed.json(with_heat)
    }

    fn health(&self) -> Health {
        Health::Ready
    }

    fn console(&self) -> Option<&dyn ConsoleApi> {
        Some(&*self.console)
    }
}

/// A secret for one run.
fn token() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::refused(format_args!("there is no randomness: {error}")))?;
    Ok(Hex(&bytes).to_string())
}

/// Opens the user's browser; whether a program for that was found.
pub(crate) fn open(address: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(address);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            // The program ends by itself once the browser has the address.
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}
