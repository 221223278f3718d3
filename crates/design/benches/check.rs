//! How long a design file takes: 200 entities and 500 patterns should check in less than 100 ms.
//!
//! `cargo bench -p keyloom-design`

#[path = "../tests/large_design/mod.rs"]
mod large_design;

use divan::Bencher;
use keyloom_design::cost::Prices;
use keyloom_design::{Design, check_text, report};

fn main() {
    divan::main();
}

#[divan::bench]
fn read_200_entities_500_patterns(bencher: Bencher) {
    let text = large_design::large_design();
    bencher.bench(|| Design::parse("large.toml", &text));
}

#[divan::bench]
fn check_200_entities_500_patterns(bencher: Bencher) {
    let (text, prices) = (large_design::large_design(), Prices::default());
    bencher.bench(|| check_text("large.toml", &text, &prices));
}

#[divan::bench]
fn check_and_write_json_200_entities_500_patterns(bencher: Bencher) {
    let (text, prices) = (large_design::large_design(), Prices::default());
    bencher.bench(|| report::json(&[check_text("large.toml", &text, &prices)]).to_string());
}
