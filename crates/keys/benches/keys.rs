//! Building, parsing and ranging over a three-field key, with allocations counted.
//!
//! `cargo bench -p keyloom-keys`; the columns to look at are `median` and `alloc`.

use divan::{AllocProfiler, Bencher, black_box};
use keyloom_keys::{FieldCondition, Template, Timestamp, Ulid, Value};

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

const TEMPLATE: &str = "ORDER#{customer}#{placed_at:datetime}#{order_id:ulid}";
const KEY: &str = "ORDER#customer-12345#2024-01-15T10:30:00Z#01HM5KXJ8M0000000000000001";

fn template() -> Template {
    Template::parse(TEMPLATE).expect("a valid template")
}

fn values() -> [Value<'static>; 3] {
    [
        "customer-12345".into(),
        Timestamp::from_secs(1_705_314_600).into(),
        Ulid(0x018D_0B3E_CA28_0000_0000_0000_0001).into(),
    ]
}

#[divan::bench(sample_size = 1000)]
fn build_from_names(bencher: Bencher<'_, '_>) {
    let template = template();
    let [customer, placed_at, order_id] = values();
    let values = [("customer", customer), ("placed_at", placed_at), ("order_id", order_id)];
    bencher.bench(|| template.build(black_box(&values)));
}

#[divan::bench(sample_size = 1000)]
fn build_from_positions(bencher: Bencher<'_, '_>) {
    let template = template();
    let values = values();
    bencher.bench(|| template.build_values(black_box(&values)));
}

#[divan::bench(sample_size = 1000)]
fn build_three_strings(bencher: Bencher<'_, '_>) {
    let template =
        Template::parse("USER#{user}#ORDER#{order}#LINE#{line}").expect("a valid template");
    let values: [Value<'_>; 3] = ["customer-12345".into(), "order-67890".into(), "7".into()];
    bencher.bench(|| template.build_values(black_box(&values)));
}

/// The same key without any check, for comparison.
#[divan::bench(sample_size = 1000)]
fn format_three_strings(bencher: Bencher<'_, '_>) {
    let values = ["customer-12345", "order-67890", "7"];
    bencher.bench(|| {
        let [user, order, line] = black_box(&values);
        format!("USER#{user}#ORDER#{order}#LINE#{line}")
    });
}

#[divan::bench(sample_size = 1000)]
fn parse(bencher: Bencher<'_, '_>) {
    let template = template();
    bencher.bench(|| template.parse_key(black_box(KEY)).is_ok());
}

#[divan::bench(sample_size = 1000)]
fn parse_and_read_every_value(bencher: Bencher<'_, '_>) {
    let template = template();
    bencher.bench(|| {
        let fields = template.parse_key(black_box(KEY)).expect("a key of the template");
        for at in 0..fields.len() {
            black_box(fields.at(at));
        }
    });
}

#[divan::bench(sample_size = 1000)]
fn range_of_a_month(bencher: Bencher<'_, '_>) {
    let template = template();
    let bound = [("customer", "customer-12345".into())];
    let january: Timestamp = "2024-01".parse().expect("a month");
    let condition = FieldCondition::eq("placed_at", january);
    bencher.bench(|| template.range(black_box(&bound), Some(&condition)));
}
