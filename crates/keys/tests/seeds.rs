//! The key designs of five well-known guides: their keys parse, and where a guide's query is refused or silently wrong,
//! the library says so.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use keyloom_keys::{
    Clause, FieldCondition, KeyRange, Order, PrefixMatch, RangeError, RangeKind, Relation, Shards,
    Template, TemplateSet, Value, patterns,
};

fn template(text: &str) -> Template {
    Template::parse(text).unwrap()
}

#[test]
fn every_key_of_the_guides_has_a_template() {
    for (text, keys) in [
        ("USER#{id}", &["USER#123", "USER#U1", "USER#alice"][..]),
        ("PROFILE#", &["PROFILE#"]),
        ("PROFILE", &["PROFILE"]),
        ("POST#{at:datetime}", &["POST#2023-05-19T13:45:00Z"]),
        ("COMMENT#USER#{user}#{at:datetime}", &["COMMENT#USER#123#2023-05-19T14:00:00Z"]),
        ("FOLLOWS#USER#{user}", &["FOLLOWS#USER#789"]),
        ("CATEGORY#{category}", &["CATEGORY#Electronics", "CATEGORY#Technology"]),
        (
            "{year:fixed:4}#{month:u8:2}#{day:u8:2}#{hour:u8:2}#{minute:u8:2}#{second:u8:2}",
            &["2023#05#19#14#30#22"],
        ),
        ("ARTICLE#{id}#{day:date}", &["ARTICLE#A1#2023-05-19"]),
        ("COMMENT#{id}#{at:datetime}", &["COMMENT#C1#2023-05-19T14:22:15Z"]),
        ("FAVORITE#ARTICLE#{id}#{at:datetime}", &["FAVORITE#ARTICLE#A1#2023-05-19T15:10:30Z"]),
        ("{day:date}#ARTICLE#{id}", &["2023-05-19#ARTICLE#A2"]),
        (
            "V#{version:u32:plain}#{at:datetime}",
            &["V#1#2023-05-10T09:30:00Z", "V#3#2023-05-19T11:05:45Z"],
        ),
        ("TENANT#{tenant}#DOC#{doc}", &["TENANT#T1#DOC#D1"]),
        ("TENANT#{tenant}#ROLE#{role}#DOC#{doc}", &["TENANT#T1#ROLE#Admin#DOC#D1"]),
        ("SENSOR#{sensor}#{at:month}", &["SENSOR#123#2023-05"]),
        ("STATUS#{status:enum:Todo|In Progress|Done}", &["STATUS#In Progress"]),
        ("ASSIGNED#TASK#{task}#{day:date}", &["ASSIGNED#TASK#T1#2023-05-15"]),
        ("EMAIL#{email}", &["EMAIL#user@example.com"]),
        ("{year:fixed:4}#{month:u8:2}#{day:u8:2}#{metric}#{host}", &["2024#12#01#CPU#server-1"]),
        ("USER#{user}#PROFILE", &["USER#alice#PROFILE", "USER#bob#PROFILE"]),
        ("{a}#{b}#{c}#{product}", &["ELECTRONICS#COMPUTERS#LAPTOPS#product-123"]),
        ("VERSION#{at:datetime}#{label}", &["VERSION#2024-12-01T10:30:00Z#v1"]),
        ("ORDER#{day:date}#{id}", &["ORDER#2024-12-01#456", "ORDER#2024-01-15#abc"]),
        ("PRODUCT#{product}#VARIANT#{color}", &["PRODUCT#TV-LG-55#VARIANT#Black"]),
        ("ORDERS#{day:date}", &["ORDERS#2023-10-26"]),
        (
            "inventory::{category}::{item}",
            &["inventory::armor::item_456", "inventory::armor::helmet_123"],
        ),
        ("ADDRESS#{kind}", &["ADDRESS#home", "ADDRESS#work"]),
        ("METRIC#{at:epoch_ms:13}#{id}", &["METRIC#1705314600000#temp"]),
        ("US#CA#{city}", &["US#CA#SF"]),
        ("{path}", &["root/documents/2024"]),
        ("{hour:hour}", &["2024-12-01-14"]),
        ("ACCOUNT#{account}", &["ACCOUNT#acc-123"]),
    ] {
        let template = template(text);
        for key in keys {
            let fields = template.parse_key(key).unwrap();
            let values: Vec<Value<'_>> = fields.iter().map(|(_, value)| value).collect();
            assert_eq!(template.build_values(&values).unwrap(), *key);
        }
    }
}

#[test]
fn begins_with_and_after_is_one_range() {
    // DynamoDB refuses two conditions on one sort key.
    let metric = template("METRIC#{at:epoch_ms}#{id}");
    let range = metric.range(&[], Some(&FieldCondition::gt("at", "1705314600000"))).unwrap();
    assert_eq!(range.kind(), &RangeKind::Between);
    assert_eq!(range.lower(), "METRIC#001705314600001#");
    assert!(range.upper().starts_with("METRIC#"));
    let merged = KeyRange::starting_with("METRIC#").intersect(&range).unwrap();
    assert_eq!(merged, range);
}

#[test]
fn versions_need_padding_and_have_no_dates_in_order() {
    let plain = template("V#{version:u32:plain}#{at:datetime}");
    assert!(matches!(plain.order(), Order::Broken(found) if found.field == "version"));
    let padded = template("V#{version:u32:6}#{at:datetime}");
    assert_eq!(padded.order(), Order::Proven);
    let by_date = padded.range(&[], Some(&FieldCondition::lt("at", "2023-05-15")));
    assert_eq!(
        by_date.unwrap_err(),
        RangeError::NotNext { field: "at".to_owned(), unbound: "version".to_owned() }
    );
    assert_eq!(patterns::version_prefix(2).unwrap(), "V#000002#");
}

#[test]
fn prefixes_that_find_nothing_are_found_out() {
    for (text, prefix, meant) in [
        ("ORDER#{at:date}#{id}", "ORDER#2024-12#", "ORDER#2024-12"),
        ("VERSION#{at:datetime}#{label}", "VERSION#2024-12-01#", "VERSION#2024-12-01"),
    ] {
        let template = template(text);
        assert!(
            matches!(template.match_prefix(prefix), PrefixMatch::Never { longest, .. } if longest == meant)
        );
        assert_eq!(
            template.partial_prefix(&[], "at", meant.split_once('#').unwrap().1).unwrap(),
            meant
        );
    }
}

#[test]
fn the_last_day_of_a_range_is_in_it() {
    let order = template("ORDER#{at:datetime}#{id}");
    let by_hand = KeyRange::starting_with("ORDER#2024-01-31");
    let last = "ORDER#2024-01-31T18:00:00Z#abc";
    assert!(last > "ORDER#2024-01-31", "the guide's own upper end cuts it off");
    let clause = Clause::parse("at between 2024-01-01 and 2024-01-31").unwrap();
    let range = order.range_where(&clause, &[]).unwrap();
    assert!(range.contains(last) && by_hand.contains(last));
    assert!(!range.contains("ORDER#2024-02-01T00:00:00Z#abc"));
}

#[test]
fn a_product_is_asked_for_without_its_longer_namesakes() {
    let product = template("PRODUCT#{product}");
    let variant = template("PRODUCT#{product}#VARIANT#{color}");
    assert!(matches!(product.relation(&variant), Relation::PrefixOf { .. }));
    let variants = variant.prefix(&[("product", "TV-LG-55".into())]).unwrap();
    assert!("PRODUCT#TV-LG-55#VARIANT#Black".starts_with(&variants));
    assert!(!"PRODUCT#TV-LG-550#VARIANT#Black".starts_with(&variants));
}

#[test]
fn writers_and_readers_of_shards_use_the_same_keys() {
    // The guide writes `SHARD_7` and reads `SHARD#7`.
    let shards = Shards::new(10).unwrap();
    let written = patterns::distributed_key_with("STATUS#ACTIVE", 10, 7).unwrap();
    assert_eq!(written, "STATUS#ACTIVE#SHARD_7");
    assert!(shards.keys("STATUS#ACTIVE").any(|read| read == written));
}

#[test]
fn a_collection_tells_its_entities_apart() {
    let set = TemplateSet::new([
        ("profile", template("PROFILE")),
        ("team", template("TEAM#{team}")),
        ("assignee", template("ASSIGNEE#USER#{user}")),
        ("tag", template("TAG#{tag}")),
        ("comment", template("COMMENT#{comment}#{at:datetime}")),
    ])
    .unwrap();
    assert_eq!(set.detect("ASSIGNEE#USER#U1").unwrap().0, "assignee");
    assert_eq!(set.detect("COMMENT#C1#2023-05-19T10:15:30Z").unwrap().0, "comment");
    let colliding =
        TemplateSet::new([("a", template("ITEM#{id}")), ("b", template("{kind}#{id}"))]);
    let error = colliding.unwrap_err().to_string();
    assert!(error.starts_with("`a` and `b` can build the same key, such as `ITEM#"), "{error}");
}
