//! Capacity: costs measured on AWS.

use super::*;
use crate::schema::{KeyAttribute, ScalarType};

fn half(halves: u64) -> Units {
    Units::halves(halves)
}

#[test]
fn reads_round_up_to_4_kb_and_cost_by_consistency() {
    for (bytes, halves) in [(0, 1), (1, 1), (4096, 1), (4097, 2), (8192, 2), (409_600, 100)] {
        assert_eq!(read_units(bytes, ReadMode::Eventual), half(halves), "{bytes}");
        assert_eq!(read_units(bytes, ReadMode::Strong), half(2 * halves), "{bytes}");
        assert_eq!(read_units(bytes, ReadMode::Transactional), half(4 * halves), "{bytes}");
    }
}

#[test]
fn each_partition_of_a_scan_rounds_up_by_itself() {
    let tiny = [100, 0, 0, 0];
    assert_eq!(partitioned_read_units(tiny, ReadMode::Eventual), Units::whole(2));
    assert_eq!(partitioned_read_units(tiny, ReadMode::Strong), Units::whole(4));
}

#[test]
fn writes_cost_the_larger_image() {
    assert_eq!(item_write_units(None, None), Units::whole(1));
    assert_eq!(item_write_units(None, Some(1024)), Units::whole(1));
    assert_eq!(item_write_units(Some(3000), Some(10)), Units::whole(3));
    assert_eq!(item_write_units(Some(10), Some(1025)).transactional(), Units::whole(4));
}

#[test]
fn index_writes_cost_by_the_kind_of_change() {
    let entry = |key: &str, size: usize| -> Item {
        [("k".into(), key.into()), ("d".into(), "x".repeat(size).into())].into_iter().collect()
    };
    let key = KeySchema::simple(KeyAttribute::new("k", ScalarType::S), None);
    let units =
        |old: Option<&Item>, new: Option<&Item>| IndexChange::between(old, new, &key).units();
    let (small, large, moved) = (entry("a", 10), entry("a", 2000), entry("b", 10));
    assert_eq!(units(None, None), None);
    assert_eq!(units(Some(&small), Some(&small)), None);
    assert_eq!(units(None, Some(&large)), Some(Units::whole(2)));
    assert_eq!(units(Some(&large), None), Some(Units::whole(2)));
    assert_eq!(units(Some(&large), Some(&small)), Some(Units::whole(2)));
    assert_eq!(units(Some(&large), Some(&moved)), Some(Units::whole(3)));
}

#[test]
fn units_print_as_json_numbers() {
    assert_eq!(half(0).to_string(), "0.0");
    assert_eq!(half(1).to_string(), "0.5");
    assert_eq!(half(5).to_string(), "2.5");
    assert_eq!(Units::whole(12).to_string(), "12.0");
}
