//! `keyloom load` and `keyloom dump` as people run them, on data directories; the guide runs them against a server.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

const DESIGN: &str = r#"
[table.social]
partition_key = "PK"
sort_key = "SK"
[table.social.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"

[entity.User]
PK = "USER#{user}"
SK = "PROFILE"
[entity.User.fields]
user = { type = "string", max = 40 }
email = "string"
age = "u8"
tags = { type = "string_set", optional = true }

[entity.Follow]
PK = "USER#{user}"
SK = "FOLLOWS#{followed}"
GSI1PK = "USER#{followed}"
GSI1SK = "BY#{user}"
[entity.Follow.fields]
user = { type = "string", max = 40 }
followed = { type = "string", max = 40 }
"#;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("social.toml", DESIGN);
        folder
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
        command.current_dir(self.path()).args(line.split_whitespace()).output().unwrap()
    }

    /// What a command prints, which must end with this code.
    fn says(&self, line: &str, code: i32) -> String {
        let output = self.run(line);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{line}\n{text}{errors}");
        text + &errors
    }

    /// The items of a dump, by their keys.
    fn items(&self, data: &str, more: &str) -> BTreeMap<String, Value> {
        let text = self.says(&format!("dump --from {data} --table social {more}"), 0);
        let lines = text.lines().filter(|line| line.starts_with('{'));
        let items = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let key = |line: &Value| {
            let item = line.get("Item").unwrap_or(line);
            format!("{} {}", item["PK"], item["SK"])
        };
        items.map(|item| (key(&item), item)).collect()
    }
}

#[test]
fn rows_are_typed_keyed_and_refused_one_by_one() {
    let folder = Folder::new();
    folder.write(
        "users.csv",
        "user,email,age,tags\nann,ann@a.org,41,\"[\"\"x\"\",\"\"y\"\"]\"\nbob,bob@b.org,many,\ncat,cat@c.org,9,\n",
    );
    let said = folder
        .says("load users.csv --to data --design social.toml --entity User --create --errors e", 1);
    assert!(said.contains("2 items into table `social`, 1 row refused"), "{said}");
    assert!(said.contains("users.csv:3: `age` is {\"S\":\"many\"}, which is no u8"), "{said}");
    let kept = std::fs::read_to_string(folder.path().join("e")).unwrap();
    assert_eq!(kept.lines().count(), 1, "{kept}");
    let items = folder.items("data", "");
    let ann = json!({"PK": "USER#ann", "SK": "PROFILE", "user": "ann", "email": "ann@a.org", "age": 41, "tags": ["x", "y"]});
    assert_eq!(items.get("\"USER#ann\" \"PROFILE\""), Some(&ann));

    // Lines that are no JSON, rows of no entity, keys that say something else, rows without keys.
    folder.write(
        "more.jsonl",
        "nonsense\n{\"PK\":\"WHO\",\"SK\":\"x\"}\n\
         {\"PK\":\"USER#a\",\"SK\":\"PROFILE\",\"user\":\"b\",\"email\":\"e\",\"age\":1}\n\
         {\"Item\":{\"PK\":{\"S\":\"USER#dan\"},\"SK\":{\"S\":\"FOLLOWS#ann\"}}}\n\
         {\"PK\":{\"S\":\"USER#eve\"},\"SK\":{\"S\":\"FOLLOWS#ann\"},\"GSI1PK\":{\"S\":\"USER#ann\"}}\n",
    );
    let said = folder.says("load more.jsonl --to data --design social.toml", 1);
    assert!(said.contains("2 items into table `social`, 3 rows refused"), "{said}");
    assert!(said.contains("more.jsonl:1: the line is no JSON object"), "{said}");
    assert!(said.contains("more.jsonl:2: `WHO / x` is the key of no entity"), "{said}");
    assert!(said.contains("more.jsonl:3: `PK` is {\"S\":\"USER#a\"}"), "{said}");
    let items = folder.items("data", "");
    assert_eq!(items["\"USER#dan\" \"FOLLOWS#ann\""]["GSI1SK"], "BY#dan");

    // Without a design the table's own keys decide; what is there may be kept.
    folder.write(
        "plain.jsonl",
        "{\"PK\":\"p\",\"SK\":\"s\",\"n\":1}\n{\"n\":2}\n{\"PK\":1,\"SK\":\"s\"}\n",
    );
    let said = folder.says("load plain.jsonl --to data --table social", 1);
    assert!(said.contains("1 item into table `social`, 2 rows refused"), "{said}");
    let said = folder.says("load plain.jsonl --to data --table social --keep-existing", 1);
    assert!(said.contains("0 items into table `social`, 1 were there, 2 rows refused"), "{said}");
    let said = folder.says("load plain.jsonl --to data --table nothing", 1);
    assert!(said.contains("there is no table `nothing`; there is social"), "{said}");
}

/// What a program could not have written is refused, and what it would have written otherwise is stored as it would.
#[test]
fn rows_hold_what_their_types_allow() {
    let folder = Folder::new();
    let design = r#"
[table.things]
partition_key = "PK"

[entity.E]
PK = "E#{id}"
[entity.E.fields]
id = "token"
u8 = { type = "u8", optional = true }
u32 = { type = "u32", width = 3, optional = true }
i64 = { type = "i64", optional = true }
decimal = { type = "decimal", width = 5, scale = 2, optional = true }
fixed = { type = "fixed:3", optional = true }
short = { type = "string", max = 5, optional = true }
kind = { type = "string", values = ["silver", "gold"], optional = true }
at = { type = "datetime", since = "2020-01-01", optional = true }
tags = { type = "string_set", max_items = 2, optional = true }
"#;
    folder.write("t.toml", design);
    let refused = [
        ("id", json!("a b")),
        ("u8", json!(256)),
        ("u8", json!(-1)),
        ("u8", json!(1.5)),
        ("u32", json!(1000)),
        ("u32", json!(-3)),
        ("i64", json!(9_223_372_036_854_775_808_u64)),
        ("decimal", json!(123_456.78)),
        ("decimal", json!(1.234)),
        ("fixed", json!("EURO")),
        ("short", json!("longer")),
        ("kind", json!("bronze")),
        ("at", json!("2019-12-31T23:59:59Z")),
        ("at", json!("2024-01-01T00:00:00.5Z")),
        ("at", json!("2024-01-01")),
        ("tags", json!(["a", "b", "c"])),
    ];
    let rows = refused.iter().map(|(name, value)| {
        let mut row = serde_json::Map::from_iter([("id".to_owned(), json!("x"))]);
        row.insert((*name).into(), value.clone());
        Value::Object(row).to_string()
    });
    folder.write("refused.jsonl", &rows.collect::<Vec<_>>().join("\n"));
    let good = json!({
        "id": "x", "u8": "255", "u32": 7, "i64": -5, "decimal": 12.5, "fixed": "EUR", "short": "", "kind": "gold",
        "at": "2024-02-28T10:00:00+02:00", "tags": ["a"], "nmae": "typo",
    });
    folder.write("good.jsonl", &good.to_string());
    let said = folder.says("load good.jsonl --to data --design t.toml --entity E --create", 0);
    assert!(said.contains("the design does not have were loaded as they are: nmae"), "{said}");
    let stored = folder.says("dump --from data --table things", 0);
    let stored: Value = serde_json::from_str(stored.lines().next().unwrap()).unwrap();
    assert_eq!(stored.get("at"), Some(&json!("2024-02-28T08:00:00Z")), "{stored}");
    assert_eq!(stored.get("u8"), Some(&json!(255)), "{stored}");
    folder.write("keyless.jsonl", "{\"id\":\"y\"}");
    let said = folder.says("load keyless.jsonl --to data --design t.toml", 1);
    assert!(said.contains("--entity says what rows without keys are"), "{said}");
    folder.write("idless.jsonl", "{\"u8\":1}");
    let said = folder.says("load idless.jsonl --to data --design t.toml --entity E", 1);
    assert!(said.contains("`id`"), "{said}");
    let said = folder.says("load refused.jsonl --to data --design t.toml --entity E", 1);
    let summary = format!("0 items into table `things`, {} rows refused", refused.len());
    assert!(said.contains(&summary), "{said}");
}

#[test]
fn every_form_comes_back_as_it_was() {
    let folder = Folder::new();
    let mut rows = String::new();
    for n in 0..3000 {
        let row = json!({"PK": format!("USER#{n}"), "SK": "PROFILE", "user": n.to_string(),
            "email": format!("\"{n}\",\n@é"), "age": n % 100, "tags": ["a", "b"]});
        writeln!(rows, "{row}").unwrap();
    }
    folder.write("users.jsonl", &rows);
    folder.says("load users.jsonl --to one --design social.toml --create", 0);
    let before = folder.items("one", "--format dynamodb-json --design social.toml");
    let before = before.values().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(before.len(), 3000);
    assert_eq!(folder.items("one", "").len(), 3000);
    for (form, file) in
        [("jsonl", "a.jsonl"), ("dynamodb-json", "b.json"), ("csv", "c.csv"), ("export", "d")]
    {
        folder
            .says(&format!("dump --from one --design social.toml --format {form} --out {file}"), 0);
        let said =
            folder.says(&format!("load {file} --to {form} --design social.toml --create"), 0);
        assert!(said.contains("3000 items"), "{said}");
        let after = folder.items(form, "--format dynamodb-json --design social.toml");
        assert_eq!(before, after.values().map(ToString::to_string).collect::<Vec<_>>(), "{form}");
    }
    // A name that ends in .gz is a promise: what is called so is compressed.
    folder.says("dump --from one --table social --out z.jsonl.gz", 0);
    let packed = std::fs::read(folder.path().join("z.jsonl.gz")).unwrap();
    assert!(packed.starts_with(&[0x1f, 0x8b]), "{:?}", packed.get(..8));
    let said = folder.says("load z.jsonl.gz --to packed --design social.toml --create", 0);
    assert!(said.contains("3000 items"), "{said}");
    let said = folder.says("dump --from one --table social --out z.jsonl.zst", 1);
    assert!(said.contains(".gz"), "{said}");
    // An export that lost a line is noticed by its manifest.
    let data = std::fs::read_dir(folder.path().join("d/AWSDynamoDB")).unwrap().next().unwrap();
    let list = data.unwrap().path().join("manifest-files.json");
    let text =
        std::fs::read_to_string(&list).unwrap().replace("\"itemCount\":3000", "\"itemCount\":3001");
    std::fs::write(&list, text).unwrap();
    let said = folder.says("load d --to e --design social.toml --create", 1);
    assert!(said.contains("the manifest says 3001 items, and the file has 3000"), "{said}");
}

#[test]
fn what_csv_cannot_carry_is_said() {
    let folder = Folder::new();
    folder.write(
        "plain.jsonl",
        "{\"PK\":\"p\",\"SK\":\"s\",\"note\":\"\"}\n{\"PK\":\"p\",\"SK\":\"t\",\"note\":\"x\"}\n",
    );
    folder.write("none.jsonl", "");
    folder.says("load none.jsonl --to data --design social.toml --create", 0);
    folder.says("load plain.jsonl --to data --table social", 0);
    let said = folder.says("dump --from data --table social --format csv --columns PK,SK,note", 0);
    assert!(said.contains("1 item with an empty text"), "{said}");
    let said = folder.says("dump --from data --table social", 0);
    assert!(!said.contains("empty"), "{said}");
}

#[test]
fn anonymised_items_still_find_one_another() {
    let folder = Folder::new();
    let mut rows = String::new();
    for n in 0..200 {
        let user = json!({"PK": format!("USER#ann{n}"), "SK": "PROFILE", "user": format!("ann{n}"),
            "email": format!("ann{n}@a.org"), "age": 40, "secret": "s"});
        let next = (n + 1) % 200;
        let follow = json!({"PK": format!("USER#ann{n}"), "SK": format!("FOLLOWS#ann{next}")});
        writeln!(rows, "{user}\n{follow}").unwrap();
    }
    folder.write("all.jsonl", &rows);
    folder.says("load all.jsonl --to prod --design social.toml --create", 0);
    let refused = folder.says("dump --from prod --design social.toml --anonymise user=fake", 1);
    assert!(refused.contains("stand behind the same `USER#`"), "{refused}");
    let refused =
        folder.says("dump --from prod --design social.toml --anonymise user=mask,followed=mask", 1);
    assert!(refused.contains("it stands in a key"), "{refused}");
    for rule in ["fake", "hash"] {
        let rules = format!("user={rule},followed={rule},email=hash,age=mask");
        let items = folder.items("prod", &format!("--design social.toml --anonymise {rules}"));
        assert_eq!(items.len(), 400);
        let text = format!("{items:?}");
        assert!(!text.contains("ann1") && !text.contains("a.org") && !text.contains("secret"));
        // Every follow leads to a user, and its index says the same.
        let mut followed = 0;
        for item in items.values().filter(|item| item["SK"] != "PROFILE") {
            let user = item["followed"].as_str().unwrap();
            assert_eq!(item["GSI1PK"], format!("USER#{user}"));
            assert_eq!(item["SK"], format!("FOLLOWS#{user}"));
            assert_eq!(items[&format!("\"USER#{user}\" \"PROFILE\"")]["age"], 0);
            followed += 1;
        }
        assert_eq!(followed, 200);
    }
}
