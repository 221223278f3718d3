//! How do I store a time series? A partition for each month, and reads over any range, the newest first.
//!
//! `cargo run -p keyloom --example time_series`

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]

use keyloom::prelude::*;

#[keyloom::design(table(sensors, PK, SK))]
mod sensors {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "SENSOR#{sensor}#{at:month}", SK = "AT#{at}")]
    pub struct Reading {
        pub sensor: String,
        pub at: Timestamp,
        pub celsius: f64,
    }

    #[derive(Access)]
    #[access(find = Reading, where = "sensor = ? and at between ? and ?", order = "at desc")]
    pub struct Readings {
        pub sensor: String,
        pub at_from: Timestamp,
        pub at_to: Timestamp,
    }
}
use sensors::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sensors = Sensors::open(Database::memory())?;
    let start: Timestamp = "2024-01-01T00:00:00Z".parse()?;
    let hours = (0..24 * 90).map(|hour| Reading {
        sensor: "attic".into(),
        at: start.plus_millis(hour * 3_600_000),
        celsius: 20.0 + (hour % 24) as f64 / 10.0,
    });
    sensors.batch().put_all(&hours.collect::<Vec<_>>()).run()?;
    // A day stands for all of it: the 31st is inside to its last second.
    let asked = || Readings {
        sensor: "attic".into(),
        at_from: Timestamp::from_date(2024, 1, 31).unwrap_or(start),
        at_to: Timestamp::from_date(2024, 3, 1).unwrap_or(start),
    };
    println!("{} readings", sensors.query(asked()).collect()?.len());
    // Three partitions could hold them; only the newest is read for these.
    for reading in sensors.query(asked()).take(3).collect()? {
        println!("{}: {:.1} °C", reading.at, reading.celsius);
    }
    Ok(())
}
