//! Mistakes in design files, as people see them.

use keyloom_design::Design;
use keyloom_design::source::Source;

fn rendered(text: &str) -> String {
    let source = Source::new("shop.toml", text);
    let (_, problems) = Design::parse("shop.toml", text);
    problems.iter().map(|problem| problem.render(&source)).collect::<Vec<_>>().join("\n")
}

const BROKEN: &str = r#"[table.shop]
partition_key = "PK"
sort_key = "SK"
biling = "on-demand"

[entity.Order]
table = "shp"
PK = "CUSTOMER#{customer}"

[entity.Item]
PK = "ORDER#{ordr_id}"
SK = "ITEM#{sku}#"
GSI1PK = "X"
[entity.Item.fields]
order_id = "ulidd"
sku = { type = "string", maximum = 3 }

[access."items"]
find = "Itm"
where = "order_id = ? or sku = ?"
"#;

#[test]
fn several_mistakes_are_shown_in_one_run() {
    let expected = r#"error[D02]: `biling` means nothing in [table.shop]
 --> shop.toml:4:1
  |
4 | biling = "on-demand"
  | ^^^^^^
  = fix: did you mean `billing`?

error[D04]: entity `Order` is in table `shp`, which is not declared
 --> shop.toml:7:9
  |
7 | table = "shp"
  |         ^^^^^
  = fix: did you mean `shop`?

error[D04]: entity `Item` has no field `ordr_id`
  --> shop.toml:11:14
   |
11 | PK = "ORDER#{ordr_id}"
   |              ^^^^^^^
   = fix: did you mean `order_id`?

error[D02]: `GSI1PK` is neither a setting of an entity nor a key attribute of table `shop`
  --> shop.toml:13:1
   |
13 | GSI1PK = "X"
   | ^^^^^^
   = fix: the names known here are `PK`, `SK`, `table`, `fields`, `identity`, `was`, `count`, `size`, `max_size`, `growth`, `size_growth`, `lives`, `description`

error[D03]: field `order_id` cannot have the type `ulidd`: there is no type `ulidd`
  --> shop.toml:15:12
   |
15 | order_id = "ulidd"
   |            ^^^^^^^
   = fix: did you mean `ulid`?

error[D04]: there is no entity `Itm`
  --> shop.toml:19:8
   |
19 | find = "Itm"
   |        ^^^^^
   = fix: did you mean `Item`?
"#;
    let shown = rendered(BROKEN);
    for part in expected.split("\n\n") {
        assert!(shown.contains(part.trim_end()), "missing:\n{part}\n\nin:\n{shown}");
    }
    assert_eq!(shown.matches("error[").count(), 7, "no mistake is reported twice:\n{shown}");
}

#[test]
fn a_mistake_inside_a_condition_is_underlined_there() {
    let shown = rendered(
        "[table.app]\npartition_key = \"PK\"\n[entity.User]\nPK = \"USER#{id:ulid}\"\n\
         [access.\"x\"]\nfind = \"User\"\nwhere = \"id = ? xor id = ?\"\n",
    );
    assert_eq!(
        shown,
        "error[D06]: `and` is expected here, not `xor`\n --> shop.toml:7:17\n  |\n\
         7 | where = \"id = ? xor id = ?\"\n  |                 ^^^\n"
    );
}

#[test]
fn broken_toml_is_reported_and_the_rest_is_still_read() {
    let shown = rendered("[table.app]\npartition_key = \n[entity.User]\nPK = \"X\"\nfoo = 1\n");
    assert!(shown.contains("this is not TOML"), "{shown}");
    assert!(shown.contains("foo"), "{shown}");
}

#[test]
fn keys_that_dynamodb_does_not_take_are_refused_with_the_way_out() {
    for (text, message) in [
        (
            "[table.app]\npartition_key = [\"a\", \"b\"]\n",
            "a table has one partition key attribute",
        ),
        ("[table.app]\npartition_key = \"PK:BOOL\"\n", "`BOOL` is not a type of key attribute"),
        (
            "[table.app]\npartition_key = \"PK\"\n[table.app.index.byFlag]\npartition_key = \"active\"\n\
             [entity.User]\nPK = \"USER#{id:ulid}\"\n[entity.User.fields]\nactive = \"bool\"\n",
            "field `active` is a bool and cannot be the S key attribute of the same name",
        ),
        (
            "[table.app]\npartition_key = \"PK\"\n[table.app.index.GSI1]\npartition_key = \"A\"\nsort_key = \"B\"\n\
             [entity.User]\nPK = \"USER#{id:ulid}\"\nA = \"X\"\n",
            "entity `User` writes `A` but not `B`",
        ),
        ("[table.a]\npartition_key = \"PK\"\n", "`a` cannot be the name of a table"),
    ] {
        let shown = rendered(text);
        assert!(shown.contains(message), "{message}\n{shown}");
    }
}

/// A design with an immutable field and a mutable list, and one write.
fn with_write(write: &str) -> String {
    format!(
        "[table.app]\npartition_key = \"PK\"\n[entity.User]\nPK = \"USER#{{id:ulid}}\"\n[entity.User.fields]\n\
         joined = {{ type = \"date\", immutable = true }}\nlog = {{ type = \"list\", immutable = true }}\nnick = \"string\"\n\
         [entity.Shop]\nPK = \"SHOP#{{id:ulid}}\"\n[entity.Shop.fields]\njoined = \"date\"\n\
         [write.w]\n{write}\n"
    )
}

#[test]
fn an_update_of_an_immutable_field_is_refused() {
    for (write, field) in [
        ("entity = \"User\"\nkind = \"update\"\nsets = [\"nick\", \"joined\"]", "joined"),
        ("entity = \"User\"\nkind = \"update\"\nappends = \"log\"", "log"),
        ("entity = [\"Shop\", \"User\"]\nkind = \"transact\"\nsets = \"joined\"", "joined"),
        (
            "entity = [\"Shop\", \"User\"]\nkind = \"transact\"\nkinds = { User = \"update\", Shop = \"put\" }\n\
             sets = \"joined\"",
            "joined",
        ),
        (
            "entity = \"User\"\nkind = \"update\"\nexpression = \"SET nick = :n, joined = :j\"",
            "joined",
        ),
        ("entity = \"User\"\nkind = \"update\"\nexpression = \"REMOVE log[0]\"", "log"),
        (
            "entity = \"User\"\nkind = \"update\"\nexpression = \"SET #j = if_not_exists(nick, :n)\"\n\
             names = { \"#j\" = \"joined\" }",
            "joined",
        ),
    ] {
        let shown = rendered(&with_write(write));
        let message =
            format!("error[D03]: `w` changes `{field}` of entity `User`, which is immutable");
        assert_eq!(shown.matches("error[").count(), 1, "{write}\n{shown}");
        assert!(shown.contains(&message), "{write}\n{shown}");
    }
    for write in [
        "entity = \"User\"\nkind = \"update\"\nsets = \"nick\"\ngiven = [\"id\", \"joined\"]",
        "entity = \"User\"\nkind = \"create\"",
        "entity = \"Shop\"\nkind = \"update\"\nsets = \"joined\"",
        "entity = [\"Shop\", \"User\"]\nkind = \"transact\"\nkinds = { User = \"create\", Shop = \"update\" }\n\
         sets = \"joined\"",
        "entity = \"User\"\nkind = \"update\"\nexpression = \"SET nick = joined, #j = if_not_exists(joined, :j)\"\n\
         names = { \"#j\" = \"joined\" }",
    ] {
        let shown = rendered(&with_write(write));
        assert!(!shown.contains("error["), "{write}\n{shown}");
    }
}

/// A design with one mistake; `{}` is where it is made.
fn with_mistakes(index: &str, entity: &str, field: &str, pattern: &str) -> String {
    rendered(&format!(
        r#"[table.shop]
partition_key = "PK"
sort_key = "SK"
[table.shop.index.GSI1]
partition_key = "GSI1PK"
{index}
[entity.Order]
PK = "ORDER#{{order:ulid}}"
SK = "ORDER"
{entity}
[entity.Order.fields]
status = {{ type = "string", values = ["open", "paid", "sent"] }}
level = "u8"
currency = "fixed:3"
gift = "bool"
{field}
[access."one"]
find = "Order"
where = "order = ?"
{pattern}
"#
    ))
}

/// What the file says of itself and cannot be: each with the way out.
#[test]
fn values_and_names_that_cannot_be_are_errors() {
    let when = |condition: &str| {
        format!("GSI1PK = {{ template = \"OPEN#{{order}}\", when = \"{condition}\" }}")
    };
    let asks = |condition: &str| {
        format!("[access.\"two\"]\nfind = \"Order\"\nwhere = \"order = ? and {condition}\"")
    };
    let rate = |rate: &str| format!("rate = {rate}");
    let (none, sharded) =
        (String::new(), "shard = { type = \"shard\", shards = 4, by = \"shard\" }");
    let cases: [(String, &[&str]); 17] = [
        (
            with_mistakes("projection = [\"staus\"]", "", "", ""),
            &["no item of table `shop` has an attribute `staus`", "did you mean `status`?"],
        ),
        (
            with_mistakes("", &when("status = 'opne'"), "", ""),
            &["`opne` is not a value of `status`", "did you mean `open`?"],
        ),
        (with_mistakes("", &when("level = 300"), "", ""), &["`300` is not a value of `level`"]),
        (with_mistakes("", &when("gift > true"), "", ""), &["`>` does not work on `gift`"]),
        (with_mistakes("", &when("status in ('open', 'piad')"), "", ""), &["did you mean `paid`?"]),
        (with_mistakes("", "", "", &asks("level = 300")), &["`300` is not a value of `level`"]),
        (
            with_mistakes("", "", "", &asks("level between 3 and 256")),
            &["`256` is not a value of `level`"],
        ),
        (with_mistakes("", "", "", &asks("level = -1")), &["is not a value of `level`"]),
        (
            with_mistakes("", "", "", &asks("currency = 'EURO'")),
            &["`EURO` is not a value of `currency`"],
        ),
        (with_mistakes("", "", "", &asks("status = 'Open'")), &["did you mean `open`?"]),
        (
            with_mistakes("", "", "", &rate("{ average = \"20/s\", peak = \"2/s\" }")),
            &["the `peak` of a rate cannot be below its `average`"],
        ),
        (
            with_mistakes("", "", sharded, ""),
            &["shard `shard` is calculated from itself", "name stored fields in `by`"],
        ),
        (
            with_mistakes("", "size = \"1,5 KB\"", "", ""),
            &[
                "`size` must be a size such as \"1.2 KB\", not `1,5 KB`",
                "write \"1.5 KB\" with a decimal point",
            ],
        ),
        (
            with_mistakes("", "count = \"2 thousand\"", "", ""),
            &["`count` must be a number such as 2000 or \"2k\", not `2 thousand`"],
        ),
        (with_mistakes("", "count = \"1,5k\"", "", ""), &["`count` must be a number"]),
        (with_mistakes("", "", "", &rate("\"2,5/s\"")), &["write \"2.5/s\" with a decimal point"]),
        (
            with_mistakes(
                "projection = [\"order\", \"PK\", \"gift\"]",
                &when("gift = true"),
                "",
                &(asks("currency >= 'A' and status = 'sent'") + &none),
            ),
            &[],
        ),
    ];
    for (shown, expected) in cases {
        for part in expected {
            assert!(shown.contains(part), "{part}\n\nin:\n{shown}");
        }
        assert!(!expected.is_empty() || shown.is_empty(), "{shown}");
    }
}

/// Numbers may be written as the reference says.
#[test]
fn quantities_are_what_the_reference_says() {
    let count = |written: &str| {
        let text = format!(
            "[table.shop]\npartition_key = \"PK\"\n[entity.Order]\nPK = \"O#{{id:ulid}}\"\ncount = {written}\n"
        );
        let (design, problems) = Design::parse("shop.toml", &text);
        assert!(problems.is_empty(), "{problems:?}");
        design.and_then(|design| design.entities().first().and_then(|order| order.volume.count))
    };
    for (written, meant) in [
        ("2_000_000", 2e6),
        ("\"2,000,000\"", 2e6),
        ("\"2k\"", 2e3),
        ("\"3M\"", 3e6),
        ("\"1.5M\"", 1.5e6),
        ("1e6", 1e6),
    ] {
        assert_eq!(count(written), Some(meant), "{written}");
    }
}

#[test]
fn a_hand_written_update_must_be_one() {
    for (expression, message) in [
        ("INC nick :one", "error[D03]: the expression of `w` is none"),
        ("garbage (((", "error[D03]: the expression of `w` is none"),
        ("", "error[D03]: the expression of `w` is none"),
        ("SET nikc = :n", "error[D04]: entity `User` has no field `nikc`"),
        ("SET nick = :n REMOVE #x", "error[D04]: `#x` in the expression of `w` has no name"),
    ] {
        let write = format!("entity = \"User\"\nkind = \"update\"\nexpression = \"{expression}\"");
        let shown = rendered(&with_write(&write));
        assert_eq!(shown.matches("error[").count(), 1, "{expression}\n{shown}");
        assert!(shown.contains(message), "{expression}\n{shown}");
    }
}

#[test]
fn what_is_said_of_a_field_must_mean_something() {
    for (field, message) in [
        ("\"string\"", None),
        ("{ type = \"decimal\", width = 9, scale = 3 }", None),
        ("{ type = \"string\", values = [\"a\", \"b\", \"c\"], top_share = \"33%\" }", None),
        ("{ type = \"string\", shards = 4 }", Some("is no shard, so that it has no `shards`")),
        ("{ type = \"string\", by = \"id\" }", Some("is no shard")),
        ("{ type = \"u32\", scale = 2 }", Some("is no decimal, so that it has no `scale`")),
        ("{ type = \"string\", distinct = 0 }", Some("`distinct` is 1 or more")),
        (
            "{ type = \"string\", values = [\"a\", \"b\", \"c\"], top_share = 0.01 }",
            Some("has at least 33.333 % of the items"),
        ),
    ] {
        let shown = rendered(&format!(
            "[table.app]\npartition_key = \"PK\"\n[entity.User]\nPK = \"USER#{{id:ulid}}\"\n[entity.User.fields]\nx = {field}\n"
        ));
        let expected = usize::from(message.is_some());
        assert_eq!(shown.matches("error[").count(), expected, "{field}\n{shown}");
        assert!(shown.contains(message.unwrap_or_default()), "{field}\n{shown}");
    }
    let shown = rendered(
        "[table.app]\npartition_key = \"PK\"\n[entity.User]\nPK = \"USER#{id:ulid}\"\nsize = \"2 KB\"\nmax_size = \"1 KB\"\n",
    );
    assert!(shown.contains("`User` is larger on average than at most"), "{shown}");
}
