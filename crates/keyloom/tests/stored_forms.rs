//! What the typed client stores is what the planner's conditions compare: folded texts, decimals, times of every
//! precision, shards calculated from them; and fields that are `immutable` or bounded by `since` and `until`.
#![expect(clippy::unwrap_used, unreachable_pub, reason = "tests")]

use keyloom::prelude::*;
use keyloom::{Decimal, Error};

#[keyloom::design(
    table(sales, PK, SK, index(BUYER, buyer, at), index(PRICE, shop, "price:N")),
    allow(A02, reason = "the filters are what is tested")
)]
mod sales {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "SHOP#{shop}", SK = "SALE#{id}")]
    pub struct Sale {
        pub shop: String,
        pub id: u32,
        #[field(type = "token:lower")]
        pub buyer: String,
        pub at: Timestamp,
        #[field(type = "hour")]
        pub hour: Timestamp,
        #[field(type = "date:desc")]
        pub day: Timestamp,
        #[field(type = "epoch_ms")]
        pub paid: Timestamp,
        #[field(type = "decimal:10.2")]
        pub price: Decimal,
        pub discount: Option<Decimal>,
    }

    /// Shards by what can be written in several ways.
    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "VISIT#{shard}#{who}",
        SK = "{price}#{at}",
        shard(shard, shards = 64, by(who, price, at))
    )]
    pub struct Visit {
        #[field(type = "token:upper")]
        pub who: String,
        #[field(type = "decimal:8.3")]
        pub price: Decimal,
        pub at: Timestamp,
    }

    #[derive(Access)]
    #[access(find = Visit, where = "who = ? and price = ? and at = ?")]
    pub struct OneVisit {
        pub who: String,
        pub price: Decimal,
        pub at: Timestamp,
    }

    #[derive(Access)]
    #[access(find = Sale, where = "buyer = ?", order = "at")]
    pub struct SalesToBuyer {
        pub buyer: String,
    }

    #[derive(Access)]
    #[access(find = Sale, where = "shop = ? and price >= ?", order = "price", index = "PRICE")]
    pub struct SalesOver {
        pub shop: String,
        pub price: Decimal,
    }

    #[derive(Access)]
    #[access(find = Sale, where = "shop = ? and buyer = ?", index = "table")]
    pub struct ByBuyer {
        pub shop: String,
        pub buyer: String,
    }

    #[derive(Access)]
    #[access(find = Sale, where = "shop = ? and at = ?", index = "table")]
    pub struct ByTime {
        pub shop: String,
        pub at: Timestamp,
    }

    #[derive(Access)]
    #[access(find = Sale, where = "shop = ? and hour = ?")]
    pub struct ByHour {
        pub shop: String,
        pub hour: Timestamp,
    }

    #[derive(Access)]
    #[access(find = Sale, where = "shop = ? and day = ?")]
    pub struct ByDay {
        pub shop: String,
        pub day: Timestamp,
    }

    #[derive(Access)]
    #[access(find = Sale, where = "shop = ? and paid = ?")]
    pub struct ByPayment {
        pub shop: String,
        pub paid: Timestamp,
    }

    #[derive(Access)]
    #[access(find = Sale, where = "shop = ? and price = ?", index = "table")]
    pub struct ByPrice {
        pub shop: String,
        pub price: Decimal,
    }

    #[derive(Access)]
    #[access(find = Sale, where = "shop = ? and discount > ?")]
    pub struct WithDiscount {
        pub shop: String,
        pub discount: Decimal,
    }
}
use sales::*;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

fn sale() -> Sale {
    Sale {
        shop: "s1".into(),
        id: 7,
        buyer: "Ann".into(),
        at: time("2024-05-17T14:30:00.000Z"),
        hour: time("2024-05-17T14:30:00Z"),
        day: time("2024-05-17T14:30:00Z"),
        paid: time("2024-05-17T14:31:00.125Z"),
        price: decimal("19.9"),
        discount: Some(decimal("0.5")),
    }
}

#[test]
fn conditions_find_what_was_stored() {
    let table = Sales::open(Database::memory()).unwrap();
    table.put(&sale()).unwrap();
    let shop = || "s1".to_owned();
    let at = time("2024-05-17T14:30:00Z");
    let found = [
        (
            "buyer of the index",
            table.query(SalesToBuyer { buyer: "ANN".into() }).collect().unwrap(),
        ),
        ("buyer", table.query(ByBuyer { shop: shop(), buyer: "aNN".into() }).collect().unwrap()),
        ("time", table.query(ByTime { shop: shop(), at }).collect().unwrap()),
        (
            "hour",
            table.query(ByHour { shop: shop(), hour: time("2024-05-17T14") }).collect().unwrap(),
        ),
        ("day", table.query(ByDay { shop: shop(), day: time("2024-05-17") }).collect().unwrap()),
        ("payment", table.query(ByPayment { shop: shop(), paid: sale().paid }).collect().unwrap()),
        (
            "price",
            table.query(ByPrice { shop: shop(), price: decimal("19.900") }).collect().unwrap(),
        ),
        (
            "price over",
            table.query(SalesOver { shop: shop(), price: decimal("9") }).collect().unwrap(),
        ),
        (
            "discount",
            table
                .query(WithDiscount { shop: shop(), discount: decimal("0.25") })
                .collect()
                .unwrap(),
        ),
    ];
    let stored = Sale {
        buyer: "ann".into(),
        at,
        hour: time("2024-05-17T14"),
        day: time("2024-05-17"),
        ..sale()
    };
    for (what, rows) in found {
        assert_eq!(rows, std::slice::from_ref(&stored), "{what}");
    }
    assert_eq!(table.get(Sale::at("s1", 7_u32)).unwrap(), Some(stored));
}

#[test]
fn a_patch_stores_the_same_forms() {
    let table = Sales::open(Database::memory()).unwrap();
    table.put(&sale()).unwrap();
    let patch = Sale::patch("s1", 7_u32).price(decimal("20.50")).paid(time("2024-05-18T00:00:00Z"));
    let changed = table.apply(patch).unwrap();
    assert_eq!(changed.price, decimal("20.5"));
    let rows =
        table.query(ByPrice { shop: "s1".into(), price: decimal("20.5") }).collect().unwrap();
    assert_eq!(rows.len(), 1);
    let paid = time("2024-05-18T00:00:00Z");
    assert_eq!(table.query(ByPayment { shop: "s1".into(), paid }).collect().unwrap().len(), 1);
}

#[test]
fn a_time_that_is_finer_than_its_field_is_refused() {
    let table = Sales::open(Database::memory()).unwrap();
    let fine = Sale { at: time("2024-05-17T14:30:00.250Z"), ..sale() };
    let error = table.put(&fine).unwrap_err().to_string();
    assert!(error.contains("`at`") && error.contains("datetime:ms"), "{error}");
}

/// Whoever writes and whoever reads come to the same shard, however they write the values.
#[test]
fn shards_do_not_depend_on_how_values_are_written() {
    let table = Sales::open(Database::memory()).unwrap();
    let at = time("2024-05-17T16:30:00.000+02:00");
    for n in 0..30 {
        let visit = Visit { who: format!("who-{n}"), price: decimal("1.5"), at };
        table.put(&visit).unwrap();
        let asked = OneVisit {
            who: format!("Who-{n}"),
            price: decimal("1.500"),
            at: time("2024-05-17T14:30:00Z"),
        };
        let rows: Vec<Visit> = table.query(asked).collect().unwrap();
        assert_eq!(rows.len(), 1, "who-{n}");
    }
}

#[keyloom::design(table(log, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
mod log {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "SHOP#{shop}#{at:year}",
        SK = "{at}#{id}",
        GSI1PK = "STATE#{state}",
        GSI1SK = "{created}#{id}",
        was(Bill)
    )]
    pub struct Invoice {
        pub shop: String,
        pub id: u32,
        #[field(type = "date", since = "2019-01-01", until = "2028-12-31")]
        pub at: Timestamp,
        pub state: String,
        #[field(immutable)]
        pub created: Timestamp,
        #[field(immutable, was = "writer")]
        pub author: String,
        #[field(immutable)]
        pub approved_by: Option<String>,
        #[field(version)]
        pub version: u64,
    }

    #[derive(Access)]
    #[access(find = Invoice, where = "shop = ?", order = "at desc", limit = 3)]
    pub struct LatestInvoices {
        pub shop: String,
    }

    #[derive(Access)]
    #[access(find = Invoice, where = "shop = ? and at <= ?", order = "at")]
    pub struct InvoicesUntil {
        pub shop: String,
        pub at: Timestamp,
    }
}
use log::*;

fn invoice(id: u32, year: u32) -> Invoice {
    Invoice {
        shop: "s1".into(),
        id,
        at: time(&format!("{year}-03-01")),
        state: "open".into(),
        created: time("2024-05-17T14:30:00Z"),
        author: "ann".into(),
        approved_by: None,
        version: 0,
    }
}

#[test]
fn since_and_until_close_time_buckets() {
    let table = Log::open(Database::memory()).unwrap();
    for year in 2019..=2028 {
        table.put(&invoice(year, year)).unwrap();
    }
    let latest = table.query(LatestInvoices { shop: "s1".into() }).collect().unwrap();
    assert_eq!(latest.iter().map(|row| row.id).collect::<Vec<_>>(), [2028, 2027, 2026]);
    let at = time("2021-12-31");
    let early = table.query(InvoicesUntil { shop: "s1".into(), at }).collect().unwrap();
    assert_eq!(early.iter().map(|row| row.id).collect::<Vec<_>>(), [2019, 2020, 2021]);
}

fn refused<T: std::fmt::Debug>(result: Result<T, Error>, named: &str) {
    match result {
        Err(Error::Immutable { field, entity: "Invoice", .. }) => assert_eq!(field, named),
        other => panic!("{named} should be refused: {other:?}"),
    }
}

#[test]
fn what_is_immutable_does_not_change() {
    let table = Log::open(Database::memory()).unwrap();
    let first = invoice(1, 2024);
    table.put(&first).unwrap();
    let key = || Invoice::at("s1", 1_u32, time("2024-03-01"));
    // Read, changed and written back.
    refused(table.update(key(), |invoice| invoice.author = "bob".into()), "author");
    refused(
        table
            .upsert(key(), |old| Invoice { created: time("2025-01-01T00:00:00Z"), ..old.unwrap() }),
        "created",
    );
    let mut read = table.get(key()).unwrap().unwrap();
    read.author = "bob".into();
    refused(table.save(&mut read), "author");
    assert_eq!(table.get(key()).unwrap(), Some(first.clone()), "nothing is written");
    // What was absent is written once.
    let approved = table.update(key(), |invoice| invoice.approved_by = Some("cid".into())).unwrap();
    assert_eq!(approved.approved_by.as_deref(), Some("cid"));
    refused(table.update(key(), |invoice| invoice.approved_by = None), "approved_by");
    // Other fields change as ever.
    table.update(key(), |invoice| invoice.state = "paid".into()).unwrap();
}

#[test]
fn a_patch_does_not_change_what_is_immutable() {
    let table = Log::open(Database::memory()).unwrap();
    table.put(&invoice(1, 2024)).unwrap();
    let patch = || Invoice::patch("s1", 1_u32, time("2024-03-01"));
    let once = table.apply(patch().approved_by(Some("cid".to_owned()))).unwrap();
    assert_eq!(once.approved_by.as_deref(), Some("cid"));
    table.apply(patch().approved_by(Some("cid".to_owned()))).unwrap();
    refused(table.apply(patch().approved_by(Some("dan".to_owned()))), "approved_by");
    refused(table.apply(patch().approved_by(None)), "approved_by");
    let in_one = table.transaction().apply(patch().approved_by(Some("dan".to_owned()))).commit();
    refused(in_one, "approved_by");
    let nobody = Invoice::patch("s1", 2_u32, time("2024-03-01")).approved_by(Some("x".to_owned()));
    assert!(matches!(table.apply(nobody), Err(Error::NotFound { .. })));
    let stored = table.get(Invoice::at("s1", 1_u32, time("2024-03-01"))).unwrap().unwrap();
    assert_eq!(stored.approved_by.as_deref(), Some("cid"));
}
