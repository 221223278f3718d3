//! `keyloom simulate`: what becomes of a design under many times its load.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_observe::Report;
use keyloom_simulate::{Capacity, Options, Profile, Retries, Workload, forecast, render};

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
    #[arg(long, value_name = "N")]
    minutes: Option<u32>,
    /// How capacity is bought, instead of as the design says.
    #[arg(long, value_enum)]
    capacity: Option<Bought>,
    /// Growth of items and load per month of simulated time, such as 0.1 for a tenth; see --minutes.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
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
    /// Apply AWS's default quota to on-demand tables: 40,000 reads and writes per second.
    #[arg(long)]
    quota: bool,
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
    match name {
        "daily" if number(0, 0.2) > 1.0 => Err("the lowest load is a share: 0 to 1".to_owned()),
        "daily" => Ok(Profile::Daily { trough: number(0, 0.2) }),
        "spike" => Ok(Profile::Spike { times: number(0, 5.0), minutes: number(1, 10.0) }),
        "launch" => Ok(Profile::Launch { minutes: number(0, 10.0) }),
        _ => Ok(Profile::Constant),
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
        let wrong = |it: &&f64| !it.is_finite() || **it <= 0.0;
        if let Some(scale) = self.scale.iter().find(wrong) {
            return Err(Failure::refused(format!(
                "--scale {scale}: a multiple is greater than zero"
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
            retries: Retries { attempts: self.attempts, ..Retries::default() },
            zipf: self.zipf,
            quota: self.quota.then_some(QUOTA),
            seed: self.seed,
            ..Options::default()
        })
    }
}

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
    for place in &mut workload.places {
        let Some(seen) = recorded.place(&place.table, place.index.as_deref()) else { continue };
        let Some(share) = seen.keys.first().map(|key| key.share) else { continue };
        if let [spread] = place.spreads.as_mut_slice()
            && share > spread.hot.first().copied().unwrap_or(0.0)
        {
            let no_split = spread.no_split;
            *spread = keyloom_simulate::Spread::new(
                spread.label.clone(),
                Some(seen.distinct_keys.max(1.0)),
                Some(share),
                None,
            );
            spread.no_split = no_split;
        }
    }
}
