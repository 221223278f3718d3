//! `keyloom serve`: a DynamoDB endpoint.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use keyloom_core::observation::Observer;
use keyloom_design::cost::Prices;
use keyloom_engine::{Database, DiskOptions, Durability, Options};
use keyloom_observe::{Monitor, Redaction, StatsCollector, StatsOptions, Throttle};
use keyloom_server::{
    Config, Cors, Credentials, Dispatch, Health, Limits, NotAnOrigin, Server, TlsFiles,
};

use crate::design_file::{check_file, design_of};
use crate::identities;
use crate::output::{self, Failure, Output};
use crate::watching::Watched;

/// Serve a DynamoDB endpoint.
///
/// Every AWS SDK, the AWS CLI and every DynamoDB tool can be pointed at it. Data is kept in
/// ./keyloom-data unless you say otherwise; a write is durable when it is answered.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom serve
  keyloom serve --memory --port 8001
  keyloom serve --identities tenants.toml
  keyloom serve --throttle enforce:burst=0
  keyloom serve --throttle inject=table=Orders:write:every=10
  aws dynamodb list-tables --endpoint-url http://localhost:8000")]
pub(crate) struct Serve {
    /// The directory that keeps the data.
    #[arg(long, value_name = "DIR", default_value = "keyloom-data", conflicts_with = "memory")]
    data: PathBuf,
    /// Keep nothing: the data is gone when the server ends.
    #[arg(long)]
    memory: bool,
    /// Answer writes before they are synced to disk; a power failure may lose the last second.
    #[arg(long, conflicts_with = "memory")]
    relaxed: bool,
    /// The address to listen on. Any but a loopback address needs credentials.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: IpAddr,
    /// The port to listen on; 0 takes any free one.
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// The AWS region that ARNs name.
    #[arg(long, default_value = "us-east-1")]
    region: String,
    /// An access key that may ask; with it, signatures are verified.
    #[arg(long, requires = "secret_key", env = "KEYLOOM_ACCESS_KEY")]
    access_key: Option<String>,
    /// The secret of the access key. Better given in the environment: arguments can be seen by others.
    #[arg(long, requires = "access_key", env = "KEYLOOM_SECRET_KEY", hide_env_values = true)]
    secret_key: Option<String>,
    /// A file of users and roles, TOML or JSON: access keys, tags and IAM policies. Their requests are
    /// judged by these policies and by those that PutResourcePolicy gives tables and streams.
    ///
    /// Each [[identity]] has access_key, secret_key, name (or arn), tags and policies: a list of files or
    /// of policy documents. The key of --access-key is the root user's, which no policy limits.
    #[arg(long, value_name = "FILE")]
    identities: Option<PathBuf>,
    /// The certificate chain for TLS, a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's key, a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A design whose access patterns requests are attributed to; may be given several times.
    #[arg(long, value_name = "FILE")]
    design: Vec<PathBuf>,
    /// Whether requests are counted, for `keyloom doctor`, /metrics and the reports of Contributor
    /// Insights. Costs less than 3 %.
    #[arg(long, value_enum, default_value_t = Stats::On)]
    stats: Stats,
    /// How much of key values statistics show: none hides nothing, hash and prefix hide values.
    ///
    /// With either, keys are still told apart by a hash: who can guess a key can confirm the guess.
    #[arg(long, value_name = "none|hash|prefix", default_value = "none")]
    redact: Redaction,
    /// Whether requests are refused for lack of throughput.
    ///
    /// off: never. watch: never, but what AWS would have refused is counted. enforce: as AWS would,
    /// by partitions of 3,000 read and 1,000 write units per second and by what the table may take;
    /// five minutes of unused capacity are saved up, or enforce:burst=SECONDS.
    /// inject=RULES: on order, to test how a program bears it. Rules are separated by commas, the
    /// parts of a rule by colons: read or write, table=NAME, index=NAME,
    /// reason=key-range|provisioned|max-on-demand|account, and how many: a probability such as 0.1,
    /// every=N or first=N. seed=N chooses other random numbers.
    #[arg(long, value_name = "off|watch|enforce|inject=…", default_value = "watch")]
    throttle: Throttle,
    /// The directory whose subdirectories are the buckets of exports, imports and bulk operations.
    #[arg(long, value_name = "DIR")]
    bucket_root: Option<PathBuf>,
    /// A host and port that clients reach the server under, if that is another one than it listens on;
    /// may be given several times. DescribeEndpoints names the first.
    ///
    /// On a loopback address without credentials, requests must be for one of these hosts or for a
    /// loopback name or address: any other is refused, because a web page could have made it up.
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint)]
    advertise: Vec<String>,
    /// The origins of web pages that may ask, besides those of this machine (localhost, 127.0.0.0/8 and
    /// ::1 on any port): https://app.example.com, null for files, * for all.
    ///
    /// Without credentials, requests of pages of other origins are refused. With credentials, they need
    /// a signature as all do, and browsers do not show them the answers.
    #[arg(long, value_name = "ORIGIN", num_args = 1.., value_delimiter = ',')]
    #[arg(value_parser = origin)]
    cors: Vec<String>,
    /// An address of its own for /metrics and /health, without credentials and TLS. Where there are
    /// credentials, /metrics needs a signature anywhere else.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics_listen: Option<SocketAddr>,
    /// Memory for data read from disk, in MiB. [default: an eighth of the machine's memory, at least
    /// 64 and at most 2048]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(conflicts_with = "memory")]
    cache: Option<u32>,
    /// Memory that clients may use, in MiB: for connections, requests, their decoded form, and answers
    /// that wait to be sent. Past it, requests are answered 503. [default: a quarter of the memory of
    /// the machine or container, at least 64]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(64..))]
    memory_limit: Option<u32>,
    /// How many connections may be open.
    #[arg(long, value_name = "N", default_value_t = Limits::default().max_connections)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,
    /// How many of them one client may have: an address, or a network of IPv6 (/64).
    #[arg(long, value_name = "N", default_value_t = Limits::default().max_connections_per_client)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    max_connections_per_client: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stats {
    /// They are counted.
    On,
    /// They are not.
    Off,
}

impl Serve {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let config = self.config()?;
        // Before anything is made on disk.
        config.check().map_err(Failure::refused)?;
        for warning in config.warnings() {
            output::warn(&warning);
        }
        let statistics = self.statistics()?;
        let monitor = Arc::new(self.monitor(statistics.as_ref()));
        let database = self.database(&monitor, output)?;
        let place = if self.memory {
            "in memory".to_owned()
        } else {
            format!("data in {}", self.data.display())
        };
        let backend = database.clone();
        let server = Server::bind(config, Watched { database: backend, statistics, monitor });
        let server = server.map_err(Failure::refused)?;
        database.advertise(self.advertised(server.local_addr()));
        drop(database);
        output.line(format_args!("keyloom listening on {} ({place})", server.url()))?;
        if let Some(address) = server.metrics_addr() {
            output.line(format_args!("metrics on http://{address}/metrics"))?;
        }
        output.flush()?;
        match server.run_until_terminated().map_err(Failure::refused)? {
            Health::Ready => Ok(ExitCode::SUCCESS),
            // Whoever started it should not take this for an end like any other.
            Health::ReadOnly { reason, .. } => Err(Failure::refused(format_args!(
                "the store refused writes when the server ended: {reason}"
            ))),
        }
    }

    /// The collector of statistics, with the designs that requests are attributed by.
    fn statistics(&self) -> Result<Option<Arc<StatsCollector>>, Failure> {
        if self.stats == Stats::Off {
            return Ok(None);
        }
        let options = StatsOptions { redaction: self.redact, ..StatsOptions::default() };
        let statistics = StatsCollector::new(options);
        let mut designs = Vec::new();
        for path in &self.design {
            let report = check_file(path, &Prices::default())?;
            designs.push(design_of(&report)?.clone());
        }
        if !designs.is_empty() {
            statistics.load_designs(&designs);
        }
        Ok(Some(Arc::new(statistics)))
    }

    /// What watches the database, and may refuse.
    fn monitor(&self, statistics: Option<&Arc<StatsCollector>>) -> Monitor {
        match (statistics, &self.throttle) {
            (Some(statistics), throttle) => {
                Monitor::new(throttle.clone()).with(Arc::clone(statistics) as Arc<dyn Observer>)
            }
            // What is only watched is only counted, and nothing is to be counted.
            (None, Throttle::Watch) => Monitor::new(Throttle::Off),
            (None, throttle) => Monitor::new(throttle.clone()),
        }
    }

    /// The host and port for DescribeEndpoints.
    fn advertised(&self, listens_on: SocketAddr) -> String {
        match self.advertise.first() {
            Some(endpoint) => endpoint.clone(),
            // "Any address" is none that a client could connect to.
            None if listens_on.ip().is_unspecified() => format!("localhost:{}", listens_on.port()),
            None => listens_on.to_string(),
        }
    }

    fn database(&self, monitor: &Arc<Monitor>, output: &mut Output) -> Result<Database, Failure> {
        let options = Options {
            region: self.region.clone(),
            bucket_root: self.bucket_root.clone(),
            observer: Some(Arc::clone(monitor) as Arc<dyn Observer>),
            ..Options::default()
        };
        if self.memory {
            return Ok(Database::memory_with(options));
        }
        let durability = if self.relaxed { Durability::Relaxed } else { Durability::Sync };
        let mut disk = DiskOptions { durability, ..DiskOptions::default() };
        if let Some(mebibytes) = self.cache {
            disk.cache_bytes = u64::from(mebibytes) << 20;
        }
        let database = Database::open_with(&self.data, disk, options).map_err(|error| {
            Failure::refused(format_args!(
                "the data in {} cannot be opened: {}",
                self.data.display(),
                error.message()
            ))
        })?;
        if let Some(cut) = database.open_report().and_then(|report| report.cut.as_ref()) {
            output
                .line(format_args!("a crash tore the end of the log; unacknowledged: {cut:?}"))?;
        }
        Ok(database)
    }

    fn config(&self) -> Result<Config, Failure> {
        let mut limits = Limits {
            max_connections: self.max_connections,
            max_connections_per_client: self.max_connections_per_client,
            ..Limits::default()
        };
        if let Some(mebibytes) = self.memory_limit {
            limits.memory_bytes = (mebibytes as usize) << 20;
        }
        let credentials = self.access_key.iter().zip(&self.secret_key);
        let tls = self.tls_cert.clone().zip(self.tls_key.clone());
        let account = Options::default().account;
        let identities = self.identities.as_ref().map(|path| identities::read(path, &account));
        Ok(Config {
            address: SocketAddr::new(self.host, self.port),
            credentials: credentials.map(|(key, secret)| Credentials::new(key, secret)).collect(),
            identities: identities.transpose()?.unwrap_or_default(),
            tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
            metrics_address: self.metrics_listen,
            // Each was checked when the arguments were read.
            cors: Cors::of(self.cors.iter().map(String::as_str)).unwrap_or_default(),
            advertised: self.advertise.clone(),
            region: self.region.clone(),
            dispatch: if self.memory { Dispatch::memory() } else { Dispatch::disk() },
            limits,
            ..Config::default()
        })
    }
}

/// Reads an origin of pages.
fn origin(text: &str) -> Result<String, NotAnOrigin> {
    Cors::of([text]).map(|_| text.to_owned())
}

/// Reads a host and port.
fn endpoint(text: &str) -> Result<String, String> {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    match port.map(|(_, port)| port.parse::<u16>()) {
        Some(Ok(_)) => Ok(text.to_owned()),
        _ => Err("it must be a host and a port, such as db.example.com:8000".into()),
    }
}
