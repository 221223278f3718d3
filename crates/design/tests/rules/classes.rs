//! Whole classes of what a rule must find, or leave alone.

use keyloom_design::Severity;
use keyloom_design::check_text;
use keyloom_design::cost::Prices;

use super::{TABLE, findings, rules_of, shown};

fn about<'f>(
    found: &'f [keyloom_design::lint::Finding],
    rule: &str,
) -> Vec<&'f keyloom_design::lint::Finding> {
    found.iter().filter(|finding| finding.rule == rule).collect()
}

#[test]
fn time_to_live_is_a_number_of_seconds_that_some_entity_has() {
    let with = |kind: &str| {
        format!(
            "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\nttl = \"expires\"\n\
             [entity.Session]\nPK = \"SESSION#{{id:ulid}}\"\nSK = \"SESSION\"\n[entity.Session.fields]\n{kind}\n"
        )
    };
    for wrong in [
        "other = \"number\"",
        "expires = \"string\"",
        "expires = \"datetime\"",
        "expires = \"datetime:loose\"",
        "expires = \"epoch_ms\"",
        "expires = \"bool\"",
        "expires = \"u16\"",
        "expires = \"list\"",
        "expires = { type = \"u64\", key_only = true }",
    ] {
        let found = findings(&with(wrong));
        let errors = about(&found, "T01");
        assert_eq!(errors.len(), 1, "{wrong}: {}", shown(&found));
        assert_eq!(errors[0].severity, Severity::Error);
    }
    for right in ["number", "u32", "u64", "i64"] {
        let found = findings(&with(&format!("expires = \"{right}\"")));
        assert!(about(&found, "T01").is_empty(), "{right}: {}", shown(&found));
    }
}

/// Shares of less than a tenth and more than a hundred values, one entity or several, reads and second steps.
#[test]
fn heat_is_load_times_share_without_a_cut_off() {
    let hot = |share: &str, rate: &str| {
        let text = format!(
            "[entity.Order]\nPK = \"SHOP#{{shop}}\"\nSK = \"ORDER#{{order:ulid}}\"\nsize = \"900 B\"\n\
             [entity.Order.fields]\nshop = {{ type = \"token\", distinct = 10_000, top_share = \"{share}\" }}\n\
             [write.\"order\"]\nentity = \"Order\"\nrate = \"{rate}\""
        );
        rules_of(&text).contains(&"P12")
    };
    assert!(hot("5%", "21000/s"));
    assert!(!hot("5%", "19000/s"));
    assert!(hot("1%", "101000/s"));
    let read = "[entity.Order]\nPK = \"SHOP#{shop}\"\nSK = \"ORDER#{order:ulid}\"\nsize = \"4 KB\"\ncount = 1_000_000\n\
         [entity.Order.fields]\nshop = { type = \"token\", distinct = 200 }\n\
         [access.\"latest\"]\nfind = \"Order\"\nwhere = \"shop = ?\"\nlimit = 10\nrate = \"130000/s\"";
    assert!(rules_of(read).contains(&"P12"), "{:?}", rules_of(read));
}

#[test]
fn a_collection_counts_its_entities_and_index_entries_at_their_size() {
    let design = |projection: &str, second: f64| {
        format!(
            "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\n[table.app.index.byDate]\nlocal = true\nsort_key = \"L1\"\nprojection = {projection}\n\
             [entity.A]\nPK = \"T#{{tenant}}\"\nSK = \"A#{{id:ulid}}\"\nL1 = \"{{at}}\"\ncount = 6_000_000\nsize = \"1 KB\"\n\
             [entity.A.fields]\ntenant = {{ type = \"token\", distinct = 1 }}\nat = \"datetime\"\n\
             [entity.B]\nPK = \"T#{{tenant}}\"\nSK = \"B#{{id:ulid}}\"\ncount = {second}\nsize = \"1 KB\"\n\
             [entity.B.fields]\ntenant = {{ type = \"token\", distinct = 1 }}\n"
        )
    };
    let too_large =
        |projection: &str, second: f64| rules_of(&design(projection, second)).contains(&"P06");
    assert!(too_large("\"all\"", 0.0), "6 GB twice");
    assert!(!too_large("\"keys\"", 0.0), "6 GB and some keys");
    assert!(too_large("\"keys\"", 5_000_000.0), "11 GB of two entities");
}

#[test]
fn items_over_400_kb_are_an_error() {
    let severity = |size: &str| {
        let found = findings(&format!(
            "[entity.Doc]\nPK = \"DOC#{{doc:ulid}}\"\nSK = \"BODY\"\nmax_size = \"{size}\""
        ));
        about(&found, "A09").first().map(|finding| finding.severity)
    };
    assert_eq!(severity("401 KB"), Some(Severity::Error));
    assert_eq!(severity("350 KB"), Some(Severity::Warn));
}

#[test]
fn what_the_total_does_not_hold_is_named() {
    let text = format!(
        "{TABLE}[entity.E]\nPK = \"D#{{device:token}}#{{at:date}}\"\nSK = \"{{at}}\"\n[entity.E.fields]\nat = \"datetime\"\n\
         [access.\"some days\"]\nfind = \"E\"\nwhere = \"device = ? and at between ? and ?\"\nrate = \"10/s\"\n"
    );
    let report = check_text("t.toml", &text, &Prices::default());
    assert_eq!(report.bill.missing, ["some days"]);
    assert!(keyloom_design::report::human(&report).contains("without `some days`"));
}

#[test]
fn a_local_index_pays_for_what_it_fetches() {
    let units = |projection: &str| {
        let text = format!(
            "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\n[table.app.index.byDate]\nlocal = true\nsort_key = \"L1\"\nprojection = {projection}\n\
             [entity.A]\nPK = \"T#{{tenant}}\"\nSK = \"A#{{id:ulid}}\"\nL1 = \"{{at}}\"\ncount = 100_000\nsize = \"1 KB\"\n\
             [entity.A.fields]\ntenant = {{ type = \"token\", distinct = 1000 }}\nat = \"datetime\"\n\
             [access.\"p\"]\nfind = \"A\"\nwhere = \"tenant = ?\"\norder = \"at\"\nlimit = 100\n"
        );
        check_text("t.toml", &text, &Prices::default()).plans[0].estimate.read_units.unwrap()
    };
    // 100 items of 1 KB are 12.5 units; fetched one by one they are 50 more.
    assert!((units("\"all\"") - 12.5).abs() < 0.1, "{}", units("\"all\""));
    assert!(units("\"keys\"") > 50.0, "{}", units("\"keys\""));
}

#[test]
fn leaving_a_sparse_index_is_one_write() {
    let text = format!(
        "{TABLE}[entity.Task]\nPK = \"TASK#{{task}}\"\nSK = \"TASK\"\nsize = \"500 B\"\n\
         GSI1PK = {{ template = \"OPEN#{{owner}}\", when = \"state = 'open'\" }}\nGSI1SK = {{ template = \"{{task}}\", when = \"state = 'open'\" }}\n\
         [entity.Task.fields]\ntask = \"ulid\"\nowner = \"token\"\nstate = {{ type = \"string\", values = [\"open\", \"done\"] }}\n\
         [access.\"open\"]\nfind = \"Task\"\nwhere = \"owner = ? and state = 'open'\"\n\
         [write.\"close\"]\nentity = \"Task\"\nkind = \"update\"\nsets = [\"state\"]\ngiven = [\"task\", \"owner\"]\nrate = \"100/s\"\n"
    );
    let report = check_text("t.toml", &text, &Prices::default());
    let effect = report.writes[0].effects.iter().find(|effect| effect.index == "GSI1").unwrap();
    assert!((effect.units - 1.0).abs() < 1e-9, "{effect:?}");
    let advice = about(&report.findings, "I05");
    assert!(
        advice.iter().all(|finding| !finding.fix.contains("sparse")),
        "{}",
        shown(&report.findings)
    );
}

#[test]
fn what_says_little_is_not_said() {
    // Few values of a small table that is hardly written.
    let tiny = "[entity.User]\nPK = \"USER#{id:ulid}\"\nSK = \"PROFILE\"\nGSI1PK = \"STATE#{state}\"\nGSI1SK = \"{id:ulid}\"\ncount = 500\n\
         [entity.User.fields]\nstate = { type = \"string\", values = [\"on\", \"off\"] }\n\
         [access.\"by state\"]\nfind = \"User\"\nwhere = \"state = ?\"";
    assert!(!rules_of(tiny).contains(&"I06"));
    // An index is not unused because its patterns are refused so far.
    let refused = "[entity.User]\nPK = \"USER#{id:ulid}\"\nSK = \"PROFILE\"\nGSI1PK = \"STATE#{state:token}#{day:date}\"\nGSI1SK = \"{id:ulid}\"\n\
         [access.\"by state\"]\nfind = \"User\"\nwhere = \"state = ?\"";
    let found = rules_of(refused);
    assert!(found.contains(&"A01") && !found.contains(&"I01"), "{found:?}");
    // Loosely written times are told once.
    let loose = "[entity.Log]\nPK = \"LOG#{id:ulid}\"\nSK = \"{at}#{n:token}\"\n[entity.Log.fields]\nat = \"datetime:loose\"\n\
         [access.\"log\"]\nfind = \"Log\"\nwhere = \"id = ?\"\norder = \"at\"";
    let found = rules_of(loose);
    assert!(found.contains(&"K09") && !found.contains(&"K10"), "{found:?}");
    // A prefix that no key has is told once.
    let never = "[entity.Log]\nPK = \"LOG#{id:ulid}\"\nSK = \"{n:token}\"\n\
         [access.\"log\"]\nfind = \"Log\"\nwhere = \"id = ?\"\nkey = \"PK = 'LOGS#{id}'\"";
    let found = rules_of(never);
    assert!(found.contains(&"K07") && !found.contains(&"A04"), "{found:?}");
}

#[test]
fn an_ambiguous_template_is_explained_with_its_own_fields() {
    let found = findings(
        "[entity.Order]\nPK = \"{user_id}{order_id}\"\nSK = \"ORDER\"\n[entity.Order.fields]\nuser_id = \"token\"\norder_id = \"token\"",
    );
    let finding = about(&found, "K03")[0];
    assert!(
        finding.evidence.contains("user_id = \"1\", order_id = \"23\""),
        "{}",
        finding.evidence
    );
}

/// The values of the example are values of the fields: a time written in many ways is a time.
#[test]
fn an_ambiguous_time_is_explained_with_times() {
    let evidence = |template: &str| {
        let found = findings(&format!(
            "[entity.Log]\nPK = \"LOG#{{id:ulid}}\"\nSK = \"{template}\"\n[entity.Log.fields]\nat = \"datetime:loose\"\nname = \"string\""
        ));
        about(&found, "K03")[0].evidence.clone()
    };
    let first = evidence("{at}{name}");
    assert!(first.contains("at = \"2024-01-05T10:00:00.1\", name = \"23\""), "{first}");
    for template in ["{name}{at}", "{at}-{name}"] {
        let own = evidence(template);
        assert!(own.contains("varying forms") && !own.contains("\"1\""), "{template}: {own}");
    }
}

/// A condition that is refused is named as it stands.
#[test]
fn a_refused_operator_is_named_as_it_is_written() {
    for (condition, word) in [
        ("done >= true", "`>=`"),
        ("done < true", "`<`"),
        ("tags in ('a')", "`in`"),
        ("tags <> 'a'", "`<>`"),
    ] {
        let found = findings(&format!(
            "[entity.Task]\nPK = \"T#{{id:ulid}}\"\nSK = \"T\"\n[entity.Task.fields]\ndone = \"bool\"\ntags = \"string_set\"\n\
             [access.\"tasks\"]\nfind = \"Task\"\nwhere = \"id = ? and {condition}\""
        ));
        let finding = about(&found, "D06")[0];
        assert!(finding.message.starts_with(word), "{}", finding.message);
    }
}

/// What is advised can be done: documents have no order, and numbers of any size are keys by themselves.
#[test]
fn an_order_is_fixed_by_what_can_be_a_key() {
    let by = |order: &str| {
        findings(&format!(
            "[entity.Task]\nPK = \"T#{{id:ulid}}\"\nSK = \"{{n:u16}}\"\n[entity.Task.fields]\nsize = \"number\"\ntags = \"string_set\"\n\
             [access.\"tasks\"]\nfind = \"Task\"\nwhere = \"id = ?\"\norder = \"{order}\""
        ))
    };
    let number = by("size");
    assert!(about(&number, "A03")[0].fix.contains("\"size:N\""), "{}", shown(&number));
    let set = by("tags");
    assert!(about(&set, "D06")[0].message.contains("`order`"), "{}", shown(&set));
}

/// Keys with bytes that terminals act upon are shown as escapes.
#[test]
fn no_message_holds_a_control_character() {
    let found = findings(
        "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\nseparator = \"!\"\n[entity.Log]\nPK = \"LOG!{id:ulid}\"\nSK = \"{name}!{n:u16}\"\n\
         [entity.Log.fields]\nname = \"string\"\n[access.\"logs\"]\nfind = \"Log\"\nwhere = \"id = ?\"\norder = \"name\"",
    );
    let finding = about(&found, "K10")[0];
    let texts = [&finding.message, &finding.evidence, &finding.fix];
    assert!(texts.iter().all(|text| !text.contains(|c: char| c.is_control() && c != '\n')));
}

#[test]
fn messages_are_sentences() {
    let order = "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\n[table.app.index.by_owner]\npartition_key = \"owner\"\n\
         [entity.Photo]\nPK = \"PHOTO#{id:ulid}\"\nSK = \"PHOTO\"\n[entity.Photo.fields]\nowner = \"token\"\ntaken_at = \"datetime\"\n\
         [access.\"photos\"]\nfind = \"Photo\"\nwhere = \"owner = ?\"\norder = \"taken_at\"";
    let found = findings(order);
    let finding = about(&found, "A03")[0];
    assert!(
        finding
            .evidence
            .starts_with("by_owner has no sort key, so nothing there sorts by `taken_at`"),
        "{}",
        finding.evidence
    );
    let twice = "[entity.Reading]\nPK = \"READING#{id:ulid}\"\nSK = \"READING\"\n[entity.Reading.fields]\nsensor = \"token\"\nat = \"datetime\"\n\
         [access.\"readings\"]\nfind = \"Reading\"\nwhere = \"sensor = ? and at > ?\"\norder = \"at\"";
    let found = findings(twice);
    assert!(found.iter().all(|finding| !finding.fix.contains("{at}#{at}")), "{}", shown(&found));
    let name = findings(
        "[table.app]\npartition_key = \"PK\"\n[table.app.index.x]\npartition_key = \"G\"\n",
    );
    assert!(
        name.iter().any(|finding| finding.message.contains("the name of an index")),
        "{}",
        shown(&name)
    );
}

/// What a fix proposes keeps the formats that stand in the key, and moves nothing else.
#[test]
fn a_reordered_key_keeps_its_formats() {
    let text = "[entity.Reading]\nPK = \"S#{sensor:token}\"\nSK = \"R#{at:date}#{kind:token}#{at}\"\n[entity.Reading.fields]\nat = \"datetime\"\n\
         [access.\"readings\"]\nfind = \"Reading\"\nwhere = \"sensor = ?\"\norder = \"at\"";
    let found = findings(text);
    for finding in about(&found, "A03") {
        assert!(
            finding.fix.contains("SK = \"R#{at:date}#{at}#{kind:token}\"")
                || !finding.fix.contains("SK ="),
            "{}",
            finding.fix
        );
    }
}

/// A shard that is calculated from what the partition key has anyway: one for each value of it.
#[test]
fn a_shard_that_follows_from_its_partition_key_spreads_nothing() {
    let counter = |by: &str, rate: &str| {
        rules_of(&format!(
            "[entity.Visits]\nPK = \"VISITS#{{day}}#{{shard}}\"\nSK = \"COUNT\"\nsize = \"100 B\"\n\
             [entity.Visits.fields]\nday = \"date\"\nshard = {{ type = \"shard\", shards = 8{by} }}\nvisits = \"number\"\n\
             [access.\"visits of a day\"]\nfind = \"Visits\"\nwhere = \"day = ?\"\n\
             [write.\"visit\"]\nentity = \"Visits\"\nkind = \"update\"\nsets = \"visits\"\nrate = \"{rate}\""
        ))
    };
    let calculated = counter(", by = \"day\"", "3000/s");
    assert!(calculated.contains(&"P12"), "{calculated:?}");
    assert!(!counter(", by = \"day\"", "300/s").contains(&"P12"));
    // A counter has no id of its own that its shard could be calculated from.
    let random = counter("", "3000/s");
    assert!(!random.contains(&"P12") && !random.contains(&"P10"), "{random:?}");
}
