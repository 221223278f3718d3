//! How do I work with items instead of structs?
//!
//! `cargo run -p keyloom --example without_types`

#![expect(clippy::print_stdout, reason = "an example")]

use keyloom::{Condition, Database, Op, TableClient, Update, item};

fn main() -> keyloom::Result<()> {
    let table = TableClient::new(Database::memory(), "shop");
    table.create()?;
    table.put(item! { "pk" => "USER#123", "sk" => "ORDER#2024-12-01#456", "total" => 99, "status" => "pending" })?;
    table.put(item! { "pk" => "USER#123", "sk" => "ORDER#2025-01-07#457", "total" => 12, "status" => "paid" })?;
    table.put(item! { "pk" => "USER#123", "sk" => "PROFILE", "name" => "Ann" })?;

    let december = table.query("USER#123").begins_with("ORDER#2024-12").collect()?;
    println!("in December: {}", december.len());
    let large =
        table.query("USER#123").begins_with("ORDER#").filter("total", Op::gt(50)).collect()?;
    println!("large: {}", large.len());
    let paid = Update::new().set("status", "paid").append("history", "paid by card");
    let open = Condition::when("status", Op::eq("pending")).or(("status", Op::Missing));
    let order = ("USER#123", "ORDER#2024-12-01#456");
    println!("{:?}", table.update_where(order, paid, open)?);
    // Several writes, all or none.
    let refused = table
        .transaction()
        .check(order, ("status", Op::eq("pending")))
        .put(item! { "pk" => "USER#123", "sk" => "INVOICE#1" })
        .commit();
    println!("already paid: {}", refused.is_err());
    println!("items in all: {}", table.scan().collect()?.len());
    Ok(())
}
