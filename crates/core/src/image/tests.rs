//! Stored items: known bytes, round trips, and damage.

use proptest::prelude::*;

use super::*;
use crate::arbitrary::{item, text};
use crate::error::Error;
use crate::json;
use crate::number::Number;
use crate::size::item_size;

fn sample() -> Item {
    [
        ("pk".into(), "a".into()),
        ("n".into(), AttributeValue::N("-1.5".parse().unwrap())),
        ("l".into(), AttributeValue::L(vec![true.into(), AttributeValue::Null])),
    ]
    .into_iter()
    .collect()
}

#[test]
fn the_format_is_stable() {
    let expected = [
        vec![2, 16, 3],
        vec![5, 0, 0, 0, b'l', b'n', b'p', b'k', b'a'],
        vec![1, 10, 3, 0, 0, 0, 0, 0, 0, 0, 2, 5, 6],
        vec![1, 2, 0x81, 1, 15],
        vec![2, 1, 1],
    ];
    assert_eq!(encode(&sample()), expected.concat());
    let mut appended = vec![9];
    encode_into(&sample(), &mut appended);
    assert_eq!(appended[1..], expected.concat());
}

#[test]
fn json_much_longer_than_its_bytes_fits() {
    let booleans = AttributeValue::L(vec![true.into(); 5000]);
    let large = AttributeValue::Ns(
        (0..500).map(|n| Number::parse(&format!("{n}1E120")).unwrap()).collect(),
    );
    let escaped = AttributeValue::S("\u{1}\"é".repeat(3000).into());
    let item: Item =
        [("b".into(), booleans), ("n".into(), large), ("s".into(), escaped)].into_iter().collect();
    let (mut direct, mut decoded) = (b"before".to_vec(), b"before".to_vec());
    ImageRef::new(&encode(&item)).unwrap().write_json(&mut direct).unwrap();
    json::write_item(&item, &mut decoded);
    assert_eq!(direct, decoded);
}

#[test]
fn values_are_compared_without_decoding() {
    let stored = encode(&sample());
    let view = ImageRef::new(&stored).unwrap();
    let list = AttributeValue::L(vec![true.into(), AttributeValue::Null]);
    let raw = |name: &str| view.get_raw(name).unwrap().unwrap();
    for (name, same, other) in [
        ("pk", "a".into(), "b".into()),
        ("n", AttributeValue::N("-1.50".parse().unwrap()), 1.into()),
        ("l", list, AttributeValue::L(vec![])),
    ] {
        assert!(raw(name).equals(&same).unwrap(), "{name}");
        assert!(!raw(name).equals(&other).unwrap(), "{name}");
        assert!(!raw(name).equals(&true.into()).unwrap(), "{name}");
    }
}

#[test]
fn one_attribute_is_read_without_the_others() {
    let stored = encode(&sample());
    let view = ImageRef::new(&stored).unwrap();
    assert_eq!(view.get("pk").unwrap(), Some("a".into()));
    assert_eq!(view.get("m").unwrap(), None);
    assert_eq!(view.get("zz").unwrap(), None);
    assert_eq!(view.get_raw("n").unwrap().unwrap().attribute_type(), AttributeType::N);
    assert_eq!((view.len(), view.is_empty(), view.size_bytes()), (3, false, 16));
}

#[test]
fn damage_is_reported_with_its_kind() {
    let damaged = |change: fn(&mut Vec<u8>)| {
        let mut stored = encode(&sample());
        change(&mut stored);
        ImageRef::new(&stored).and_then(|view| view.decode()).unwrap_err()
    };
    let corrupt = |what: &str| Error::InternalServer(format!("stored item is corrupt: {what}"));
    assert_eq!(damaged(Vec::clear), corrupt("it ends too early"));
    assert_eq!(damaged(|bytes| bytes[0] = 1), corrupt("unknown version"));
    let newer = "it has a newer version than this program knows; upgrade it";
    assert_eq!(damaged(|bytes| bytes[0] = 3), corrupt(newer));
    assert_eq!(damaged(|bytes| bytes.push(0)), corrupt("bytes are left over"));
    assert_eq!(damaged(|bytes| bytes[7] = b'z'), corrupt("attribute names do not ascend"));
    assert_eq!(damaged(|bytes| bytes[13] = 99), corrupt("unknown type"));
    assert_eq!(damaged(|bytes| bytes[14] = 200), corrupt("it ends too early"));
    assert_eq!(damaged(|bytes| bytes[18] = 200), corrupt("it ends too early"));
    assert_eq!(damaged(|bytes| bytes[3] = 200), corrupt("it ends too early"));
    assert_eq!(damaged(|bytes| bytes[7] = 0xFF), corrupt("a string is not UTF-8"));
}

#[test]
fn deep_damage_does_not_exhaust_the_stack() {
    let mut stored = vec![2, 0, 1, 1, 0, 0, 0, b'a', 1];
    let levels = 100_000u32;
    for level in (1..=levels).rev() {
        stored.push(Tag::L as u8);
        stored.extend_from_slice(&(level * 10).to_le_bytes());
        stored.extend_from_slice(&[0, 0, 0, 0, 1]);
    }
    let view = ImageRef::new(&stored).unwrap();
    assert!(view.decode().is_err());
    assert!(view.write_json(&mut Vec::new()).is_err());
}

proptest! {
    #[test]
    fn encoding_round_trips(item in item()) {
        let stored = encode(&item);
        let view = ImageRef::new(&stored).unwrap();
        prop_assert_eq!(view.size_bytes(), item_size(&item));
        prop_assert_eq!(&view.decode().unwrap(), &item);
    }

    #[test]
    fn single_attributes_are_those_of_the_item(item in item(), other in text()) {
        let stored = encode(&item);
        let view = ImageRef::new(&stored).unwrap();
        for name in item.keys().chain([&other]) {
            prop_assert_eq!(view.get(name).unwrap(), item.get(name).cloned());
        }
        let names: Vec<&str> = view.attributes().map(|entry| entry.unwrap().0).collect();
        prop_assert_eq!(names, item.keys().collect::<Vec<_>>());
    }

    #[test]
    fn json_from_the_bytes_is_json_from_the_item(item in item()) {
        let stored = encode(&item);
        let view = ImageRef::new(&stored).unwrap();
        let (mut direct, mut decoded) = (Vec::new(), Vec::new());
        view.write_json(&mut direct).unwrap();
        json::write_item(&item, &mut decoded);
        prop_assert_eq!(direct, decoded);
    }

    #[test]
    fn the_reader_never_panics(
        item in item(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut stored = encode(&item);
        for (at, byte) in changes {
            let at = at.index(stored.len());
            stored[at] = byte;
        }
        stored.truncate(cut.index(stored.len() + 1));
        if let Ok(view) = ImageRef::new(&stored) {
            let _ = view.decode();
            let _ = view.get("a");
            let _ = view.write_json(&mut Vec::new());
            let _ = view.attributes().count();
        }
    }
}
