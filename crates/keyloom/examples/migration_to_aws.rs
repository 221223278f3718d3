//! How do I move from the embedded database to DynamoDB? The program stays; its items are copied and compared.
//!
//! `cargo run -p keyloom --example migration_to_aws` starts Keyloom's own server as the target. With `-- aws`, the target
//! is DynamoDB, with the region and credentials of the usual places; the table is made there.

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]

use keyloom::prelude::*;
use keyloom::{Backend, TableClient};
use keyloom_server::{Config, Server};

#[keyloom::design(table(keyloom_migration, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
mod shop {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "CUSTOMER#{customer}",
        SK = "ORDER#{number}",
        GSI1PK = "STATUS#{status}",
        GSI1SK = "ORDER#{number}"
    )]
    pub struct Order {
        pub customer: String,
        pub number: u32,
        #[field(values("open", "paid"))]
        pub status: String,
    }

    #[derive(Access)]
    #[access(find = Order, order = "number")]
    pub struct OrdersOf {
        pub customer: String,
    }

    #[derive(Access)]
    #[access(find = Order, order = "number")]
    pub struct OrdersWith {
        pub status: String,
    }
}
use shop::*;

/// What the program asks: the same code, whichever database it is.
fn report(shop: &Table<Shop>) -> keyloom::Result<(Vec<Order>, Vec<Order>)> {
    let ann = shop.query(OrdersOf { customer: "ann".into() }).collect()?;
    let open = shop.query(OrdersWith { status: "open".into() }).collect()?;
    Ok((ann, open))
}

/// Copies every item as it is stored, keys of indexes included, and says how many there were.
fn copy(from: &Backend, to: &Backend) -> keyloom::Result<usize> {
    let client = |backend: &Backend| {
        TableClient::new(backend.clone(), "keyloom_migration").with_keys("PK", "SK")
    };
    let (from, to) = (client(from), client(to));
    let mut copied = 0;
    for page in from.scan().pages() {
        let items = page?.items;
        copied += items.len();
        // Puts are the same when repeated: after an error, the copy can simply be started again.
        to.batch_put(items)?;
    }
    Ok(copied)
}

/// Compares item by item.
fn verify(from: &Backend, to: &Backend) -> keyloom::Result<usize> {
    let client = |backend: &Backend| {
        TableClient::new(backend.clone(), "keyloom_migration").with_keys("PK", "SK")
    };
    let (from, to) = (client(from), client(to));
    let mut different = 0;
    for item in from.scan().items() {
        let item = item?;
        let key = item.get("PK").cloned().zip(item.get("SK").cloned());
        let found = key.map(|key| to.get_consistent(key)).transpose()?.flatten();
        different += usize::from(found.as_ref() != Some(&item));
    }
    Ok(different)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let embedded = Shop::open(Database::memory())?;
    let status = |number: u32| if number.is_multiple_of(3) { "open" } else { "paid" };
    let orders = (0..500).map(|number| Order {
        customer: if number % 2 == 0 { "ann" } else { "bob" }.into(),
        number,
        status: status(number).into(),
    });
    embedded.batch().put_all(&orders.collect::<Vec<_>>()).run()?;

    let on_aws = std::env::args().nth(1).as_deref() == Some("aws");
    let server = if on_aws {
        None
    } else {
        let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
        Some(Server::start(config, Database::memory())?)
    };
    let endpoint = server.as_ref().map_or_else(Endpoint::aws, |server| Endpoint::url(server.url()));
    let remote = Shop::open(Remote::new(endpoint)?)?;
    remote.create_tables()?;

    println!("{} items copied", copy(embedded.backend(), remote.backend())?);
    println!("{} items differ", verify(embedded.backend(), remote.backend())?);
    let (here, there) = (report(&embedded)?, report(&remote)?);
    println!("the program sees the same: {}", here == there);
    if let Some(server) = server {
        server.shutdown();
    }
    if here == there { Ok(()) } else { Err("the copy is not the original".into()) }
}
