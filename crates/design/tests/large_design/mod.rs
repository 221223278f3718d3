//! A large design: 200 entities and 500 patterns, of which a fifth cannot keep their order and a fifth need a
//! filter under a limit. The test of scale and the benchmark share it.

use std::fmt::Write as _;

/// The design file.
pub(crate) fn large_design() -> String {
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
            3 => ("parent_id = ? and status = ?", "limit = 20"),
            _ => ("parent_id = ? and at > ?", "order = \"id\""),
        };
        let _ = write!(
            text,
            "[access.\"pattern {n}\"]\nfind = \"E{entity}\"\nwhere = \"{condition}\"\n{order}\nrate = \"10/s\"\n"
        );
    }
    text
}
