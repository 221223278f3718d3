//! Simulated loads on partitions, second by second.

use keyloom_core::Operation;
use keyloom_core::capacity::Units;
use keyloom_core::observation::{Insights, Throughput, Work};
use keyloom_core::schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, ScalarType,
};

use super::*;

const ON_DEMAND: Throughput = Throughput {
    on_demand: true,
    read: None,
    write: None,
    warm_read: None,
    warm_write: None,
    servers: 1,
};

fn key(hash: &str, range: &str) -> KeySchema {
    let attribute = |name: &str| KeyAttribute { name: name.into(), kind: ScalarType::S };
    KeySchema::simple(attribute(hash), Some(attribute(range)))
}

/// A table with a global index, under a load.
struct Load {
    partitions: Partitions,
    key: KeySchema,
    index: IndexSchema,
    throughput: Throughput,
    has_local_indexes: bool,
    size_bytes: u64,
    /// What a write costs.
    units: u64,
}

impl Load {
    fn new(throughput: Throughput) -> Self {
        Self {
            partitions: Partitions::with_burst(0),
            key: key("pk", "sk"),
            index: IndexSchema {
                name: "byStatus".into(),
                kind: IndexKind::Global,
                key: key("status", "date"),
                projection: Projection::All,
            },
            throughput,
            has_local_indexes: false,
            size_bytes: 0,
            units: 1,
        }
    }

    /// A load of large items, so that few requests make much work.
    fn of_large_items() -> Self {
        Self { units: 20, ..Self::new(ON_DEMAND) }
    }

    fn place(&self, in_index: bool) -> Place<'_> {
        Place {
            table: "Orders",
            index: in_index.then_some(&self.index),
            key: if in_index { &self.index.key } else { &self.key },
            throughput: self.throughput,
            has_local_indexes: self.has_local_indexes,
            size_bytes: self.size_bytes,
            is_vector: false,
            insights: Insights::Off,
        }
    }

    fn touch<'a>(&'a self, partition: &'a [u8], sort: &'a [u8], work: Work) -> Touch<'a> {
        Touch { place: self.place(false), partition, sort, work, bytes: 500 }
    }

    /// Whether one write is admitted.
    fn write(&self, partition: &[u8], sort: &[u8], now_ms: u64) -> Result<(), NotAdmitted> {
        let write = Work::Write(Units::whole(self.units));
        self.partitions.admit(&[self.touch(partition, sort, write)], now_ms)
    }

    /// Whether a read is admitted; if so, it costs this much.
    fn read(&self, partition: &[u8], units: u64, now_ms: u64) -> bool {
        let before = self.touch(partition, b"", Work::Read(Units::ZERO));
        let is_admitted = self.partitions.admit(&[before], now_ms).is_ok();
        if is_admitted {
            let after = self.touch(partition, b"", Work::Read(Units::whole(units)));
            self.partitions.charge(&[after], now_ms);
        }
        is_admitted
    }

    /// How many of so many writes, spread evenly over a second, are admitted.
    fn second(
        &self,
        second: u64,
        writes: u64,
        mut keys: impl FnMut(u64) -> (String, String),
    ) -> u64 {
        let admitted = (0..writes).filter(|number| {
            let (partition, sort) = keys(*number);
            let now_ms = second * 1000 + number * 1000 / writes;
            self.write(partition.as_bytes(), sort.as_bytes(), now_ms).is_ok()
        });
        admitted.count() as u64
    }

    fn heat(&self, now_ms: u64) -> PlaceHeat {
        self.partitions.heat("Orders", None, now_ms).unwrap()
    }
}

fn one_key(_: u64) -> (String, String) {
    ("hot".into(), "item".into())
}

#[test]
fn one_key_is_throttled_near_a_thousand_writes_per_second_and_ten_shards_are_not() {
    let hot = Load::new(ON_DEMAND);
    let admitted: u64 = (0..30).map(|second| hot.second(second, 3000, one_key)).sum();
    // One second's worth is there at the beginning.
    assert!((30_000..=31_000).contains(&admitted), "{admitted}");
    let refused = [("TableWriteKeyRangeThroughputExceeded".to_owned(), 90_000 - admitted)];
    assert_eq!(hot.heat(30_000).throttled, refused.into());

    let sharded = Load::new(ON_DEMAND);
    let shards = |number: u64| (format!("hot#{}", number % 10), "item".into());
    let admitted: u64 = (0..30).map(|second| sharded.second(second, 3000, shards)).sum();
    assert!(admitted > 60_000, "{admitted}");
}

#[test]
fn ten_shards_carry_what_one_key_does_not_wherever_they_happen_to_lie() {
    // Of ten shards on four partitions, one has mostly four or more: what was saved lasts until it is
    // split. One item cannot be split.
    let fresh = || Load { partitions: Partitions::new(), units: 20, ..Load::new(ON_DEMAND) };
    for name in ["hot#", "STATUS#ACTIVE#SHARD#", "a", "tenant-1/"] {
        let sharded = fresh();
        let shards = |number: u64| (format!("{name}{}", number % 10), "item".into());
        let admitted: u64 = (0..1200).map(|second| sharded.second(second, 150, shards)).sum();
        assert_eq!(admitted, 1200 * 150, "{name}: {:?}", sharded.heat(1_200_000));
    }
    let hot = fresh();
    let admitted: Vec<u64> = (0..400).map(|second| hot.second(second, 150, one_key)).collect();
    assert!(admitted.iter().take(149).all(|count| *count == 150));
    assert!(admitted.iter().skip(152).all(|count| *count == 50), "{admitted:?}");
}

#[test]
fn what_was_not_used_in_five_minutes_can_be_used_at_once() {
    let load = Load { partitions: Partitions::new(), units: 20, ..Load::new(ON_DEMAND) };
    let mut at = 0;
    for _ in 0..2 {
        // 300 s of 1,000 units: at 3,000 per second, 2,000 of them come from what was saved.
        let seconds = at..at + 200;
        let admitted: Vec<u64> = seconds.map(|second| load.second(second, 150, one_key)).collect();
        let full = admitted.iter().take_while(|count| **count == 150).count();
        assert!((149..=151).contains(&full), "{full}");
        assert!(admitted[160..].iter().all(|count| *count == 50), "{admitted:?}");
        at += 5000;
    }
}

#[test]
fn reads_have_three_thousand_units_and_pay_when_their_price_is_known() {
    let load = Load::new(ON_DEMAND);
    let mut admitted = 0;
    for second in 0..20 {
        for number in 0..1000 {
            admitted += u64::from(load.read(b"hot", 5, second * 1000 + number));
        }
    }
    // Items of 20 KB: 600 strong reads per second.
    assert!((12_000..=12_700).contains(&admitted), "{admitted}");
}

#[test]
fn a_hot_key_of_an_index_refuses_the_tables_write_and_costs_the_table_nothing() {
    let load = Load::new(ON_DEMAND);
    let write = Work::Write(Units::whole(1));
    let put = |number: u64, now_ms: u64| {
        let id = format!("order-{number}");
        let in_table = load.touch(id.as_bytes(), b"", write);
        let in_index = Touch { place: load.place(true), partition: b"PENDING", ..in_table };
        load.partitions.admit(&[in_table, in_index], now_ms)
    };
    let outcomes: Vec<_> = (0..30_000).map(|n| put(n, n / 3)).collect();
    let refused: Vec<&NotAdmitted> =
        outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    let admitted = outcomes.len() - refused.len();
    assert!((10_000..=11_001).contains(&admitted), "{admitted}");
    for refused in refused {
        assert_eq!(refused.touch, 1);
        assert_eq!(refused.reason.name(), "IndexWriteKeyRangeThroughputExceeded");
    }
    // The table's own partitions were given back what the index refused.
    let rate: f64 = load.heat(9_999).partitions.iter().map(|p| p.write_rate).sum();
    assert!(load.heat(9_999).throttled.is_empty());
    assert!((rate - admitted as f64 / 10.0).abs() < 20.0, "{rate} of {admitted}");
    let index = load.partitions.heat("Orders", Some("byStatus"), 9_999).unwrap();
    assert!(index.hottest().unwrap().utilisation > 0.9);
    // Reads of the index are another matter.
    let read =
        Touch { place: load.place(true), ..load.touch(b"PENDING", b"", Work::Read(Units::ZERO)) };
    assert_eq!(load.partitions.admit(&[read], 10_000), Ok(()));
}

#[test]
fn a_refused_request_takes_nothing() {
    let load = Load::new(ON_DEMAND);
    let write = Work::Write(Units::whole(1000));
    let fresh = load.touch(b"a", b"", write);
    let hot = load.touch(b"b", b"", Work::Write(Units::whole(1)));
    load.partitions.charge(&[load.touch(b"b", b"", Work::Write(Units::whole(5000)))], 0);
    let refused = load.partitions.admit(&[fresh, hot], 0).unwrap_err();
    assert_eq!(refused.touch, 1);
    assert_eq!(load.partitions.admit(&[fresh], 0), Ok(()));
    assert!(load.partitions.admit(&[fresh], 0).is_err());
}

#[test]
fn a_transaction_larger_than_a_second_of_its_partition_waits_for_a_full_one() {
    let load = Load::new(ON_DEMAND);
    let write = Work::Write(Units::whole(600));
    let both = [load.touch(b"a", b"1", write), load.touch(b"a", b"2", write)];
    assert_eq!(load.partitions.admit(&both, 0), Ok(()));
    assert!(load.partitions.admit(&both, 1_199).is_err());
    assert_eq!(load.partitions.admit(&both, 1_200), Ok(()));
    // Work elsewhere does not count: this key has nothing left.
    let elsewhere = [load.touch(b"b", b"1", write), load.touch(b"a", b"2", write)];
    assert_eq!(load.partitions.admit(&elsewhere, 1_300).unwrap_err().touch, 1);
}

#[test]
fn servers_that_share_a_table_get_together_what_there_is() {
    // Three servers, each with partitions of its own, and each told of the others: a hot key, and a whole table.
    let shared = |throughput: Throughput| {
        [(); 3].map(|()| Load::new(Throughput { servers: 3, ..throughput }))
    };
    let hot = |_| ("hot".to_owned(), String::new());
    let admitted = |servers: &[Load], key: fn(u64) -> (String, String)| -> u64 {
        let seconds = (0..20)
            .flat_map(|second| servers.iter().map(move |server| server.second(second, 1000, key)));
        seconds.sum()
    };
    let servers = shared(ON_DEMAND);
    let all = admitted(&servers, hot);
    assert!((19_500..=21_000).contains(&all), "{all} of 20 seconds with 1,000 units");
    // Each has refused what it has refused, not what others may have.
    let refused: u64 =
        servers.iter().map(|server| server.heat(0).throttled.values().sum::<u64>()).sum();
    assert_eq!(refused, 3 * 20 * 1000 - all);
    let five = Throughput { read: Some(5), write: Some(5), ..Throughput::default() };
    let all = admitted(&shared(five), |number| (format!("key-{number}"), String::new()));
    assert!((95..=110).contains(&all), "{all} of 20 seconds with 5 units");
}

#[test]
fn provisioned_and_maximum_throughput_limit_the_whole_table() {
    let five =
        Throughput { on_demand: false, read: Some(5), write: Some(5), ..Throughput::default() };
    let spread = |number: u64| (format!("key-{number}"), String::new());
    let load = Load::new(five);
    let admitted: u64 = (0..20).map(|second| load.second(second, 50, spread)).sum();
    assert!((100..=105).contains(&admitted), "{admitted}");
    let refused = load.write(b"any", b"", 19_999).unwrap_err();
    assert_eq!(refused.reason.name(), "TableWriteProvisionedThroughputExceeded");
    assert_eq!(load.heat(0).partitions.len(), 1);

    let most = Throughput { on_demand: true, read: None, write: Some(50), ..Throughput::default() };
    let load = Load::new(most);
    let admitted: u64 = (0..20).map(|second| load.second(second, 500, spread)).sum();
    assert!((1000..=1050).contains(&admitted), "{admitted}");
    let refused = load.write(b"any", b"", 19_999).unwrap_err();
    assert_eq!(refused.reason.name(), "TableWriteMaxOnDemandThroughputExceeded");

    // More is provisioned: it is there at once, and the partitions for it.
    let mut load = Load::new(five);
    load.second(0, 50, spread);
    load.throughput = Throughput {
        on_demand: false,
        read: Some(6000),
        write: Some(3000),
        ..Throughput::default()
    };
    assert_eq!(load.second(2, 2500, spread), 2500);
    assert_eq!(load.heat(2_000).partitions.len(), 5);
}

#[test]
fn a_table_grows_by_a_partition_for_every_ten_gigabytes_and_never_shrinks() {
    let mut load = Load::new(ON_DEMAND);
    let sizes = [(0, 4), (39_000_000_000, 4), (41_000_000_000, 5), (200_000_000_000, 20), (5, 20)];
    for (number, (size_bytes, expected)) in sizes.into_iter().enumerate() {
        load.size_bytes = size_bytes;
        let _ = load.write(b"key", b"", number as u64);
        let heat = load.heat(0);
        assert_eq!(heat.partitions.len(), expected, "{size_bytes}");
        let ends = heat.partitions.windows(2).all(|p| p[0].last_hash + 1 == p[1].first_hash);
        assert!(ends && heat.partitions[0].first_hash == 0);
        assert_eq!(heat.partitions.last().unwrap().last_hash, u64::MAX);
    }
    assert_eq!(load.heat(0).splits_for_size, 16);
}

/// How many of 100 writes, 2,000 units, are admitted in the last second of ten minutes.
fn after_ten_minutes(load: &Load, keys: impl Fn(u64) -> (String, String)) -> u64 {
    let mut last = 0;
    for second in 0..600 {
        last = load.second(second, 100, |number| keys(second * 100 + number));
    }
    last
}

/// Numbers below 1024 in no order.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54
}

#[test]
fn a_hot_collection_is_split_by_its_sort_key_within_minutes() {
    let load = Load::of_large_items();
    let keys = |number| ("hot".into(), format!("{:04}", scattered(number)));
    let first: u64 = (0..3).map(|second| load.second(second, 100, keys)).sum();
    assert!(first <= 200, "{first}");
    assert_eq!(after_ten_minutes(&load, keys), 100);
    let heat = load.heat(600_000);
    assert!(heat.splits_for_heat > 0 && heat.partitions.iter().any(|p| !p.from_sort.is_empty()));
}

#[test]
fn neither_a_local_index_nor_a_rising_sort_key_nor_one_item_lets_a_collection_be_split() {
    let mut held = Load::of_large_items();
    held.has_local_indexes = true;
    let in_no_order = |number| ("hot".into(), format!("{:04}", scattered(number)));
    assert!(after_ten_minutes(&held, in_no_order) <= 51);
    assert_eq!(held.heat(600_000).hottest().unwrap().no_split, Some(NoSplit::LocalIndex));

    let rising = Load::of_large_items();
    let by_time = |number: u64| ("hot".into(), format!("{number:09}"));
    assert!(after_ten_minutes(&rising, by_time) <= 51);
    assert_eq!(rising.heat(600_000).hottest().unwrap().no_split, Some(NoSplit::MovingSortKey));

    let item = Load::of_large_items();
    assert!(after_ten_minutes(&item, one_key) <= 51);
    assert_eq!(item.heat(600_000).hottest().unwrap().no_split, Some(NoSplit::OneItem));
}

#[test]
fn an_even_load_beyond_the_first_four_partitions_is_carried_after_some_minutes() {
    let load = Load::of_large_items();
    let keys = |number: u64| (format!("key-{}", scattered(number)), "x".into());
    // 9,000 units per second.
    let second = |second: u64| load.second(second, 450, |number| keys(second * 450 + number));
    let early: u64 = (0..10).map(second).sum();
    assert!(early < 2500, "{early}");
    (10..600).for_each(|at| {
        second(at);
    });
    assert_eq!(second(600), 450);
    assert!(load.heat(600_000).partitions.len() > 4);
}

#[test]
fn a_range_is_read_from_all_partitions_that_hold_a_part_of_it() {
    let load = Load::new(ON_DEMAND);
    // A Scan costs each partition its share.
    assert!(load.read(b"", 400, 0));
    let rates: Vec<f64> = load.heat(0).partitions.iter().map(|p| p.read_rate).collect();
    assert_eq!(rates, [10.0; 4]);
    // It goes on while one of them has something left.
    load.partitions.charge(&[load.touch(b"hot", b"", Work::Read(Units::whole(20_000)))], 0);
    assert!(load.read(b"", 1, 0) && !load.read(b"hot", 1, 0));
}

#[test]
fn watching_counts_what_would_be_refused_for_all_that_a_sample_stands_for() {
    let load = Load::new(ON_DEMAND);
    let weight = std::num::NonZeroU32::new(8).unwrap();
    for number in 0..10_000u64 {
        let touch = load.touch(b"hot", b"item", Work::Write(Units::whole(1)));
        load.partitions.observe(&Observation {
            operation: Operation::PutItem,
            at_ms: number * 2,
            touches: &[touch],
            question: None,
            returned: 0,
            is_projected: false,
            is_consistent: true,
            is_retry: false,
            expired: 0,
            latency: std::time::Duration::ZERO,
            outcome: Outcome::Done,
            weight,
        });
    }
    // 4,000 per second for 20 s, of which 1,000 per second would have passed.
    let heat = load.heat(19_999);
    let hottest = heat.hottest().unwrap();
    assert!((59_000..=60_000).contains(&hottest.throttled_writes), "{}", hottest.throttled_writes);
    assert!((hottest.write_rate - 4000.0).abs() < 50.0, "{}", hottest.write_rate);
    assert!((hottest.utilisation - 4.0).abs() < 0.05);
}

#[test]
fn a_deleted_table_and_index_are_forgotten() {
    let load = Load::new(ON_DEMAND);
    let _ = load.write(b"a", b"", 0);
    let in_index =
        Touch { place: load.place(true), ..load.touch(b"a", b"", Work::Read(Units::ZERO)) };
    let _ = load.partitions.admit(&[in_index], 0);
    assert_eq!(load.partitions.all(0).len(), 2);
    load.partitions.forget("Orders", Some("byStatus"));
    assert_eq!(load.partitions.all(0).len(), 1);
    load.partitions.forget("Orders", None);
    assert!(load.partitions.heat("Orders", None, 0).is_none());
}

/// Writes of 20 units, spread over many keys: `rate` units in each second.
fn spread(load: &Load, second: u64, rate: u64) -> u64 {
    let keys = |number: u64| (format!("key#{}", number * 7919 % 997), "item".to_owned());
    load.second(second, rate / load.units, keys) * load.units
}

/// What is admitted of so much, in one second.
fn admitted_at(load: &Load, second: u64, rate: u64) -> f64 {
    // The first second also has what was saved.
    spread(load, second, rate);
    let admitted: u64 = (second + 1..second + 5).map(|second| spread(load, second, rate)).sum();
    admitted as f64 / 4.0
}

#[test]
fn an_on_demand_table_takes_twice_its_previous_peak_and_no_more() {
    let load = Load { units: 20, ..Load::new(ON_DEMAND) };
    // A new one: 4,000 writes a second.
    let begun: u64 = (0..30).map(|second| spread(&load, second, 2_600)).sum();
    assert_eq!(begun, 30 * 2_600);
    let above = admitted_at(&load, 31, 12_000);
    assert!(above < 4_500.0, "{above}");
    // The same load for half an hour, which makes no partition hot: then twice as much fits.
    (60..2_400).for_each(|second| assert_eq!(spread(&load, second, 2_600), 2_600));
    assert_eq!(load.heat(2_400_000).splits_for_heat, 0);
    assert_eq!(load.partitions.grown("Orders", None), Some((18_000, 6_000)));
    let twice = admitted_at(&load, 2_401, 5_200);
    assert!(twice > 5_100.0, "{twice}");
    let much = admitted_at(&load, 2_410, 20_000);
    assert!(much < 6_100.0, "{much}");
    assert!(load.heat(2_410_000).throttled.contains_key("TableWriteKeyRangeThroughputExceeded"));
}

#[test]
fn what_an_index_refuses_does_not_make_its_table_grow() {
    let load = Load::of_large_items();
    let write = Work::Write(Units::whole(load.units));
    // 6,000 units a second, of which one key of the index takes 1,000.
    let mut admitted = 0;
    for number in 0..60 * 300_u64 {
        let key = format!("key#{}", number * 7919 % 997);
        let own = load.touch(key.as_bytes(), b"item", write);
        let entry = Touch { place: load.place(true), partition: b"hot", sort: b"item", ..own };
        admitted += u64::from(load.partitions.admit(&[own, entry], number * 1000 / 300).is_ok());
    }
    assert!(admitted * load.units < 62_000, "{admitted}");
    for minute in 1..40 {
        load.write(b"other", b"item", minute * 60_000).unwrap();
    }
    assert_eq!(load.partitions.grown("Orders", None), None);
}

#[test]
fn a_table_that_was_warmed_up_has_its_partitions_at_once() {
    let warm = Throughput { warm_write: Some(20_000), ..ON_DEMAND };
    let load = Load { units: 20, ..Load::new(warm) };
    let admitted = admitted_at(&load, 0, 14_000);
    assert!(admitted > 12_000.0, "{admitted}");
    assert_eq!(load.heat(5_000).partitions.len(), 20);
    assert_eq!(load.partitions.grown("Orders", None), None);
}
