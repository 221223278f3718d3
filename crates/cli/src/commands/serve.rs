//! `keyloom serve`: a DynamoDB endpoint.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use keyloom::remote::{Endpoint, S3Buckets};
use keyloom_core::limits::{DEFAULT_TABLES, MAX_TABLES};
use keyloom_core::observation::Observer;
use keyloom_engine::buckets::{Buckets, Folder};
use keyloom_engine::{Database, DiskOptions, Durability, Options, Peers};
use keyloom_observe::{Monitor, Redaction, Sampling, StatsCollector, StatsOptions, Throttle};
use keyloom_server::{
    Config, ConsoleOptions, Cors, Credentials, Dispatch, Health, Limits, NotAnOrigin, Server,
    TlsFiles,
};

use crate::config::Config as ProjectConfig;
use crate::console::{DesignConsole, DesignFile, Observed};
use crate::design_file::design_of;
use crate::identities;
use crate::observed::ObservedDatabase;
use crate::output::{self, Failure, Output};
use crate::replicas::{self, RemotePeers, Replica};
#[cfg(feature = "postgres")]
use crate::store_url::StoreUrl;

/// Serve a DynamoDB endpoint, and the console in the browser at /keyloom/.
///
/// Point any AWS SDK, the AWS CLI or any DynamoDB tool at it. Data is stored in ./keyloom-data by
/// default, and a write is durable when it is acknowledged.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom serve
  keyloom serve --memory --port 8001
  keyloom serve --design shop.toml --console read-only
  keyloom serve --store postgres://keyloom@db.internal/keyloom?sslmode=verify-full
  keyloom serve --identities tenants.toml
  keyloom serve --s3-endpoint https://s3.eu-west-1.amazonaws.com
  keyloom serve --region us-east-1 --replica eu-west-1=http://10.0.0.2:8000
  keyloom serve --throttle enforce:burst=0
  keyloom serve --throttle inject=table=Orders:write:every=10
  aws dynamodb list-tables --endpoint-url http://localhost:8000")]
pub(crate) struct Serve {
    /// Data directory.
    #[arg(long, value_name = "DIR", default_value = "keyloom-data", conflicts_with = "memory")]
    data: PathBuf,
    /// Keep data in memory only; it is lost when the server stops.
    #[arg(long)]
    memory: bool,
    /// Keep data in a PostgreSQL that any number of servers share: postgres://user@host:5432/database.
    ///
    /// Do not write a password here, since other users can see arguments: set KEYLOOM_STORE to the whole URL, or
    /// PGPASSWORD, PGPASSFILE or PGSERVICE as for other clients of PostgreSQL. The URL also takes sslmode,
    /// sslrootcert, service, passfile and keyloom_schema (default: keyloom).
    #[cfg(feature = "postgres")]
    #[arg(long, value_name = "URL", env = "KEYLOOM_STORE", hide_env_values = true)]
    #[arg(conflicts_with_all = ["memory", "data", "relaxed", "cache", "replica"])]
    store: Option<StoreUrl>,
    /// Acknowledge writes before they are synced to disk; a power failure may lose the last second.
    #[arg(long, conflicts_with = "memory")]
    relaxed: bool,
    /// The address to listen on. Anything but a loopback address requires credentials.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: IpAddr,
    /// The port to listen on; 0 picks a free one.
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// AWS region that is served: ARNs name it. With --replica, requests that are signed for another region are
    /// refused.
    #[arg(long, default_value = "us-east-1")]
    region: String,
    /// The server of another region, to which global tables are replicated; may be repeated.
    ///
    /// UpdateTable's ReplicaUpdates then create and remove replicas there. Each server must name all others. They are
    /// called with --access-key, which must be the same everywhere, and all clocks must be right within 15 minutes.
    #[arg(long, value_name = "REGION=URL", value_parser = replicas::replica)]
    replica: Vec<Replica>,
    /// Access key to accept. Turns on signature verification.
    #[arg(long, requires = "secret_key", env = "KEYLOOM_ACCESS_KEY")]
    access_key: Option<String>,
    /// Secret of the access key. Prefer the environment variable: other users can see arguments.
    #[arg(long, requires = "access_key", env = "KEYLOOM_SECRET_KEY", hide_env_values = true)]
    secret_key: Option<String>,
    /// Users and roles with access keys, tags and IAM policies (TOML or JSON). Their requests are judged by
    /// these policies and by the resource policies of tables and streams.
    ///
    /// Each [[identity]] has access_key, secret_key, name (or arn), tags and policies: a list of files or
    /// policy documents. The key of --access-key belongs to the root user, which no policy limits.
    #[arg(long, value_name = "FILE")]
    identities: Option<PathBuf>,
    /// TLS certificate chain (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// TLS private key (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Design file that the console shows, and whose access patterns requests are attributed to; may be repeated.
    #[arg(long, value_name = "FILE")]
    design: Vec<PathBuf>,
    /// The console in the browser, at /keyloom/: on, read-only, or off.
    ///
    /// read-only: writes from the console's pages are refused, also those to design files. That guards against mistakes
    /// on the page; programs write as before. To restrict users, give them policies with --identities.
    #[arg(long, value_enum, default_value_t = ServedConsole::On)]
    console: ServedConsole,
    /// Statistics for `keyloom doctor`, /metrics and Contributor Insights.
    #[arg(long, value_enum, default_value_t = Stats::On)]
    stats: Stats,
    /// How statistics show key values: in full (none), hashed, or cut to a prefix.
    ///
    /// Hashed and truncated keys still contain a hash, so anyone who can guess a key can confirm the guess.
    #[arg(long, value_name = "none|hash|prefix", default_value = "none")]
    redact: Redaction,
    /// How requests are throttled.
    ///
    /// off: not at all. observe: not at all, but count what AWS would have throttled. enforce: as AWS
    /// does, with partitions of 3,000 read and 1,000 write units per second and the table's own limits;
    /// bursts use up to five minutes of unused capacity, or enforce:burst=SECONDS.
    /// inject=RULES: throttle chosen requests, to test a program's retries. Rules are separated by commas,
    /// the parts of a rule by colons: read or write, table=NAME, index=NAME,
    /// reason=key-range|provisioned|max-on-demand|account, and how many: a probability such as 0.1,
    /// every=N or first=N. seed=N seeds the random choice.
    #[arg(long, value_name = "off|observe|enforce|inject=…", default_value = "observe")]
    throttle: Throttle,
    /// Maximum number of tables. AWS starts with 2500 per account and region, and grants up to 10000 on request.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_TABLES as u32)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_TABLES as i64))]
    max_tables: u32,
    /// Directory whose subdirectories serve as S3 buckets for exports, imports and bulk operations.
    #[arg(long, value_name = "DIR")]
    bucket_root: Option<PathBuf>,
    /// S3 endpoint whose buckets serve exports, imports and bulk operations: https://s3.eu-west-1.amazonaws.com,
    /// http://localhost:9000.
    ///
    /// Credentials and region come from the usual places: the environment (AWS_ACCESS_KEY_ID, AWS_REGION, …), the
    /// profile of AWS_PROFILE in ~/.aws, the container, the instance. Buckets are named in the path.
    #[arg(long, value_name = "URL", conflicts_with = "bucket_root")]
    s3_endpoint: Option<String>,
    /// Host and port under which clients reach the server, if they differ from the listening address; may
    /// be repeated. DescribeEndpoints returns the first.
    ///
    /// On a loopback address without credentials, the Host header must name one of these or a loopback
    /// name or address; anything else is refused as a possible DNS rebinding attack.
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint)]
    advertise: Vec<String>,
    /// Allowed CORS origins besides loopback ones (localhost, 127.0.0.0/8 and ::1 on any port):
    /// https://app.example.com, null for local files, * for all.
    ///
    /// Without credentials, requests from other origins are refused. With credentials they need a
    /// signature like all others, and browsers withhold the responses.
    #[arg(long, value_name = "ORIGIN", num_args = 1.., value_delimiter = ',')]
    #[arg(value_parser = origin)]
    cors: Vec<String>,
    /// Separate address for /metrics and /health, without credentials or TLS. With credentials, /metrics
    /// requires a signature on the main address.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics_listen: Option<SocketAddr>,
    /// Block cache for data read from disk, in MiB. [default: an eighth of the machine's memory, at least
    /// 64 and at most 2048]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(conflicts_with = "memory")]
    cache: Option<u32>,
    /// Memory budget for clients, in MiB: connections, request bodies, their decoded form, and responses
    /// that wait to be sent. Beyond it, requests get a 503 and idle connections are closed. [default: a quarter of the memory of
    /// the machine or container, at least 64]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(64..))]
    memory_limit: Option<u32>,
    /// Maximum number of open connections. Beyond it, idle connections are closed for new ones.
    #[arg(long, value_name = "N", default_value_t = Limits::default().max_connections)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,
    /// Maximum number of open connections per client: an IPv4 address or an IPv6 /64 network.
    #[arg(long, value_name = "N", default_value_t = Limits::default().max_connections_per_client)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    max_connections_per_client: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stats {
    /// Collect statistics; of requests beyond about 500 per second and thread, a sample. Costs less than 3 % CPU.
    On,
    /// Collect statistics of every request, for a complete recording. Costs some microseconds each.
    All,
    /// Collect nothing.
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ServedConsole {
    /// Serve it.
    On,
    /// Serve it, and refuse its writes.
    ReadOnly,
    /// Do not serve it.
    Off,
}

impl Serve {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let config = self.config()?;
        // Before anything is made on disk.
        config.check().map_err(Failure::refused)?;
        if let Some(root) = self.bucket_root.as_ref().filter(|root| !root.is_dir()) {
            let root = root.display();
            return Err(Failure::refused(format_args!("--bucket-root: {root} is not a directory")));
        }
        let readable = self.is_on_disk().then(|| readable_by_others(&self.data)).flatten();
        for warning in config.warnings().into_iter().chain(readable) {
            output::warn(&warning);
        }
        let project = ProjectConfig::find()?;
        let designs = DesignFile::of(&self.design)?;
        let statistics = self.statistics(&designs, &project)?;
        let monitor = Arc::new(self.monitor(statistics.as_ref()));
        let database = self.database(&monitor, output)?;
        let place = self.place();
        let mut observed =
            ObservedDatabase { database: database.clone(), statistics, monitor, console: None };
        if self.console != ServedConsole::Off {
            observed.console = Some(Arc::new(self.console(&observed, designs, project)));
        }
        let server = Server::bind(config, observed).map_err(Failure::refused)?;
        database.advertise(self.advertised(server.local_addr()));
        drop(database);
        output.line(format_args!("keyloom listening on {} ({place})", server.url()))?;
        if let Some(address) = server.metrics_addr() {
            output.line(format_args!("metrics on http://{address}/metrics"))?;
        }
        if self.console != ServedConsole::Off {
            output.line(format_args!("console on {}/keyloom/", server.url()))?;
        }
        output.flush()?;
        match server.run_until_terminated().map_err(Failure::refused)? {
            Health::Ready => Ok(ExitCode::SUCCESS),
            // A distinct exit code, so that a supervisor does not take this for a normal stop.
            Health::ReadOnly { reason, .. } => Err(Failure::refused(format_args!(
                "the store refused writes when the server ended: {reason}"
            ))),
        }
    }

    #[cfg(feature = "postgres")]
    fn shared_store(&self) -> Option<&StoreUrl> {
        self.store.as_ref()
    }

    #[cfg(not(feature = "postgres"))]
    fn shared_store(&self) -> Option<&std::convert::Infallible> {
        None
    }

    fn is_on_disk(&self) -> bool {
        !self.memory && self.shared_store().is_none()
    }

    /// Where the data is, for people.
    fn place(&self) -> String {
        #[cfg(feature = "postgres")]
        if let Some(store) = &self.store {
            return format!("data in {}", store.place());
        }
        if self.memory {
            return "in memory".to_owned();
        }
        format!("data in {}", self.data.display())
    }

    /// Which thread runs which call.
    fn dispatch(&self) -> Dispatch {
        if self.shared_store().is_some() {
            Dispatch::remote_store()
        } else if self.memory {
            Dispatch::memory()
        } else {
            Dispatch::disk()
        }
    }

    /// The collector of statistics, with the designs that requests are attributed by.
    fn statistics(
        &self,
        files: &[DesignFile],
        project: &ProjectConfig,
    ) -> Result<Option<Arc<StatsCollector>>, Failure> {
        if self.stats == Stats::Off {
            return Ok(None);
        }
        let sampling = if self.stats == Stats::All { Sampling::All } else { Sampling::Adaptive };
        let options = StatsOptions { redaction: self.redact, sampling, ..StatsOptions::default() };
        let statistics = StatsCollector::new(options);
        let mut designs = Vec::new();
        for file in files {
            designs.push(design_of(&*file.report(project)?)?.clone());
        }
        if !designs.is_empty() {
            statistics.load_designs(&designs);
        }
        Ok(Some(Arc::new(statistics)))
    }

    /// What the console's pages ask.
    fn console(
        &self,
        observed: &ObservedDatabase,
        designs: Vec<DesignFile>,
        config: ProjectConfig,
    ) -> DesignConsole {
        let throttle = match &self.throttle {
            Throttle::Off => "off",
            Throttle::Observe => "observe",
            Throttle::Enforce { .. } => "enforce",
            Throttle::Inject(_) => "inject",
        };
        DesignConsole {
            backend: (&observed.database).into(),
            designs,
            observed: Observed::Here(observed.clone()),
            endpoint: self.place(),
            throttle: Some(throttle.to_owned()),
            is_read_only: self.console == ServedConsole::ReadOnly,
            config,
        }
    }

    /// The observer of the database, which may throttle.
    fn monitor(&self, statistics: Option<&Arc<StatsCollector>>) -> Monitor {
        match (statistics, &self.throttle) {
            (Some(statistics), throttle) => {
                Monitor::new(throttle.clone()).with(Arc::clone(statistics) as Arc<dyn Observer>)
            }
            // Observing only counts, and nothing is to be counted.
            (None, Throttle::Observe) => Monitor::new(Throttle::Off),
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
            peers: self.peers()?,
            buckets: self.buckets()?,
            observer: Some(Arc::clone(monitor) as Arc<dyn Observer>),
            max_tables: self.max_tables as usize,
            ..Options::default()
        };
        if self.memory {
            return Ok(Database::memory_with(options));
        }
        #[cfg(feature = "postgres")]
        if let Some(store) = &self.store {
            return Database::connect_with(store.secret("--store", "KEYLOOM_STORE")?, options)
                .map_err(|error| {
                    let (place, reason) = (store.place(), error.message());
                    Failure::refused(format_args!("the data in {place} cannot be opened: {reason}"))
                });
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

    /// The buckets of exports and imports.
    fn buckets(&self) -> Result<Option<Arc<dyn Buckets>>, Failure> {
        if let Some(root) = &self.bucket_root {
            return Ok(Some(Arc::new(Folder::new(root))));
        }
        let Some(url) = &self.s3_endpoint else { return Ok(None) };
        let buckets = S3Buckets::new(Endpoint::url(url.as_str()));
        let buckets =
            buckets.map_err(|error| Failure::refused(format_args!("--s3-endpoint: {error}")))?;
        Ok(Some(Arc::new(buckets)))
    }

    /// The servers of other regions, if there are any.
    fn peers(&self) -> Result<Option<Arc<dyn Peers>>, Failure> {
        if self.replica.is_empty() {
            return Ok(None);
        }
        let keys = self.access_key.as_deref().zip(self.secret_key.as_deref());
        Ok(Some(Arc::new(RemotePeers::new(&self.region, &self.replica, keys)?)))
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
            is_one_of_several_regions: !self.replica.is_empty(),
            console: ConsoleOptions {
                is_off: self.console == ServedConsole::Off,
                is_read_only: self.console == ServedConsole::ReadOnly,
                token: None,
            },
            dispatch: self.dispatch(),
            limits,
            #[cfg(unix)]
            purge: crate::allocator::purge,
            #[cfg(unix)]
            settled: crate::allocator::start_background_thread,
            ..Config::default()
        })
    }
}

/// A warning if other users may list or read an existing data directory. New ones are private.
fn readable_by_others(data: &Path) -> Option<String> {
    #[cfg(unix)]
    {
        let found = std::fs::metadata(data).ok()?;
        let mode = std::os::unix::fs::MetadataExt::mode(&found) & 0o777;
        let data = data.display();
        (mode & 0o077 != 0).then(|| {
            format!("other users have access to {data} (mode {mode:o}); run 'chmod 700 {data}'")
        })
    }
    #[cfg(not(unix))]
    {
        let _ = data;
        None
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
