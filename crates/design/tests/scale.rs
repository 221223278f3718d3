//! A large design: 200 entities, 500 patterns.

use std::fmt::Write as _;
use std::time::Instant;

use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_design::{check, report};

fn large_design() -> String {
    let mut text = String::from(
        "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\n\
         [table.app.index.GSI1]\npartition_key = \"GSI1PK\"\nsort_key = \"GSI1SK\"\n\
         [table.app.index.GSI2]\npartition_key = \"GSI2PK\"\nsort_key = \"GSI2SK\"\n",
    );
    for n in 0..200 {
        let parent = n / 8;
        let _ = write!(
            text,
            "[entity.E{n}]\nPK = \"P{parent}#{{parent_id}}\"\nSK = \"E{n}#{{at}}#{{id}}\"\n\
             GSI1PK = \"E{n}#{{id}}\"\nGSI1SK = \"E\"\nGSI2PK = \"OWNER#{{owner}}\"\nGSI2SK = \"E{n}#{{at}}\"\n\
             count = 100000\nsize = \"1 KB\"\n\
             [entity.E{n}.fields]\nparent_id = \"ulid\"\nid = \"ulid\"\nowner = \"string\"\nat = \"datetime\"\n\
             status = {{ type = \"string\", values = [\"a\", \"b\"] }}\n"
        );
    }
    for n in 0..500 {
        let entity = n % 200;
        let (condition, order) = match n % 5 {
            0 => ("parent_id = ?", "order = \"at desc\"\nlimit = 20"),
            1 => ("id = ?", ""),
            2 => ("owner = ? and at between ? and ?", "order = \"at\""),
            3 => ("parent_id = ? and status = ?", ""),
            _ => ("parent_id = ? and at > ?", "order = \"id\""),
        };
        let _ = write!(
            text,
            "[access.\"pattern {n}\"]\nfind = \"E{entity}\"\nwhere = \"{condition}\"\n{order}\nrate = \"10/s\"\n"
        );
    }
    text
}

#[test]
fn a_large_design_is_checked() {
    let text = large_design();
    let start = Instant::now();
    let (design, problems) = Design::parse("large.toml", &text);
    assert!(problems.is_empty(), "{problems:?}");
    let design = design.unwrap();
    let parsed = start.elapsed();
    let report = check(&design, &Prices::default());
    let checked = start.elapsed();
    let rendered = report::json(std::slice::from_ref(&report)).to_string();
    println!(
        "parse {parsed:?}, check {checked:?}, json {:?} ({} bytes)",
        start.elapsed(),
        rendered.len()
    );
    assert_eq!(report.plans.len(), 500);
    assert_eq!(report.findings.iter().filter(|f| f.rule == "A01").count(), 0);
}
