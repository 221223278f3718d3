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

/// Units of capacity that are reserved at once.
const BLOCK: f64 = 100.0;

/// Dollars a month for a workload so many times as large. The averages that the design declares are paid on demand; hourly
/// capacity follows the profile between them and the peaks.
pub fn costs(workload: &Workload, scale: f64, options: &Options, prices: &Prices) -> Costs {
    let mut costs = Costs::default();
    let day = 24 * 60;
    let average = options.profile.average(day);
    let lowest = (0..day).map(|minute| options.profile.at(f64::from(minute))).fold(1.0, f64::min);
    let hours = prices.hours_per_month;
    let standard = prices.class(TableClass::Standard);
    let (mut capacity, mut base) = (Lanes::<f64>::default(), Lanes::<f64>::default());
    let mut storage = 0.0;
    for (position, place) in workload.places.iter().enumerate() {
        let mut mean = Lanes::<f64>::default();
        for flow in &workload.flows {
            let units = flow.touches.iter().filter(|touch| touch.place == position);
            let units: f64 = units.map(|touch| touch.units).sum();
            mean[Lane::of(flow.is_write)] += units * flow.average.min(flow.peak * average) * scale;
        }
        let gigabytes = place.bytes(0.0) * scale / 1e9;
        let demand = |class: TableClass| {
            let prices_of = prices.class(class);
            let seconds = hours * 3600.0;
            (mean.read * prices_of.read_million + mean.write * prices_of.write_million) * seconds
                / 1e6
                + gigabytes * prices_of.storage_gb_month
        };
        costs.dollars[0] += demand(TableClass::Standard);
        costs.dollars[3] += demand(TableClass::InfrequentAccess);
        storage += gigabytes * standard.storage_gb_month;
        let peak = workload.demand(position);
        for lane in Lane::BOTH {
            // Auto scaling keeps consumption at its target on the way up and down.
            let peak = peak[lane] * scale / TARGET;
            capacity[lane] += peak * average;
            base[lane] += peak * lowest;
        }
    }
    let hourly = |Lanes { read: reads, write: writes }: Lanes<f64>| {
        (reads * standard.read_capacity_hour + writes * standard.write_capacity_hour) * hours
    };
    // Reserved capacity counts for all tables of an account together. What has no price is not reserved.
    let price = prices.reserved.as_ref();
    let blocks = price.map_or_else(Lanes::default, |_| base.map(|it| (it / BLOCK).floor()));
    let reserved = price.map_or(0.0, |price| {
        let block = |once: f64, hour: f64| once / 12.0 + hour * hours;
        blocks.read * block(price.read_upfront, price.read_hour)
            + blocks.write * block(price.write_upfront, price.write_hour)
    });
    let above = Lanes::from_fn(|lane| capacity[lane] - blocks[lane] * BLOCK);
    costs.dollars[1] = hourly(capacity) + storage;
    costs.dollars[2] = reserved + hourly(above) + storage;
    costs
}

/// The multiples from which on another way is the cheapest, with that way. Near them, capacity that is reserved by the hundred
/// makes a way cheaper and dearer again; it counts from where it stays the cheapest.
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
        match found.iter().position(|(_, way)| *way == now) {
            Some(known) => found.truncate(known + 1),
            None => found.push((scale, now)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spread::Spread;
    use crate::workload::{Flow, Place, Touch};
    use keyloom_design::model::Billing;

    /// So many tables, each of which takes so many writes on average and at its peak.
    fn workload(tables: usize, average: f64, peak: f64) -> Workload {
        let place = |table: usize| Place {
            table: format!("t{table}"),
            index: None,
            stock: Vec::new(),
            billing: Billing::OnDemand,
            class: TableClass::Standard,
            spreads: vec![Spread::new("K".to_owned(), None, None, None)],
        };
        let flow = |table: usize| Flow {
            name: format!("write t{table}"),
            is_write: true,
            average,
            peak,
            touches: vec![Touch { place: table, spread: 0, units: 1.0, is_range: false }],
        };
        Workload {
            places: (0..tables).map(place).collect(),
            flows: (0..tables).map(flow).collect(),
            ..Workload::default()
        }
    }

    fn dollars(workload: &Workload) -> (f64, f64) {
        let costs = costs(workload, 1.0, &Options::default(), &Prices::default());
        (costs.of(Way::Provisioned), costs.of(Way::Reserved))
    }

    #[test]
    fn capacity_is_reserved_by_the_hundred_for_all_tables_together() {
        // 99 units at a target of 70 %: none can be reserved.
        let (hourly, reserved) = dollars(&workload(1, 69.3, 69.3));
        assert!(hourly > 46.0 && (hourly - reserved).abs() < 1e-9, "{hourly} {reserved}");
        // Three such tables have 297: two hundred, and 97 by the hour.
        let (_, reserved) = dollars(&workload(3, 69.3, 69.3));
        let expected = 2.0 * (150.0 / 12.0 + 0.0128 * 730.0) + 97.0 * 0.000_65 * 730.0;
        assert!((reserved - expected).abs() < 1e-6, "{reserved} {expected}");
    }

    #[test]
    fn another_way_to_pay_is_the_cheapest_from_some_load_on() {
        let ways = |workload: &Workload| {
            let found = crossings(workload, &Options::default(), &Prices::default(), 1e3);
            (found.iter().map(|(_, way)| *way).collect::<Vec<_>>(), found)
        };
        let (steady, found) = ways(&workload(1, 7.0, 7.0));
        assert_eq!(steady, [Way::Provisioned, Way::Reserved]);
        // The first hundred units.
        assert!(found.iter().any(|(multiple, _)| (10.0..10.6).contains(multiple)), "{found:?}");
        // Peaks twice as high as usual loads are cheaper by request, until most of them is reserved; each once.
        let (uneven, _) = ways(&workload(1, 3.0, 10.0));
        assert_eq!(uneven, [Way::OnDemand, Way::Reserved]);
    }
}
