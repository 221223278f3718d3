//! Reports, infrastructure and documentation of one design.

use keyloom_design::cost::Prices;
use keyloom_design::emit;
use keyloom_design::{CheckReport, check_text, docs, report};
use serde_json::Value;

const SHOP: &str = r#"
[design]
name = "shop"
description = "Customers and their orders."

[table.shop]
partition_key = "PK"
sort_key      = "SK"
ttl           = "expires_at"
stream        = "both"
billing       = "provisioned"
[table.shop.index.GSI1]
partition_key = "GSI1PK"
sort_key      = "GSI1SK"
projection    = ["total"]
[table.shop.index.byRegion]
partition_key = ["region", "status"]
sort_key      = ["placed_at", "total:N"]
projection    = "keys"

[entity.Customer]
PK = "CUSTOMER#{customer_id}"
SK = "PROFILE"
count = 10_000
size = "600 B"
[entity.Customer.fields]
customer_id = "ulid"
name = { type = "string", max = 100 }

[entity.Order]
PK = "CUSTOMER#{customer_id}"
SK = "ORDER#{placed_at}#{order_id}"
GSI1PK = "ORDER#{order_id}"
GSI1SK = "ORDER"
count = 1_000_000
size = "1 KB"
[entity.Order.fields]
customer_id = "ulid"
order_id = "ulid"
placed_at = "datetime"
region = { type = "string", values = ["eu", "us"] }
status = { type = "string", values = ["open", "paid"] }
total = { type = "decimal", width = 12, scale = 2 }
note = { type = "string", max = 500 }

[access."latest orders"]
find = "Order"
where = "customer_id = ?"
order = "placed_at desc"
limit = 10
rate = "100/s"

[access."order by id"]
find = "Order"
where = "order_id = ?"
returns = ["total"]

[access."open orders of a region"]
find = "Order"
where = "region = ? and status = 'open' and placed_at > ?"

[access."orders by total"]
find = "Order"
where = "total > ?"

[write."place an order"]
entity = "Order"
kind = "put"
rate = "20/s"
[write."sign up"]
entity = "Customer"
kind = "create"
rate = "1/s"

[relationship."orders of a customer"]
from = "Customer"
to = "Order"
"#;

fn shop() -> CheckReport {
    check_text("shop.toml", SHOP, &Prices::default())
}

#[test]
fn the_json_report_has_the_promised_shape() {
    let value = report::json(&[shop()]);
    let finding = &value["findings"].as_array().unwrap()[0];
    for key in ["rule", "severity", "where", "subject", "message", "evidence", "fix"] {
        assert!(finding.get(key).is_some(), "{key} in {finding}");
    }
    assert_eq!(finding["where"]["file"], "shop.toml");
    assert!(finding["where"]["line"].as_u64().unwrap() > 1);
    let patterns = value["patterns"].as_array().unwrap();
    let verdicts: Vec<(&str, &str, &Value)> = patterns
        .iter()
        .map(|p| (p["name"].as_str().unwrap(), p["verdict"].as_str().unwrap(), &p["index"]))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("latest orders", "query", &Value::Null),
            ("order by id", "query", &Value::from("GSI1")),
            ("open orders of a region", "two-step", &Value::from("byRegion")),
            ("orders by total", "refused", &Value::Null),
            ("orders of a customer: Customer to Order", "query", &Value::Null),
            ("orders of a customer: Order to Customer", "get", &Value::Null),
        ]
    );
    for key in ["rows", "order", "limit", "purity", "coverage", "consistency"] {
        let proof = patterns[0]["proofs"][key].as_str().unwrap();
        assert!(["proven", "refuted", "not asked"].contains(&proof));
    }
    let request = &patterns[0]["request"];
    assert_eq!(request["operation"], "Query");
    assert_eq!(request["body"]["KeyConditionExpression"], "#pk = :pk AND begins_with(#sk, :sk)");
    assert_eq!(request["body"]["ExpressionAttributeValues"][":pk"]["S"], "CUSTOMER#{customer_id}");
    assert_eq!(request["body"]["ScanIndexForward"], false);
    assert_eq!(patterns[0]["read_units"], 1.5);
    assert!(patterns[0]["counter_example"].is_null());
}

#[test]
fn explain_fills_the_inputs_in() {
    let shop = shop();
    let design = shop.design.as_ref().unwrap();
    let access = design.access("open orders of a region").unwrap();
    let plan = shop.plans.iter().find(|plan| plan.name == access.name).unwrap();
    let inputs = [("region", "eu"), ("placed_at", "2024-01-31")];
    let inputs = keyloom_design::inputs_from(access, &inputs).unwrap();
    let shown = report::explain(access, plan, Some(&inputs)).unwrap();
    assert!(shown.contains("\":k1\": {\n      \"S\": \"open\""), "{shown}");
    assert!(shown.contains("2024-02-01T00:00:00Z"), "after the whole day: {shown}");
    let error = keyloom_design::inputs_from(access, &[("regon", "eu")]).unwrap_err();
    assert_eq!(error, "`open orders of a region` has no input `regon`; did you mean `region`?");
}

#[test]
fn sarif_lists_rules_and_results() {
    let value = report::sarif(&[shop()]);
    assert_eq!(value["version"], "2.1.0");
    let run = &value["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["id"] == "A01"));
    let result = run["results"].as_array().unwrap().iter().find(|r| r["ruleId"] == "A01").unwrap();
    assert_eq!(result["level"], "error");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "shop.toml");
    assert!(place["region"]["startLine"].as_u64().unwrap() > 1);
}

#[test]
fn text_and_markdown_reports_name_patterns_and_findings() {
    let shop = shop();
    let text = report::human(&shop);
    assert!(text.contains("query    latest orders"), "{text}");
    assert!(text.contains("error[A01]"), "{text}");
    let page = report::markdown(&[shop]);
    assert!(page.contains("| latest orders | query | table |"), "{page}");
}

#[test]
fn create_table_requests_are_complete() {
    let shop = shop();
    let table = &shop.design.as_ref().unwrap().tables()[0];
    let create = emit::create_table(table);
    assert_eq!(create["TableName"], "shop");
    assert_eq!(create["GlobalSecondaryIndexes"][1]["KeySchema"].as_array().unwrap().len(), 4);
    assert_eq!(create["AttributeDefinitions"].as_array().unwrap().len(), 8);
    assert!(emit::time_to_live(table).is_some());
}

#[test]
fn templates_for_other_tools_name_every_index() {
    let shop = shop();
    let design = shop.design.as_ref().unwrap();
    for (what, text) in [
        ("cloudformation", emit::cloudformation(&shop, design)),
        ("terraform", emit::terraform(&shop, design)),
        ("cdk", emit::cdk(&shop, design)),
    ] {
        for part in ["shop", "GSI1", "byRegion", "expires_at", "total"] {
            assert!(text.contains(part), "{what} lacks {part}:\n{text}");
        }
    }
}

#[test]
fn the_documentation_has_chart_patterns_and_diagram() {
    let shop = shop();
    let page = docs::markdown(&shop);
    for part in
        ["# shop", "| Order | `CUSTOMER#{customer_id}` |", "```mermaid", "Customer ||--o{ Order"]
    {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let html = docs::html(&shop);
    assert!(html.starts_with("<!doctype html>") && html.contains("<h2>Access patterns</h2>"));
    assert!(!html.contains("<script"));
}

/// Alternatives that read the table and an index, a time bucket, and a sparse key.
const CHAT: &str = r#"
[table.chat]
partition_key = "PK"
sort_key = "SK"
[table.chat.index.INBOX]
partition_key = "receiver"
sort_key = "sent_at"
[table.chat.index.OPEN]
partition_key = "OPENPK"
[entity.Message]
PK = "USER#{sender}#{sent_at:month}"
SK = "{sent_at}#{id:ulid}"
OPENPK = { template = "OPEN#{room}", when = "state = 'open'" }
[entity.Message.fields]
sender = "token"
receiver = "token"
room = "token"
topic = "token"
sent_at = "datetime:ms"
state = { type = "string", values = ["open", "done"] }
[access."from or to"]
find = "Message"
where = "sender = :user and sent_at between ? and ? or receiver = :user"
"#;

#[test]
fn all_alternatives_are_shown() {
    let checked = check_text("chat.toml", CHAT, &Prices::default());
    let shown = report::human(&checked);
    assert!(shown.contains("from or to  table, INBOX"), "{shown}");
    let page = docs::markdown(&checked);
    assert!(page.contains("| fan-out | table, INBOX |"), "{page}");
    assert!(page.contains("`PK = \"USER#{user}#{sent_at:month}\" AND SK BETWEEN"), "{page}");
    assert!(page.contains("; `receiver = \"{user}\"`"), "{page}");
    let page = docs::html(&checked);
    assert!(page.contains("fan-out table, INBOX"), "{page}");
    let (access, plan) = (
        checked.design.as_ref().unwrap().access("from or to").unwrap(),
        checked.plans.first().unwrap(),
    );
    let text = report::explain(access, plan, None).unwrap();
    assert!(text.contains(" on the table and INBOX"), "{text}");
    assert!(text.contains("USER#{user}#{sent_at:month}"), "{text}");
}

#[test]
fn the_page_says_when_a_sparse_key_is_written() {
    let report = check_text("chat.toml", CHAT, &Prices::default());
    let page = docs::markdown(&report);
    assert!(page.contains("`OPEN#{room}` when `state = \"open\"`"), "{page}");
    assert!(docs::html(&report).contains("when <code>state = &quot;open&quot;</code>"));
}

/// What is missing is said of the alternative that lacks it, and a bucket that is open can be closed.
#[test]
fn advice_is_about_what_is_asked() {
    let fix_of = |condition: &str| {
        let text = format!("{CHAT}[access.two]\nfind = \"Message\"\nwhere = \"{condition}\"\n");
        let report = check_text("chat.toml", &text, &Prices::default());
        let found = report.findings.iter().find(|finding| finding.subject == "two");
        let found = found.unwrap_or_else(|| panic!("{condition}"));
        format!("{} {}\n{}", found.rule, found.message, found.fix)
    };
    let fix = fix_of("receiver = ? or topic = ?");
    assert!(fix.starts_with("A06 `two` knows `topic`,"), "{fix}");
    assert!(fix.ends_with("whose partition key is `topic`"), "{fix}");
    let fix = fix_of("sender = ?");
    assert!(fix.starts_with("A01"), "{fix}");
    assert!(
        fix.contains("with `since` and `until` of `sent_at`: then each month is one query"),
        "{fix}"
    );
    assert!(fix.contains("`max_requests`"), "{fix}");
    let fix = fix_of("sender = ? and sent_at >= ? or receiver = ?");
    assert!(fix.starts_with("K05"), "{fix}");
    assert!(fix.contains("(c) say until when there are items, with `until` of `sent_at`"), "{fix}");
}

/// What a module would lose: the way to escape, former names, quotes in texts.
#[test]
fn a_rust_module_states_everything() {
    let text = r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
escape = "order"
[entity.Book]
PK = "SHELF#{shelf}"
SK = "{title}"
was = "Volume"
[entity.Book.fields]
shelf = "token"
title = "string"
author = { type = "string", was = "writer", immutable = true }
[access."one"]
find = "Book"
where = "shelf = ? and title = 'it''s'"
"#;
    let (design, problems) = keyloom_design::Design::parse("books.toml", text);
    let design = design.unwrap_or_else(|| panic!("{problems:?}"));
    let module = keyloom_design::rust_module(&design, "books")
        .unwrap_or_else(|missing| panic!("{missing:?}"));
    for words in ["escape = \"order\"", "was(Volume)", "was = \"writer\"", "immutable", "'it''s'"] {
        assert!(module.contains(words), "{words} is not in {module}");
    }
}

/// A refusal that the design accepts by name is no reason to generate nothing.
#[test]
fn code_leaves_out_what_the_design_accepts_as_refused() {
    let design = |allow: &str| {
        format!(
            "[table.app]\npartition_key = \"PK\"\n[entity.User]\nPK = \"USER#{{id:ulid}}\"\n[entity.User.fields]\n\
             nick = \"string\"\n[access.\"a user\"]\nfind = \"User\"\nwhere = \"id = ?\"\n\
             [access.\"by nick\"]\nfind = \"User\"\nwhere = \"nick = ?\"\n{allow}"
        )
    };
    let code = |text: &str| {
        let report = check_text("app.toml", text, &Prices::default());
        let design = report.design.as_ref().unwrap();
        let left_out = keyloom_design::patterns_left_out(design, &report.plans);
        let left_out: Vec<String> = left_out.map(|access| access.name.clone()).collect();
        (keyloom_design::python(design, &report.plans, "app"), left_out)
    };
    let (refused, _) = code(&design(""));
    assert!(refused.unwrap_err().concat().contains("`by nick`"));
    let allow = "[[allow]]\nrule = \"A01\"\nsubject = \"by nick\"\nreason = \"rare\"\n";
    let (module, left_out) = code(&design(allow));
    let module = module.unwrap();
    assert!(module.contains("def a_user(") && !module.contains("by_nick"), "{module}");
    assert_eq!(left_out, ["by nick"]);
}
