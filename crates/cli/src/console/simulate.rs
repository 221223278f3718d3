//! A design under many times its load: `keyloom simulate` in the console.

use keyloom_design::cost::Prices;
use keyloom_server::ConsoleReply;
use keyloom_simulate::{Capacity, Options, Workload, forecast, render};
use serde_json::Value as Json;

use super::{Answer, DesignConsole, Refusal, body, text};
use crate::commands::simulate::{GREATEST, profile, take_over};

/// Multiples of the load in one question.
const MOST_SCALES: usize = 8;
/// Simulated minutes at most: a day.
const MOST_MINUTES: u32 = 1440;

impl DesignConsole {
    pub(super) fn simulate(&self, bytes: &[u8]) -> Answer {
        let body = body(bytes)?;
        let report = self.usable(text(&body, "design")?)?;
        let defaults = Options::default();
        let scales = match body.get("scale") {
            None | Some(Json::Null) => vec![1.0, 10.0, 100.0],
            Some(scale) => scales(scale)?,
        };
        let profile = match body.get("profile").and_then(Json::as_str) {
            Some(text) => {
                profile(text).map_err(|why| Refusal::wrong(format_args!("`profile`: {why}")))?
            }
            None => defaults.profile,
        };
        // Where patterns first fail is told by the whole course, whatever `minutes` says.
        if profile.minutes() > MOST_MINUTES {
            return Err(Refusal::wrong(format_args!(
                "`profile`: its course takes {} minutes, the console simulates {MOST_MINUTES} at most, a day; `keyloom simulate` has the time",
                profile.minutes()
            )));
        }
        let minutes = body.get("minutes").and_then(Json::as_u64);
        let minutes = minutes.map(|minutes| minutes.clamp(1, u64::from(MOST_MINUTES)) as u32);
        let capacity = match body.get("capacity").and_then(Json::as_str) {
            None | Some("as-designed") => defaults.capacity,
            Some("on-demand") => Capacity::OnDemand,
            Some("provisioned") => Capacity::Provisioned { target: keyloom_simulate::run::TARGET },
            Some(other) => {
                return Err(Refusal::wrong(format_args!(
                    "`capacity` {other:?} is none of as-designed, on-demand, provisioned"
                )));
            }
        };
        let options = Options { scales, profile, minutes, capacity, ..defaults };
        let is_recorded = body.get("observed").and_then(Json::as_bool).unwrap_or(false);
        let recorded = if is_recorded { Some(self.observed.report()?) } else { None };
        let observed = |workload: &mut Workload| {
            if let Some(recorded) = &recorded {
                take_over(recorded, workload);
            }
        };
        let forecast = forecast(&report, observed, &options, &Prices::default());
        let mut value = render::json(&forecast);
        if let Json::Object(members) = &mut value {
            let pictures = render::pictures(&forecast, &Prices::default());
            let pictures = pictures.into_iter().map(|(name, svg)| (name, Json::from(svg)));
            members.insert("pictures".to_owned(), pictures.collect());
        }
        Ok(ConsoleReply::json(&value))
    }
}

/// A number or a list of numbers.
fn scales(value: &Json) -> Result<Vec<f64>, Refusal> {
    let list = match value {
        Json::Array(list) => list.iter().map(Json::as_f64).collect(),
        one => one.as_f64().map(|one| vec![one]),
    };
    list.filter(|list: &Vec<f64>| {
        (1..=MOST_SCALES).contains(&list.len()) && list.iter().all(|it| *it > 0.0 && *it <= GREATEST)
    })
    .ok_or_else(|| {
        Refusal::wrong(format_args!(
            "`scale` must be a number, or up to {MOST_SCALES}, greater than zero and at most {GREATEST:e}"
        ))
    })
}
