//! The typed client does what the plan says: what an index does not hold is fetched, and whole keys are one batch.
#![expect(unreachable_pub, reason = "tests")]

use keyloom::prelude::*;

#[keyloom::design(table(
    stock,
    PK,
    SK,
    index(byRank, PK, L1, local, projection = "keys"),
    index(byKind, G1, G2, projection = "keys")
))]
mod stock {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "OWNER#{owner}",
        SK = "ITEM#{id}",
        L1 = "RANK#{rank}#{id}",
        G1 = "KIND#{kind}",
        G2 = "ITEM#{rank}#{id}"
    )]
    pub struct Item {
        pub owner: String,
        pub id: String,
        pub rank: u16,
        pub kind: String,
        pub note: String,
    }

    #[derive(Access)]
    #[access(find = Item, where = "owner = ?", order = "rank", index = "byRank")]
    pub struct Ranked {
        pub owner: String,
    }

    #[derive(Access)]
    #[access(find = Item, where = "kind = ?", order = "rank", index = "byKind")]
    pub struct OfKind {
        pub kind: String,
    }

    #[derive(Access)]
    #[access(find = Item, where = "owner = ? and id in (:first, :second, :third)", order = "id desc")]
    pub struct Some3 {
        pub owner: String,
        pub first: String,
        pub second: String,
        pub third: String,
    }
}

use stock::*;

fn item(id: &str, rank: u16) -> Item {
    let text = |text: &str| text.to_owned();
    Item { owner: text("ann"), id: text(id), rank, kind: text("book"), note: format!("note {id}") }
}

fn filled() -> keyloom::Result<Table<Stock>> {
    let stock = Stock::open(Database::memory())?;
    for (id, rank) in [("a", 3), ("b", 1), ("c", 2)] {
        stock.put(&item(id, rank))?;
    }
    Ok(stock)
}

#[test]
fn a_local_index_returns_whole_items_although_it_holds_keys() -> keyloom::Result<()> {
    let found = filled()?.query(Ranked { owner: "ann".into() }).collect()?;
    assert_eq!(found, [item("b", 1), item("c", 2), item("a", 3)]);
    Ok(())
}

#[test]
fn a_global_index_leads_to_whole_items() -> keyloom::Result<()> {
    let stock = filled()?;
    let query = || stock.query(OfKind { kind: "book".into() });
    assert!(query().explain()?.second_step.is_some(), "the index holds keys only");
    assert_eq!(query().collect()?, [item("b", 1), item("c", 2), item("a", 3)]);
    Ok(())
}

#[test]
fn whole_keys_are_one_batch_in_the_order_asked_for() -> keyloom::Result<()> {
    let stock = filled()?;
    let query = || {
        let [first, second, third] = ["a", "c", "missing"].map(str::to_owned);
        stock.query(Some3 { owner: "ann".into(), first, second, third })
    };
    let explained = query().explain()?;
    assert_eq!(explained.requests.len(), 1);
    assert!(explained.requests.iter().all(|(operation, _)| *operation == "BatchGetItem"));
    assert_eq!(query().collect()?, [item("c", 2), item("a", 3)]);
    Ok(())
}
