//! Keyloom servers on PostgreSQL against `pgbench` on the same PostgreSQL, in one run.
//!
//! Rounds are interleaved, so that other work on the machine meets both. Absolute figures are those of
//! the machine; the ratios are what is compared with the targets.

#[path = "../../crates/testkit/src/postgres.rs"]
#[expect(dead_code, unreachable_pub, reason = "a module of the test kit")]
mod server;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use self::server::Postgres;
use crate::contender::Contender;
use crate::http::Client;
use crate::load::{self, Question};
use crate::process::{Server, free_address};
use crate::trips::{self, Counting};
use crate::workload::{Operation, Record, TABLE, Workload};

/// Items of 1 KB, and rows of pgbench's table.
const ITEMS: usize = 8192;

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The keyloom command.
    #[arg(long, value_name = "FILE", default_value = "target/release/keyloom")]
    keyloom: PathBuf,
    /// How often every case is measured.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// How long each time.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Only cases whose name contains this; what they are compared with is measured, too.
    #[arg(long, value_name = "WORDS", default_value = "")]
    only: String,
}

/// What pgbench does, and with how many clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Plain {
    Select,
    ReadModifyWrite,
    Update,
    Range,
    Page,
}

impl Plain {
    fn clients(self) -> usize {
        match self {
            Self::Select | Self::Range | Self::Page => 16,
            Self::ReadModifyWrite => 64,
            Self::Update => 1,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Select => "SELECT by key, 16",
            Self::ReadModifyWrite => "SERIALIZABLE read-modify-write, 64",
            Self::Update => "UPDATE, 1: a round trip with its sync",
            Self::Range => "SELECT of a range of 100 × 200 B, 16",
            Self::Page => "SELECT of a range of 1 MB, 16",
        }
    }

    fn script(self) -> String {
        let id = format!("\\set id random(0, {})\n", ITEMS - 1);
        let value = "decode(repeat('08', 1000), 'hex')";
        match self {
            Self::Select => format!("{id}SELECT v FROM plain WHERE id = :id;\n"),
            Self::ReadModifyWrite => format!(
                "{id}BEGIN ISOLATION LEVEL SERIALIZABLE;\n\
                 SELECT v FROM plain WHERE id = :id FOR UPDATE;\n\
                 UPDATE plain SET v = {value} WHERE id = :id;\nCOMMIT;\n"
            ),
            Self::Update => format!("{id}UPDATE plain SET v = {value} WHERE id = :id;\n"),
            Self::Range => {
                "\\set p random(0, 15)\nSELECT v FROM ranges WHERE p = :p ORDER BY s;\n".into()
            }
            Self::Page => "SELECT v FROM ranges WHERE p = 16 ORDER BY s LIMIT 1024;\n".into(),
        }
    }
}

const PLAIN: [Plain; 5] =
    [Plain::Select, Plain::ReadModifyWrite, Plain::Update, Plain::Range, Plain::Page];

/// How a case is judged.
#[derive(Debug, Clone, Copy)]
enum Target {
    /// At least so many times pgbench's rate.
    Rate(f64),
    /// A rate, and milliseconds that 99 % of the answers stay below.
    Hot(f64, f64),
    /// A median of at most so many times pgbench's average latency.
    Median(f64),
}

/// A case over HTTP.
struct Case {
    name: &'static str,
    connections: usize,
    servers: usize,
    plain: Plain,
    target: Target,
    questions: Vec<Question>,
}

/// What was measured in one round.
#[derive(Debug, Clone, Copy)]
struct Figures {
    rate: f64,
    median_ms: f64,
    p99_ms: f64,
    /// Processor time per operation, in microseconds: of the servers, of PostgreSQL, of the client.
    cpu: [f64; 3],
}

/// What pgbench measured in one round.
#[derive(Debug, Clone, Copy)]
struct PlainFigures {
    rate: f64,
    average_ms: f64,
    /// PostgreSQL's processor time per transaction, in microseconds.
    cpu: f64,
}

fn cases(workload: &Workload, only: &str) -> Vec<Case> {
    let all = |operation: Operation| -> Vec<Question> {
        let calls = workload.calls(operation);
        calls.iter().map(|call| Question::new(operation.target(), &call.body())).collect()
    };
    let puts = || workload.items.iter().map(put_if_exists).collect::<Vec<_>>();
    let hot = || {
        let first = workload.items.first();
        std::iter::repeat_n(first, 64).flatten().map(put_if_exists).collect::<Vec<_>>()
    };
    let case = |name, (connections, servers), plain, target, questions| Case {
        name,
        connections,
        servers,
        plain,
        target,
        questions,
    };
    let modify = Plain::ReadModifyWrite;
    let cases = vec![
        case("GetItem", (16, 1), Plain::Select, Target::Rate(0.4), all(Operation::Get)),
        case("conditional PutItem", (128, 1), modify, Target::Rate(3.0), puts()),
        case("conditional PutItem", (128, 3), modify, Target::Rate(3.0), puts()),
        case(
            "one hot item, conditional PutItem",
            (64, 3),
            modify,
            Target::Hot(5000.0, 30.0),
            hot(),
        ),
        case(
            "Query of 100 × 200 B",
            (16, 1),
            Plain::Range,
            Target::Rate(0.5),
            all(Operation::Query),
        ),
        case(
            "Query, a page of 1 MB",
            (16, 1),
            Plain::Page,
            Target::Rate(0.5),
            all(Operation::Page),
        ),
        case("latency of conditional PutItem", (16, 1), Plain::Update, Target::Median(2.0), puts()),
    ];
    cases.into_iter().filter(|case| case.name.contains(only)).collect()
}

/// A PutItem of an item that is there.
fn put_if_exists(record: &Record) -> Question {
    let body = format!(
        r#"{{"TableName":"{TABLE}","Item":{},"ConditionExpression":"attribute_exists(pk)"}}"#,
        record.item
    );
    Question::new("PutItem", &body)
}

/// Measures, and prints the table.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Some(postgres) = Postgres::start(true) else {
        bail!("PostgreSQL is not installed; scripts/setup-clients installs it");
    };
    let url = postgres.url("bench");
    let logs = std::env::temp_dir().join(format!("keyloom-bench-{}", std::process::id()));
    std::fs::create_dir_all(&logs)?;
    let servers = (0..3)
        .map(|number| serve(arguments, &url, &logs.join(format!("{number}.log"))))
        .collect::<Result<Vec<_>>>()?;
    let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.address).collect();
    let workload = Workload::new(ITEMS);
    let first = addresses.first().context("there is a server")?;
    workload.prepare(&mut Client::new(*first))?;
    prepare_plain(&postgres);
    let mut cases = cases(&workload, &arguments.only);
    let (mut plain, mut measured) = (BTreeMap::new(), vec![Vec::new(); cases.len()]);
    for round in 0..arguments.rounds {
        eprintln!("round {} of {}, load {}", round + 1, arguments.rounds, load_average());
        for kind in PLAIN.into_iter().filter(|kind| cases.iter().any(|case| case.plain == *kind)) {
            let before = postgres.cpu();
            let figures = postgres.pgbench(&kind.script(), kind.clients(), arguments.seconds);
            let (rate, average_ms) = figures.map_err(anyhow::Error::msg)?;
            let transactions = rate * arguments.seconds as f64;
            let cpu = micros(postgres.cpu().saturating_sub(before)) / transactions;
            let figures = PlainFigures { rate, average_ms, cpu };
            plain.entry(kind).or_insert_with(Vec::new).push(figures);
        }
        for (case, figures) in cases.iter_mut().zip(&mut measured) {
            let to = addresses.get(..case.servers).unwrap_or(&addresses);
            let duration = Duration::from_secs(arguments.seconds);
            let used = || -> Result<[Duration; 2]> {
                let used: Result<Vec<Duration>> = servers.iter().map(Server::cpu).collect();
                Ok([used?.iter().sum(), postgres.cpu()])
            };
            let before = used()?;
            let outcome = load::run(to, case.connections, duration, &mut case.questions)
                .with_context(|| format!("{} over {} connections", case.name, case.connections))?;
            let ms = |share| outcome.quantile(share).as_secs_f64() * 1000.0;
            let [server, database] = used()?;
            let [server_before, database_before] = before;
            let cpu = [
                server.saturating_sub(server_before),
                database.saturating_sub(database_before),
                outcome.own_cpu,
            ];
            figures.push(Figures {
                rate: outcome.rate(),
                median_ms: ms(0.5),
                p99_ms: ms(0.99),
                cpu: cpu.map(|used| micros(used) / outcome.operations.max(1) as f64),
            });
        }
    }
    print(&cases, &plain, &measured)?;
    drop(servers);
    let proxy = Counting::start(postgres.port())?;
    let through = Postgres::url_through(proxy.port, "trips");
    let server = serve(arguments, &through, &logs.join("trips.log"))?;
    let table = trips::table(server.address, &proxy)?;
    std::io::stdout().write_all(format!("\n{table}").as_bytes()).context("print the table")?;
    drop(server);
    std::fs::remove_dir_all(logs).context("remove the logs")
}

fn serve(arguments: &Arguments, url: &str, log: &std::path::Path) -> Result<Server> {
    let address = free_address()?;
    let mut command = Command::new(&arguments.keyloom);
    command.args(["serve", "--store", url, "--port", &address.port().to_string()]);
    Server::start(Contender::Keyloom, command, address, log, ("ListTables", "{}"))
}

fn prepare_plain(postgres: &Postgres) {
    postgres.query("CREATE TABLE plain (id int PRIMARY KEY, v bytea NOT NULL)");
    postgres.query(
        "CREATE TABLE ranges (p int, s int, v bytea NOT NULL, PRIMARY KEY (p, s)); \
         ALTER TABLE ranges ALTER COLUMN v SET STORAGE EXTERNAL",
    );
    postgres.query(&format!(
        "INSERT INTO plain SELECT n, decode(repeat('07', 1000), 'hex') \
           FROM generate_series(0, {}) n; \
         INSERT INTO ranges SELECT p, s, decode(repeat('07', 200), 'hex') \
           FROM generate_series(0, 15) p, generate_series(0, 99) s; \
         INSERT INTO ranges SELECT 16, s, decode(repeat('07', 1024), 'hex') \
           FROM generate_series(0, 1199) s",
        ITEMS - 1
    ));
    postgres.query("VACUUM ANALYZE");
    postgres.query("CHECKPOINT");
}

fn print(
    cases: &[Case],
    plain: &BTreeMap<Plain, Vec<PlainFigures>>,
    measured: &[Vec<Figures>],
) -> Result<()> {
    let mut text = String::from(
        "| pgbench, clients | per second | average ms | µs of PostgreSQL each |\n|---|---|---|---|\n",
    );
    for (kind, figures) in plain {
        let of = |get: fn(&PlainFigures) -> f64| median(&figures.iter().map(get).collect::<Vec<_>>());
        writeln!(
            text,
            "| {} | {:.0} | {:.2} | {:.0} |",
            kind.label(),
            of(|figures| figures.rate),
            of(|figures| figures.average_ms),
            of(|figures| figures.cpu),
        )?;
    }
    text.push_str(
        "\n| Keyloom over HTTP | connections, servers | per second | p50 ms | p99 ms | \
         µs each: servers + PostgreSQL + client | ratio, least to most | target |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (case, figures) in cases.iter().zip(measured) {
        let of = |get: fn(&Figures) -> f64| median(&figures.iter().map(get).collect::<Vec<_>>());
        let plain = plain.get(&case.plain).map(Vec::as_slice).unwrap_or_default();
        let (mut ratios, target): (Vec<f64>, _) = match case.target {
            Target::Rate(target) | Target::Hot(target, _) => {
                let pairs = figures.iter().zip(plain);
                let ratios = pairs.map(|(own, plain)| own.rate / plain.rate).collect();
                let rate = format!("≥ {target} ×");
                let hot = |ms| format!("≥ {target}/s, p99 ≤ {ms} ms");
                let is_hot = if let Target::Hot(_, ms) = case.target { Some(ms) } else { None };
                (ratios, is_hot.map_or(rate, hot))
            }
            Target::Median(target) => {
                let pairs = figures.iter().zip(plain);
                let ratios = pairs.map(|(own, plain)| own.median_ms / plain.average_ms).collect();
                (ratios, format!("p50 ≤ {target} × the round trip"))
            }
        };
        ratios.sort_by(f64::total_cmp);
        let ratios: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
        writeln!(
            text,
            "| {} | {}, {} | {:.0} | {:.2} | {:.2} | {:.0} + {:.0} + {:.0} | {} | {target} |",
            case.name,
            case.connections,
            case.servers,
            of(|figures| figures.rate),
            of(|figures| figures.median_ms),
            of(|figures| figures.p99_ms),
            of(|figures| figures.cpu[0]),
            of(|figures| figures.cpu[1]),
            of(|figures| figures.cpu[2]),
            ratios.join(", "),
        )?;
    }
    std::io::stdout().write_all(text.as_bytes()).context("print the table")
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
