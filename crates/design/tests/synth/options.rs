//! Each option, and each kind of key, where it must be seen.

use std::time::Duration;

use keyloom_design::cost::Prices;
use keyloom_design::model::IndexKind;
use keyloom_design::synth::{Options, Proposal, Tables, synthesize};

use super::{best, found};

const SHOP: &str = r#"
[entity.Order]
count = 1_000_000

[entity.Order.fields]
order_id  = "ulid"
customer  = "ulid"
status    = "token"
placed_at = "datetime"

[access."order"]
find  = "Order"
where = "order_id = ?"

[access."orders of a customer"]
find  = "Order"
where = "customer = ?"
order = "placed_at desc"
limit = 20

[access."open orders of a customer"]
find  = "Order"
where = "customer = ? and status = ?"
order = "placed_at desc"
limit = 20
"#;

const KEYED: &str = "[table.shop]\npartition_key = \"PK\"\nsort_key = \"SK\"\n\n[entity.Order]\nPK = \"O#{order_id}\"\nSK = \"X\"\n";

/// The same of another entity.
fn renamed(text: &str) -> String {
    let mut new = text.replace("Order", "Refund");
    for (old, name) in
        [("order_id", "refund_id"), ("\"order\"", "\"refund\""), ("orders of", "refunds of")]
    {
        new = new.replace(old, name);
    }
    new
}

fn problems(text: &str, options: &Options) -> String {
    let problems = synthesize("shop.toml", text, options, &Prices::default()).unwrap_err();
    problems.iter().map(|it| format!("{} {:?}", it.message, it.fix)).collect::<Vec<_>>().join("\n")
}

fn keeping(names: &[&str]) -> Options {
    Options { keep: names.iter().map(|it| (*it).to_owned()).collect(), ..Options::default() }
}

#[test]
fn a_file_without_tables_and_keys_gets_both() {
    let result = found("shop.toml", SHOP, &Options::default());
    let best = result.designs.first().unwrap();
    assert!(best.is_sound(), "{}", best.text);
    let [table] = result.certificates.as_slice() else { panic!("{:?}", result.certificates) };
    assert_eq!((table.indexes, table.at_least), (2, 2), "{}", best.text);
    assert_eq!(table.apart.len(), 3, "{table:?}");
}

#[test]
fn a_cap_below_what_is_needed_finds_nothing() {
    let capped = |most| Options { max_indexes: Some(most), ..Options::default() };
    let none = found("shop.toml", SHOP, &capped(1));
    assert!(none.designs.is_empty() && none.certificates.first().unwrap().at_least == 2);
    assert_eq!(best("shop.toml", SHOP, &capped(2)).indexes, 2);
    // Entities that cannot share an index need more than any of them alone: the cap counts what there is.
    let native = SHOP.replace("\"token\"", "\"number\"");
    let other = renamed(&native).replace("status", "weight");
    let both = format!("{native}\n{other}");
    let free = found("shop.toml", &both, &Options::default());
    let (needed, alone) =
        (free.designs.first().unwrap().indexes, free.certificates.first().unwrap().at_least);
    assert!(needed > alone, "{needed} {alone}");
    assert!(found("shop.toml", &both, &capped(needed - 1)).designs.is_empty());
}

#[test]
fn kept_keys_stay_and_what_cannot_be_kept_is_refused() {
    let keyed = SHOP.replace("[entity.Order]\n", KEYED);
    let kept = best("shop.toml", &keyed, &keeping(&["PK", "SK"]));
    assert!(kept.text.contains("PK     = \"O#{order_id}\"\nSK     = \"X\""), "{}", kept.text);
    let half = best("shop.toml", &keyed, &keeping(&["PK"]));
    assert!(
        half.text.contains("\"O#{order_id}\"") && !half.text.contains("\"X\""),
        "{}",
        half.text
    );
    let free = best("shop.toml", &keyed, &Options::default());
    assert!(!free.text.contains("O#{order_id}"), "{}", free.text);
    let told = problems(&keyed, &keeping(&["PK", "GSI7PK"]));
    assert!(told.contains("`GSI7PK` cannot be kept") && told.contains("`PK`, `SK`"), "{told}");
    let told = problems(&keyed, &keeping(&["SK"]));
    assert!(told.contains("`SK` cannot be kept without `PK`"), "{told}");
    let told = problems(SHOP, &keeping(&["PK"]));
    assert!(told.contains("the file has no keys"), "{told}");
}

#[test]
fn a_kept_index_is_used_and_counts() {
    let keyed = SHOP.replace("[entity.Order]\n", KEYED).replace(
        "[entity.Order]\n",
        "[table.shop.index.mine]\npartition_key = \"MPK\"\nsort_key = \"MSK\"\n\n[entity.Order]\nMPK = \"WHOSE#{customer}\"\nMSK = \"AT#{placed_at}#{order_id}\"\n",
    );
    let kept = best("shop.toml", &keyed, &keeping(&["MPK", "MSK"]));
    assert!(kept.text.contains("\"WHOSE#{customer}\"") && kept.indexes == 2, "{}", kept.text);
    let plan = kept.plans().iter().find(|plan| plan.name == "orders of a customer").unwrap();
    assert_eq!(plan.places(), ["mine"], "{}", kept.text);
}

const CLUB: &str = r#"
[entity.Member]
[entity.Member.fields]
member_id = "ulid"
[entity.Club]
[entity.Club.fields]
club_id = "ulid"
[entity.Joined]
identity = ["member_id", "club_id"]
[entity.Joined.fields]
member_id = "ulid"
club_id   = "ulid"
[access."member"]
find  = "Member"
where = "member_id = ?"
[access."club"]
find  = "Club"
where = "club_id = ?"
[access."clubs of a member"]
find  = "Joined"
where = "member_id = ?"
[access."members of a club"]
find  = "Joined"
where = "club_id = ?"
"#;

#[test]
fn tables_are_one_or_several() {
    let one = best("club.toml", CLUB, &Options { tables: Tables::One, ..Options::default() });
    assert_eq!(one.report.design.as_ref().unwrap().tables().len(), 1);
    let several =
        best("club.toml", CLUB, &Options { tables: Tables::Several, ..Options::default() });
    let names: Vec<String> =
        several.report.design.as_ref().unwrap().tables().iter().map(|it| it.name.clone()).collect();
    assert_eq!(names, ["member", "club", "joined"]);
    let two = format!(
        "[table.people]\npartition_key = \"p\"\nsort_key = \"s\"\n[table.clubs]\npartition_key = \"p\"\nsort_key = \"s\"\n{}",
        CLUB.replace("[entity.Club]", "[entity.Club]\ntable = \"clubs\"")
            .replace("[entity.Member]", "[entity.Member]\ntable = \"people\"")
            .replace("[entity.Joined]", "[entity.Joined]\ntable = \"people\"")
    );
    let written = best("club.toml", &two, &Options::default());
    assert_eq!(written.report.design.as_ref().unwrap().tables().len(), 2, "{}", written.text);
    let merged = best("club.toml", &two, &Options { tables: Tables::One, ..Options::default() });
    assert_eq!(merged.report.design.as_ref().unwrap().tables().len(), 1, "{}", merged.text);
}

#[test]
fn a_link_is_read_both_ways_by_an_inverted_index() {
    let alone = CLUB
        .replace("[entity.Member]\n[entity.Member.fields]\nmember_id = \"ulid\"\n", "")
        .replace("[entity.Club]\n[entity.Club.fields]\nclub_id = \"ulid\"\n", "")
        .replace("[access.\"member\"]\nfind  = \"Member\"\nwhere = \"member_id = ?\"\n", "")
        .replace("[access.\"club\"]\nfind  = \"Club\"\nwhere = \"club_id = ?\"\n", "");
    let best = best("joined.toml", &alone, &Options::default());
    assert_eq!(best.indexes, 1, "{}", best.text);
    let index = "[table.joined.index.GSI1]\npartition_key = \"SK\"\nsort_key      = \"PK\"";
    assert!(best.text.contains(index) && !best.text.contains("GSI1PK"), "{}", best.text);
}

#[test]
fn entities_share_an_index() {
    let two = format!("{SHOP}\n{}", renamed(SHOP));
    let best = best("shop.toml", &two, &Options::default());
    assert_eq!(best.indexes, 2, "{}", best.text);
    let both = ["Order", "Refund"].iter().all(|name| {
        let design = best.report.design.as_ref().unwrap();
        let entity = design.entity(name).unwrap();
        entity.keys.iter().filter(|key| key.attribute.starts_with("GSI")).count() == 4
    });
    assert!(both, "{}", best.text);
}

#[test]
fn a_state_that_few_items_have_gets_a_sparse_index() {
    let text = format!(
        "{SHOP}\n[access.\"late orders\"]\nfind = \"Order\"\nwhere = \"status = 'late'\"\norder = \"placed_at\"\nlimit = 50\nrate = \"50/s\"\n"
    )
    .replace(
        "status    = \"token\"",
        "status    = { type = \"string\", values = [\"open\", \"late\", \"done\"], top_share = 0.9 }",
    );
    let result = found("shop.toml", &text, &Options::default());
    let sparse = result.designs.iter().find(|it| it.text.contains("when = \"status = 'late'\""));
    assert!(sparse.is_some_and(Proposal::is_sound), "{}", result.designs.first().unwrap().text);
}

#[test]
fn a_hot_key_is_spread_over_shards() {
    let text = r#"
[entity.Event]
count = 50_000_000
size  = "300 B"
[entity.Event.fields]
event_id = "ulid"
at       = "datetime:ms"
kind     = { type = "string", values = ["click", "view"] }
[access."events of a kind"]
find  = "Event"
where = "kind = ? and at between ? and ?"
order = "at"
rate  = "10/s"
[write."record"]
entity = "Event"
rate   = "5000/s"
"#;
    let best = best("events.toml", text, &Options::default());
    assert!(best.text.contains("type = \"shard\""), "{}", best.text);
    let calm = super::best("events.toml", &text.replace("5000/s", "5/s"), &Options::default());
    assert!(!calm.text.contains("type = \"shard\""), "{}", calm.text);
}

#[test]
fn numbers_and_wishes_make_native_keys() {
    let priced = SHOP
        .replace("customer = ? and status = ?", "customer = ? and status > ?")
        .replace("status    = \"token\"", "status    = \"number\"")
        .replace(
            "order = \"placed_at desc\"\nlimit = 20\n\n[access.\"open",
            "limit = 20\n\n[access.\"open",
        );
    let priced = priced.replacen(
        "status > ?\"\norder = \"placed_at desc\"",
        "status > ?\"\norder = \"status desc\"",
        1,
    );
    let numbers = best("shop.toml", &priced, &Options::default());
    assert!(numbers.text.contains("\"status:N\""), "{}", numbers.text);
    let strong =
        SHOP.replacen("where = \"order_id = ?\"", "where = \"order_id = ?\"\nconsistent = true", 1);
    let plain = best("shop.toml", &strong, &Options::default());
    let native = best("shop.toml", &strong, &Options { native: true, ..Options::default() });
    assert!(plain.text.contains("GSI1PK"), "{}", plain.text);
    assert!(!native.text.contains("GSI") && native.indexes == plain.indexes, "{}", native.text);
    let index = "partition_key = \"customer\"\nsort_key      = [\"status\", \"placed_at\"]";
    assert!(native.text.contains(index), "{}", native.text);
}

#[test]
fn native_keys_of_several_entities_do_not_mix() {
    let one = r#"
[entity.Score]
[entity.Score.fields]
score_id = "ulid"
owner    = "ulid"
points   = "number"
[access."score"]
find  = "Score"
where = "score_id = ?"
[access."scores"]
find  = "Score"
where = "owner = ? and points > ?"
order = "points desc"
limit = 20
"#;
    let alone = best("scores.toml", one, &Options::default());
    assert!(alone.text.contains("partition_key = \"owner\""), "{}", alone.text);
    // Fields do not tell whose items they are, so each entity writes a partition key; the index is one all the same.
    let other = one.replace("Score", "Bid").replace("score", "bid");
    let both = best("scores.toml", &format!("{one}{other}"), &Options::default());
    assert_eq!(both.indexes, 1, "{}", both.text);
    assert!(both.text.contains("sort_key      = \"points:N\""), "{}", both.text);
    assert_eq!(both.text.matches("by_owner_points_pk = ").count(), 2, "{}", both.text);
    // One that only has the fields is not in it.
    let fields = "[entity.Tip]\n[entity.Tip.fields]\ntip_id = \"ulid\"\nowner = \"ulid\"\npoints = \"number\"\n";
    let text = format!("{one}{fields}[access.\"tip\"]\nfind = \"Tip\"\nwhere = \"tip_id = ?\"\n");
    let beside = best("scores.toml", &text, &Options::default());
    assert_eq!(beside.text.matches("by_owner_points_pk = ").count(), 1, "{}", beside.text);
}

#[test]
fn local_indexes_come_only_when_asked_for() {
    let text = r#"
[entity.Note]
identity = ["owner", "note_id"]
[entity.Note.fields]
owner   = "ulid"
note_id = "ulid"
at      = "datetime"
[access."note"]
find  = "Note"
where = "owner = ? and note_id = ?"
[access."notes by time"]
find  = "Note"
where = "owner = ?"
order = "at desc"
"#;
    let locals = |options: &Options| {
        let best = best("notes.toml", text, options);
        let table = best.report.design.as_ref().unwrap().tables().first().unwrap().clone();
        table.indexes.iter().filter(|index| index.kind == IndexKind::Local).count()
    };
    assert_eq!(locals(&Options::default()), 0);
    assert_eq!(locals(&Options { local: true, ..Options::default() }), 1);
}

#[test]
fn what_no_key_proves_is_named_with_the_change_that_helps() {
    let with = |more: &str| format!("{SHOP}\n[access.\"odd\"]\nfind = \"Order\"\n{more}\n");
    let refusal = |text: &str| {
        let result = found("shop.toml", text, &Options::default());
        let [refused] = result.refused.as_slice() else { panic!("{:?}", result.refused) };
        assert_eq!(refused.pattern, "odd");
        refused.change.clone().unwrap()
    };
    let two = refusal(&with("where = \"placed_at > ? and order_id > ?\"\nlimit = 5"));
    assert!(two.contains("drop `limit`"), "{two}");
    let plain = with("where = \"customer = ? and number > ?\"\norder = \"number\"")
        .replace("customer  =", "number = { type = \"u32\", plain = true }\ncustomer  =");
    assert!(refusal(&plain).contains("`plain = true` off `number`"), "{}", refusal(&plain));
    let loose = with("where = \"customer = ?\"\norder = \"sent desc\"")
        .replace("customer  =", "sent = \"datetime:loose\"\ncustomer  =");
    assert!(refusal(&loose).contains("declare `sent` as \"datetime\""), "{}", refusal(&loose));
    let long = with("where = \"title = ?\"")
        .replace("customer  =", "title = { type = \"string\", max = 5000 }\ncustomer  =");
    assert!(refusal(&long).contains("`max = 900` of `title`"), "{}", refusal(&long));
    let strong = with("where = \"status = ?\"\nconsistent = true");
    let strong = format!(
        "{strong}\n[access.\"sure\"]\nfind = \"Order\"\nwhere = \"order_id = ?\"\nconsistent = true\n"
    );
    let result = found("shop.toml", &strong, &Options::default());
    assert!(
        result.refused.iter().any(|it| it.change.as_deref() == Some("drop `consistent = true`")),
        "{:?}",
        result.refused
    );
    for text in [plain, loose] {
        let mended = Options { repair: true, ..Options::default() };
        let result = found("shop.toml", &text, &mended);
        assert_eq!((result.refused.len(), result.repairs.len()), (0, 1), "{:?}", result.repairs);
        assert!(result.designs.first().unwrap().is_sound());
    }
}

#[test]
fn without_time_it_says_how_far_it_may_be() {
    let options = Options { time_limit: Duration::ZERO, ..Options::default() };
    let result = found("shop.toml", SHOP, &options);
    let best = result.designs.first().unwrap();
    assert!(best.is_sound(), "{}", best.text);
    let table = result.certificates.first().unwrap();
    assert!(
        !table.is_complete && table.at_least <= table.indexes && table.at_least < 2,
        "{table:?}"
    );
}
