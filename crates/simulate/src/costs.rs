//! What a workload costs a month, by capacity mode.

use keyloom_design::cost::Prices;
use keyloom_design::model::TableClass;

use crate::lanes::{Lane, Lanes};
use crate::profile::Options;
use crate::run::TARGET;
use crate::workload::Workload;

/// A way to pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By request.
    OnDemand,
    /// By hour of capacity, with auto scaling.
    Provisioned,
    /// The lowest load reserved for a year, the rest by the hour.
    Reserved,
    /// On demand in the class for infrequent access.
    InfrequentAccess,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::OnDemand, Self::Provisioned, Self::Reserved, Self::InfrequentAccess];

    /// The name in texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnDemand => "on demand",
            Self::Provisioned => "provisioned",
            Self::Reserved => "reserved",
            Self::InfrequentAccess => "Standard-IA",
        }
    }
}

/// Dollars a month, by way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// In the order of [`Way::ALL`].
    pub dollars: [f64; 4],
}

impl Costs {
    /// By one way.
    pub fn of(&self, way: Way) -> f64 {
        let pairs = Way::ALL.into_iter().zip(self.dollars);
        pairs.filter(|(it, _)| *it == way).map(|(_, dollars)| dollars).sum()
    }

    /// The cheapest way.
    pub fn cheapest(&self) -> (Way, f64) {
        let pairs = Way::ALL.into_iter().zip(self.dollars);
        pairs.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((Way::OnDemand, 0.0))
    }
}

/// Dollars a month for a workload so many times as large. The averages that the design declares are paid on demand; hourly
/// capacity follows the profile between them and the peaks.
pub fn costs(workload: &Workload, scale: f64, options: &Options, prices: &Prices) -> Costs {
    let mut costs = Costs::default();
    let day = 24 * 60;
    let average = options.profile.average(day);
    let lowest = (0..day).map(|minute| options.profile.at(f64::from(minute))).fold(1.0, f64::min);
    for (position, place) in workload.places.iter().enumerate() {
        let mut mean = Lanes::<f64>::default();
        for flow in &workload.flows {
            let units = flow.touches.iter().filter(|touch| touch.place == position);
            let units: f64 = units.map(|touch| touch.units).sum();
            mean[Lane::of(flow.is_write)] += units * flow.average.min(flow.peak * average) * scale;
        }
        let peak = workload.demand(position).map(|units| units * scale);
        let gigabytes = place.bytes(0.0) * scale / 1e9;
        let hours = prices.hours_per_month;
        let demand = |class: TableClass| {
            let prices_of = prices.class(class);
            let seconds = hours * 3600.0;
            (mean.read * prices_of.read_million + mean.write * prices_of.write_million) * seconds
                / 1e6
                + gigabytes * prices_of.storage_gb_month
        };
        let standard = prices.class(TableClass::Standard);
        let storage = gigabytes * standard.storage_gb_month;
        // Auto scaling keeps consumption at its target on the way up and down.
        let capacity = peak.map(|units| units * average / TARGET);
        let hourly = |Lanes { read: reads, write: writes }: Lanes<f64>| {
            (reads * standard.read_capacity_hour + writes * standard.write_capacity_hour) * hours
        };
        let base = peak.map(|units| units * lowest / TARGET);
        let above = Lanes::from_fn(|lane| (capacity[lane] - base[lane]).max(0.0));
        // What has no price is not reserved.
        let reserved = prices.reserved.as_ref().map_or_else(
            || hourly(base),
            |price| {
                let hundred = |once: f64, hour: f64| once / 12.0 + hour * hours;
                base.read / 100.0 * hundred(price.read_upfront, price.read_hour)
                    + base.write / 100.0 * hundred(price.write_upfront, price.write_hour)
            },
        );
        costs.dollars[0] += demand(TableClass::Standard);
        costs.dollars[1] += hourly(capacity) + storage;
        costs.dollars[2] += reserved + hourly(above) + storage;
        costs.dollars[3] += demand(TableClass::InfrequentAccess);
    }
    costs
}

/// The multiples from which on another way is the cheapest, with that way.
pub fn crossings(
    workload: &Workload,
    options: &Options,
    prices: &Prices,
    up_to: f64,
) -> Vec<(f64, Way)> {
    let cheapest = |scale: f64| costs(workload, scale, options, prices).cheapest().0;
    let mut found = vec![(0.0, cheapest(1e-3))];
    let mut scale = 1e-3;
    while scale < up_to {
        scale *= 1.05;
        let now = cheapest(scale);
        if found.last().is_some_and(|(_, way)| *way != now) {
            found.push((scale, now));
        }
    }
    found
}
