//! Months ahead: items that grow, multiply and expire, and loads that make no sense.
#![expect(clippy::indexing_slicing, reason = "a panic is how a test fails")]

use keyloom_design::check_text;
use keyloom_design::cost::Prices;
use keyloom_simulate::{Forecast, Options, forecast};

const LOGS: &str = r#"
[table.logs]
partition_key = "PK"
sort_key      = "SK"
ttl           = "expires_at"

[entity.Log]
PK    = "HOST#{host}"
SK    = "LOG#{at}#{log}"
count = 1_000_000
size  = "900 B"

[entity.Log.fields]
host       = { type = "token", distinct = 1_000 }
at         = "datetime"
log        = "ulid"
expires_at = "number"

[access."logs of a host"]
find  = "Log"
where = "host = ?"
limit = 10
rate  = "10/s"

[write."log"]
entity = "Log"
rate   = "1/s"
"#;

fn after(text: &str, months: f64) -> Forecast {
    let report = check_text("logs.toml", text, &Prices::default());
    assert!(report.is_whole, "{:?}", report.findings);
    let options = Options { scales: vec![1.0], months, ..Options::default() };
    forecast(&report, |_| {}, &options, &Prices::default())
}

fn bytes(text: &str, months: f64) -> f64 {
    after(text, months).scales[0].bytes
}

fn with(line: &str) -> String {
    LOGS.replace("size  = \"900 B\"", &format!("size  = \"900 B\"\n{line}"))
}

#[test]
fn items_that_expire_lower_storage() {
    let now = bytes(LOGS, 0.0);
    assert!((now - 1e9).abs() < 1e7, "{now}");
    assert!((bytes(LOGS, 12.0) - now).abs() < 1.0);
    // One a second for a week and the two days until it is deleted.
    let kept = 9.0 * 86_400.0 * 1_000.0;
    let later = bytes(&with("lives = \"7 days\""), 3.0);
    assert!((later - kept).abs() < kept * 0.01, "{later} {kept}");
    // Without a rate as many come as go.
    let steady = with("lives = \"7 days\"").replace("rate   = \"1/s\"\n", "");
    assert!((bytes(&steady, 3.0) - now).abs() < now * 0.001);
}

#[test]
fn items_that_grow_cost_more_to_read_and_write() {
    let grows = with("growth = \"10%/month\"\nsize_growth = \"20%/month\"");
    let (now, later) = (after(&grows, 0.0), after(&grows, 6.0));
    let times = later.scales[0].bytes / now.scales[0].bytes;
    // Entries have 100 bytes that do not grow.
    let expected = 1.1_f64.powi(6) * (900.0 * 1.2_f64.powi(6) + 100.0) / 1000.0;
    assert!((times - expected).abs() < 0.1, "{times} {expected}");
    let units = |forecast: &Forecast, name: &str| {
        let flow = forecast.workload.flows.iter().find(|flow| flow.name == name);
        flow.map_or(0.0, |flow| flow.touches.iter().map(|touch| touch.units).sum::<f64>())
    };
    assert!((units(&now, "log") - 1.0).abs() < 1e-9);
    assert!((units(&later, "log") - 3.0).abs() < 1e-9, "2,687 bytes are three units");
    assert!(units(&later, "logs of a host") > units(&now, "logs of a host") * 1.9);
}

#[test]
fn what_expires_needs_a_ttl() {
    let report = check_text(
        "logs.toml",
        &with("lives = \"7 days\"").replace("ttl           = \"expires_at\"\n", ""),
        &Prices::default(),
    );
    assert!(
        report.findings.iter().any(|it| it.message.contains("nothing expires in table `logs`"))
    );
    for wrong in
        ["lives = \"soon\"", "lives = \"0 days\"", "lives = \"-3 days\"", "size_growth = \"x\""]
    {
        let report = check_text("logs.toml", &with(wrong), &Prices::default());
        assert!(!report.is_whole, "{wrong}");
    }
}

#[test]
fn loads_without_sense_give_numbers_all_the_same() {
    for rate in ["0/s", "1e300/s", "999999999999999/s", "0.0000001/month"] {
        let text = LOGS
            .replace("1/s\"\n", &format!("{rate}\"\n"))
            .replace("\"10/s\"", &format!("\"{rate}\""));
        let report = check_text("logs.toml", &text, &Prices::default());
        if !report.is_whole {
            continue;
        }
        let options = Options { scales: vec![1.0, 1e6], ..Options::default() };
        let found = forecast(&report, |_| {}, &options, &Prices::default());
        for scale in &found.scales {
            for flow in &scale.outcome.flows {
                let share = flow.refused_share();
                assert!((0.0..=1.0).contains(&share), "{rate}: {share}");
            }
            assert!(scale.costs.dollars.iter().all(|it| !it.is_nan()), "{rate}");
        }
    }
    for rate in ["-5/s", "nan/s", "often"] {
        let text = LOGS.replace("\"10/s\"", &format!("\"{rate}\""));
        assert!(!check_text("logs.toml", &text, &Prices::default()).is_whole, "{rate}");
    }
}
