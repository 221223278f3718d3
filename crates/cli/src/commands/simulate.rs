//! `keyloom simulate`: what becomes of a design under many times its load.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_observe::Report;
use keyloom_simulate::{Capacity, Lanes, Options, Profile, Retries, Workload, forecast, render};

use crate::design_file::{check_file, design_of, prices};
use crate::output::{Failure, Output, complain};

/// Simulate a design under many times its load: where it breaks, and what it costs.
///
/// The rates, counts and key values that the design declares become load on the partitions that AWS would have: 3,000
/// reads and 1,000 writes per second and 10 GB each, with bursts, splits for heat and size, on-demand tables that are ready
/// for twice their previous peak, auto scaling of provisioned ones, writes that a hot index key blocks, and retries.
///
/// Exit codes: 0 simulated; 1 the file is not a usable design, or a pattern fails at a multiple that --deny names.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom simulate tasks.toml
  keyloom simulate tasks.toml --scale 1,10,100 --profile daily --html forecast.html
  keyloom simulate tasks.toml --profile launch=5 --deny 10
  keyloom simulate tasks.toml --from monday.json --format markdown")]
pub(crate) struct Simulate {
    /// The design file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Multiples of the declared load.
    #[arg(long, value_delimiter = ',', default_values_t = [1.0, 10.0, 100.0, 1000.0], value_name = "N,…")]
    scale: Vec<f64>,
    /// The course of the load: constant, daily (daily=0.2: the lowest load as a share), spike (spike=5,10: five times for
    /// ten minutes) or launch (launch=10: a new table, all the load within ten minutes).
    #[arg(long, default_value = "constant", value_parser = profile, value_name = "PROFILE")]
    profile: Profile,
    /// How long to simulate each multiple of --scale, in minutes; as long as the profile needs by default. Where patterns first
    /// fail is always told by the profile's own length.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MOST_MINUTES), value_name = "N")]
    minutes: Option<u32>,
    /// How capacity is bought, instead of as the design says.
    #[arg(long, value_enum)]
    capacity: Option<Bought>,
    /// Growth of items and load per month of simulated time, such as 0.1 or 10% for a tenth; see --minutes.
    #[arg(long, default_value = "0", value_parser = monthly, value_name = "SHARE")]
    growth: f64,
    /// Look so many months ahead: entities have grown by then in number (`growth`) and size (`size_growth`), expired items
    /// (`lives`) are gone, and the load has grown by --growth.
    #[arg(long, default_value_t = 0.0, value_name = "N")]
    months: f64,
    /// Requests that clients make in all before they give up.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20), value_name = "N")]
    attempts: u32,
    /// Key values follow Zipf's law with this exponent where the design does not say how they share the load.
    #[arg(long, value_name = "EXPONENT")]
    zipf: Option<f64>,
    /// The first and the longest wait before a retry, in milliseconds: it doubles with each, and clients draw it evenly from
    /// nothing on.
    #[arg(long, value_parser = pair, default_value = "1000,20000", value_name = "MS,MS")]
    backoff: (f64, f64),
    /// What each table and global index takes at most, in reads and writes per second: the maximum throughput of those on
    /// demand, the maximum of auto scaling for provisioned ones.
    #[arg(long, value_parser = pair, conflicts_with = "quota", value_name = "READS,WRITES")]
    max: Option<(f64, f64)>,
    /// Apply AWS's default quota as the maximum: 40,000 reads and writes per second.
    #[arg(long)]
    quota: bool,
    /// Warm throughput of each table and global index, in reads and writes per second: what they are ready for at the start.
    #[arg(long, value_parser = pair, default_value = "0,0", hide_default_value = true, value_name = "READS,WRITES")]
    warm: (f64, f64),
    /// Recorded statistics (`doctor --save`) whose rates and hot keys replace the declared ones.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Also write one page with plots to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write the plots as SVG files to this directory.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Exit with 1 if a pattern fails at this multiple of the load or below.
    #[arg(long, value_name = "N")]
    deny: Option<f64>,
    /// Where keys lie is drawn from this seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Price list to use instead of the built-in one (us-east-1).
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Text for a terminal.
    Human,
    /// JSON.
    Json,
    /// Markdown.
    Markdown,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Bought {
    /// By request.
    OnDemand,
    /// By the hour, with auto scaling at 70 %.
    Provisioned,
}

/// Reads two numbers, such as `12000,4000`.
fn pair(text: &str) -> Result<(f64, f64), String> {
    let (first, second) = text.split_once(',').ok_or("expected two numbers, such as 12000,4000")?;
    let number = |text: &str| {
        let number: Option<f64> = text.trim().parse().ok();
        number
            .filter(|it| (0.0..=1e12).contains(it))
            .ok_or_else(|| format!("`{text}` is not a number from 0 to 1e12"))
    };
    Ok((number(first)?, number(second)?))
}

/// Reads a profile.
pub(crate) fn profile(text: &str) -> Result<Profile, String> {
    let (name, values) = text.split_once('=').unwrap_or((text, ""));
    let numbers: Result<Vec<f64>, _> =
        values.split(',').filter(|it| !it.is_empty()).map(str::parse).collect();
    let numbers = numbers.map_err(|_| format!("`{values}` is not a list of numbers"))?;
    let number = |at: usize, default: f64| numbers.get(at).copied().unwrap_or(default);
    let most = match name {
        "constant" => 0,
        "daily" | "launch" => 1,
        "spike" => 2,
        _ => return Err("expected constant, daily, spike or launch".to_owned()),
    };
    if numbers.len() > most {
        return Err(format!("{name} takes {most} numbers at most"));
    }
    if numbers.iter().any(|it| !it.is_finite() || *it < 0.0) {
        return Err("numbers must not be negative".to_owned());
    }
    let minutes = match name {
        "spike" => number(1, 10.0),
        "launch" => number(0, 10.0),
        _ => 0.0,
    };
    if minutes > MOST_MINUTES as f64 {
        return Err(format!("{name} lasts {MOST_MINUTES} minutes at most, a year"));
    }
    match name {
        "spike" if number(0, 5.0) == 0.0 || minutes == 0.0 => {
            Err("a spike takes some load for some minutes, as in spike=5,10".to_owned())
        }
        "spike" if number(0, 5.0) > GREATEST => {
            Err(format!("a spike is {GREATEST} times the load at most"))
        }
        "daily" if number(0, 0.2) > 1.0 => Err("the lowest load is a share: 0 to 1".to_owned()),
        "daily" => Ok(Profile::Daily { trough: number(0, 0.2) }),
        "spike" => Ok(Profile::Spike { times: number(0, 5.0), minutes: number(1, 10.0) }),
        "launch" => Ok(Profile::Launch { minutes: number(0, 10.0) }),
        _ => Ok(Profile::Constant),
    }
}

/// A share per month, as a number or in percent.
fn monthly(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches("/month");
    let (number, unit) = match number.strip_suffix('%') {
        Some(percent) => (percent, 100.0),
        None => (number, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(number) => Ok(number / unit),
        Err(_) => Err("expected a share per month, such as 0.1 or 10%".to_owned()),
    }
}

impl Simulate {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let options = self.options()?;
        let prices = prices(self.prices.as_deref())?;
        let report = check_file(&self.file, &prices)?;
        design_of(&report)?;
        let recorded =
            self.from.as_deref().map(crate::commands::doctor::source::read).transpose()?;
        let observed = |workload: &mut Workload| {
            if let Some(recorded) = &recorded {
                take_over(recorded, workload);
            }
        };
        let forecast = forecast(&report, observed, &options, &prices);
        match self.format {
            Format::Human => output.prose(render::human(&forecast).trim_end())?,
            Format::Json => output.line(format_args!("{:#}", render::json(&forecast)))?,
            Format::Markdown => output.line(render::markdown(&forecast).trim_end())?,
        }
        if let Some(path) = &self.html {
            write(path, &render::html(&forecast, &prices))?;
        }
        if let Some(directory) = &self.svg {
            std::fs::create_dir_all(directory)
                .map_err(|error| Failure::refused(format!("{}: {error}", directory.display())))?;
            for (name, picture) in render::pictures(&forecast, &prices) {
                write(&directory.join(name), &picture)?;
            }
        }
        output.flush()?;
        let broken = forecast.first_break().and_then(|first| Some((first, first.multiple?)));
        if let (Some(denied), Some((first, multiple))) = (self.deny, broken)
            && multiple <= denied
        {
            let text = format!(
                "`{}` fails at {multiple:.1} times the load, which --deny {denied} forbids",
                first.flow
            );
            complain(&Failure::refused(text));
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn options(&self) -> Result<Options, Failure> {
        let wrong = |it: &&f64| !it.is_finite() || **it <= 0.0 || **it > GREATEST;
        if let Some(scale) = self.scale.iter().find(wrong) {
            return Err(Failure::refused(format!(
                "--scale {scale:?}: a multiple is greater than zero and at most {GREATEST:e}"
            )));
        }
        if let Some(zipf) = self.zipf.iter().find(|it| !(0.0..=5.0).contains(*it)) {
            return Err(Failure::refused(format!(
                "--zipf {zipf}: an exponent lies between 0 and 5"
            )));
        }
        let is_possible = self.growth > -1.0 && self.growth <= 100.0;
        if !is_possible {
            return Err(Failure::refused(format!(
                "--growth {}: a share per month greater than -1, such as 0.1 for a tenth, at most 100",
                self.growth
            )));
        }
        if !(0.0..=120.0).contains(&self.months) {
            return Err(Failure::refused(format!(
                "--months {}: 0 to 120 months ahead",
                self.months
            )));
        }
        if self.deny.is_some_and(|it| !it.is_finite() || it <= 0.0) {
            return Err(Failure::refused("--deny: a multiple is greater than zero"));
        }
        let most = self.max.or(self.quota.then_some((QUOTA, QUOTA)));
        if most.is_some_and(|(reads, writes)| reads < 1.0 || writes < 1.0) {
            return Err(Failure::refused("--max: at least one read and one write per second"));
        }
        Ok(Options {
            scales: self.scale.clone(),
            profile: self.profile,
            minutes: self.minutes,
            capacity: match self.capacity {
                None => Capacity::AsDesigned,
                Some(Bought::OnDemand) => Capacity::OnDemand,
                Some(Bought::Provisioned) => {
                    Capacity::Provisioned { target: keyloom_simulate::run::TARGET }
                }
            },
            growth: self.growth,
            months: self.months,
            retries: Retries {
                attempts: self.attempts,
                base_ms: self.backoff.0,
                cap_ms: self.backoff.1,
            },
            zipf: self.zipf,
            most: Lanes { read: most.map(|it| it.0), write: most.map(|it| it.1) },
            warm: Lanes { read: self.warm.0, write: self.warm.1 },
            seed: self.seed,
            ..Options::default()
        })
    }
}

/// The greatest multiple of a load.
pub(crate) const GREATEST: f64 = 1e9;
/// The longest course, in minutes: a year.
const MOST_MINUTES: i64 = 366 * 24 * 60;
/// What an on-demand table may take until AWS is asked for more.
const QUOTA: f64 = 40_000.0;

fn write(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::refused(format!("{} cannot be written: {error}", path.display())))
}

/// Takes recorded rates over, and the share of the busiest key of each table and index.
pub(crate) fn take_over(recorded: &Report, workload: &mut Workload) {
    let seconds = recorded.seconds();
    for flow in &mut workload.flows {
        let own =
            recorded.patterns().filter(|(_, pattern)| pattern.name.as_deref() == Some(&flow.name));
        let requests: u64 = own.map(|(_, pattern)| pattern.requests).sum();
        if requests > 0 {
            let rate = requests as f64 / seconds;
            (flow.average, flow.peak) = (rate, rate.max(flow.peak * rate / flow.average.max(1e-9)));
        }
    }
    for position in 0..workload.places.len() {
        take_keys(recorded, workload, position);
    }
}

/// Takes the busiest keys of a table or index over, each for the template that it is made by.
fn take_keys(recorded: &Report, workload: &mut Workload, position: usize) {
    let weights = weights(workload, position);
    let Some(place) = workload.places.get_mut(position) else { return };
    let Some(seen) = recorded.place(&place.table, place.index.as_deref()) else { return };
    let whole: f64 = weights.iter().sum();
    let prefixes: Vec<String> = place.spreads.iter().map(|it| literal(&it.label)).collect();
    let owner = |key: &str| {
        let fitting = prefixes.iter().enumerate().filter(|(_, prefix)| key.starts_with(*prefix));
        fitting.max_by_key(|(_, prefix)| prefix.len()).map(|(at, _)| at)
    };
    for (at, spread) in place.spreads.iter_mut().enumerate() {
        let is_only = prefixes.len() == 1;
        let weight = weights.get(at).copied().unwrap_or(0.0) / whole.max(1e-300);
        let own = seen.keys.iter().filter(|it| is_only || owner(&it.key) == Some(at));
        let own: Vec<(String, f64)> =
            own.map(|it| (it.key.clone(), (it.share / weight.max(1e-9)).min(1.0))).collect();
        if own.is_empty() || weight <= 0.0 {
            continue;
        }
        // Of several templates, it is not known whose the keys that are not listed are.
        let values = if is_only || spread.others.is_infinite() {
            seen.distinct_keys.max(1.0)
        } else {
            spread.hot.len() as f64 + spread.others
        };
        *spread = spread.observed(own, values);
    }
}

/// What each spread of a place takes of its partitions: a write unit counts as three read units, as in recordings.
fn weights(workload: &Workload, position: usize) -> Vec<f64> {
    let spreads = workload.places.get(position).map_or(0, |place| place.spreads.len());
    let mut weights = vec![0.0; spreads];
    for flow in &workload.flows {
        let times = if flow.is_write { 3.0 } else { 1.0 };
        for touch in flow.touches.iter().filter(|touch| touch.place == position) {
            if let Some(sum) = weights.get_mut(touch.spread) {
                *sum += flow.average * touch.units * times;
            }
        }
    }
    weights
}

/// What keys of a template begin with.
fn literal(label: &str) -> String {
    label.split('{').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use keyloom_design::check_text;
    use keyloom_design::cost::Prices;
    use keyloom_observe::report::{Key, PlaceReport};

    use super::*;

    const SHOP: &str = r#"
[table.shop]
partition_key = "PK"
sort_key      = "SK"
[entity.Order]
PK = "CUSTOMER#{customer}"
SK = "ORDER#{order}"
count = 1_000_000
size  = "1 KB"
[entity.Order.fields]
customer = { type = "token", distinct = 1_000 }
order    = "ulid"
[entity.Product]
PK = "PRODUCT#{product}"
SK = "PRODUCT"
count = 500
size  = "4 KB"
[entity.Product.fields]
product = "token"
[access."product"]
find  = "Product"
where = "product = ?"
rate  = "300/s"
[write."place"]
entity = "Order"
rate   = "100/s"
"#;

    fn seen(keys: &[(&str, f64)]) -> Report {
        let keys = keys.iter().map(|(key, share)| Key {
            key: (*key).to_owned(),
            share: *share,
            ..Key::default()
        });
        let place = PlaceReport {
            table: "shop".to_owned(),
            keys: keys.collect(),
            distinct_keys: 900.0,
            ..PlaceReport::default()
        };
        Report { places: vec![place], ..Report::default() }
    }

    #[test]
    fn recorded_keys_go_to_the_templates_that_made_them() {
        let mut workload = Workload::of(&check_text("shop.toml", SHOP, &Prices::default()), None);
        // Of 300 reads of half a unit and 100 writes that count as three, products have a third of the load.
        let recorded =
            seen(&[("CUSTOMER#9", 0.25), ("PRODUCT#a", 0.1), ("PRODUCT#b", 0.2), ("OTHER#1", 0.3)]);
        take_over(&recorded, &mut workload);
        let place = workload.places.first().unwrap();
        let spread = |label: &str| place.spreads.iter().find(|it| it.label.starts_with(label));
        let (orders, products) = (spread("CUSTOMER").unwrap(), spread("PRODUCT").unwrap());
        assert_eq!(
            (&*orders.names, &*products.names),
            (&["CUSTOMER#9".to_owned()][..], &["PRODUCT#b".to_owned(), "PRODUCT#a".to_owned()][..])
        );
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.02);
        assert!(close(&orders.hot, &[0.375]) && close(&products.hot, &[0.6, 0.3]), "{products:?}");
        assert!((orders.others - 999.0).abs() < 1.0, "{orders:?}");
    }

    #[test]
    fn a_limit_names_the_key_that_was_recorded() {
        let report = check_text("shop.toml", SHOP, &Prices::default());
        let recorded = seen(&[("PRODUCT#b", 0.4)]);
        let options = Options { scales: vec![1.0], ..Options::default() };
        let observed = |workload: &mut Workload| take_over(&recorded, workload);
        let shown = render::human(&forecast(&report, observed, &options, &Prices::default()));
        assert!(shown.contains("PRODUCT#b of shop reaches 3,000 reads/s"), "{shown}");
    }
}
