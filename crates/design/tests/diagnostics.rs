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
   = fix: the names known here are `PK`, `SK`, `table`, `fields`, `identity`, `count`, `size`, `max_size`, `growth`, `description`

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
