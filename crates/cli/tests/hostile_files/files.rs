//! The files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const TABLE: &str = "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\n";
const ENTITY: &str = "[entity.A]\nPK = \"A#{id}\"\nSK = \"X\"\n[entity.A.fields]\nid = \"ulid\"\n";
const PATTERN: &str = "[access.a]\nfind = \"A\"\nwhere = \"id = ?\"\n";

/// How large the large ones are.
fn scale() -> usize {
    if std::env::var_os("KEYLOOM_HOSTILE_LONG").is_some() { 10 } else { 1 }
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(format!("{name}.toml"));
    std::fs::write(&path, text).unwrap();
    path
}

/// A design without a fault.
pub(crate) fn sound(folder: &Path) -> PathBuf {
    write(folder, "sound", [TABLE, ENTITY, PATTERN].concat())
}

fn fields(count: usize) -> String {
    (0..count).fold(String::new(), |mut all, at| {
        let _ = writeln!(all, "f{at} = \"string\"");
        all
    })
}

fn entity_of(template: &str, fields: &str) -> String {
    format!("{TABLE}[entity.A]\nPK = \"A\"\nSK = \"{template}\"\n[entity.A.fields]\n{fields}")
}

/// Every number that a design may state, as one text.
fn with_number(number: &str) -> String {
    format!(
        "{TABLE}[entity.A]\nPK = \"A#{{id}}\"\nSK = \"X#{{n}}\"\ncount = {number}\nsize = {number}\ngrowth = {number}\n\
         [entity.A.fields]\nid = \"ulid\"\ns = {{ type = \"shard\", shards = {number} }}\nn = {{ type = \"u32\", width = {number} }}\n\
         t = {{ type = \"string\", max = {number}, cardinality = {number} }}\n{PATTERN}limit = {number}\nitems = {number}\n\
         rate = {number}\nmax_requests = {number}\n"
    )
}

/// Files of at most some hundred kilobytes, and what is no file.
pub(crate) fn small(folder: &Path) -> Vec<PathBuf> {
    let one = [TABLE, ENTITY].concat();
    let long = "n".repeat(100_000);
    let thousand: Vec<String> = (0..1000).map(|at| format!("{{f{at}}}")).collect();
    let asked: Vec<String> = (0..1000).map(|at| format!("f{at} = ?")).collect();
    let either: Vec<String> = (0..3000).map(|at| format!("id = '{at}'")).collect();
    let mut files = vec![
        write(folder, "empty", ""),
        write(folder, "nothing-but-nul", [0_u8; 1000]),
        write(folder, "nul", format!("{one}x = \"a\0b\"\n")),
        write(folder, "control", format!("{one}x = \"\u{1b}[2J\u{7}\"\n")),
        write(folder, "no-utf8", [one.as_bytes(), b"x = \"\xff\xfe\"\n"].concat()),
        write(folder, "utf16", one.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
        write(folder, "mark", format!("\u{feff}{one}{PATTERN}")),
        write(folder, "long-name", format!("{TABLE}{}", ENTITY.replace('A', &long))),
        write(
            folder,
            "long-unknown-names",
            format!("{one}{long} = \"ulidd\"\n{PATTERN}order = \"{long}x\"\n{long} = 1\n"),
        ),
        write(
            folder,
            "control-names",
            format!("{TABLE}{}", ENTITY.replace(".A", ".\"\\u001b[31mA\\u0000\""))
                + &PATTERN.replace(".a", ".\"\\u001b[2J\"").replace("\"A\"", "\"\\u001b[31mA\\u0000\""),
        ),
        write(
            folder,
            "control-texts",
            one.replace("A#", "\\u001b[31m\\u0000") + &PATTERN.replace("id = ?", "id = '\\u001b[2J'"),
        ),
        write(
            folder,
            "control-keys",
            "[table.app]\npartition_key = \"PK\"\nsort_key = \"\\u001b[2J\"\n[entity.A]\nPK = \"A#{id}\"\n\"\\u001b[2J\" = \"X#{n}\"\n\
             [entity.A.fields]\nid = \"ulid\"\nn = \"i64:plain\"\n".to_owned() + PATTERN + "order = \"n\"\n",
        ),
        write(folder, "control-relationship", [TABLE, ENTITY, &ENTITY.replace(".A", ".B"), PATTERN].concat() + "[relationship.\"\\u001b[2J\"]\nfrom = \"A\"\nto = \"B\"\n"),
        write(folder, "nested-lists", format!("a = {}{}", "[".repeat(50_000), "]".repeat(50_000))),
        write(folder, "nested-tables", format!("a = {}1{}", "{a=".repeat(50_000), "}".repeat(50_000))),
        write(folder, "dotted", format!("{} = 1\n", vec!["a"; 20_000].join("."))),
        write(folder, "header", format!("[{}]\n", vec!["a"; 20_000].join("."))),
        write(folder, "brackets", format!("{one}[access.a]\nfind = \"A\"\nwhere = \"{}id = ?{}\"\n", "(".repeat(50_000), ")".repeat(50_000))),
        write(folder, "either", format!("{one}[access.a]\nfind = \"A\"\nwhere = \"{}\"\n", either.join(" or "))),
        write(folder, "template", entity_of(&thousand.join("#"), &fields(1000)) + "[access.a]\nfind = \"A\"\nwhere = \"f0 = ?\"\norder = \"f999\"\n"),
        write(folder, "conditions", entity_of("X#{f0}", &fields(1000)) + &format!("[access.a]\nfind = \"A\"\nwhere = \"{}\"\n", asked.join(" and "))),
        write(folder, "was", format!("{one}a = {{ type = \"string\", was = \"b\" }}\nb = {{ type = \"string\", was = \"a\" }}\n{}{PATTERN}", ENTITY.replace('A', "B").replace("]\nPK", "]\nwas = \"A\"\nPK")).replace("[entity.A]\n", "[entity.A]\nwas = \"B\"\n")),
        write(folder, "was-itself", one.replace("[entity.A]\n", "[entity.A]\nwas = \"A\"\n") + "a = { type = \"string\", was = \"a\" }\n"),
        write(folder, "shards", one.replace("A#{id}", "A#{s}").replace("\"X\"", "\"{id}\"") + "s = { type = \"shard\", shards = 4294967295 }\n[access.a]\nfind = \"A\"\norder = \"id\"\nmax_requests = 9223372036854775807\n"),
        write(folder, "periods", one.replace("A#{id}", "A#{at:hour}").replace("\"X\"", "\"{id}\"") + "at = { type = \"datetime\", since = \"0001-01-01\", until = \"9999-12-31\" }\n[access.a]\nfind = \"A\"\norder = \"at\"\nmax_requests = 9223372036854775807\n"),
        write(folder, "overlap", (0..12).fold(TABLE.to_owned(), |mut all, at| {
            let _ = write!(all, "[entity.E{at}]\nPK = \"{{a}}#{{b}}\"\nSK = \"{{c}}#{{d}}\"\nfields = {{ a = \"token\", b = \"token\", c = \"token\", d = \"token\" }}\n[access.p{at}]\nfind = \"E{at}\"\nwhere = \"a = ? and b = ?\"\norder = \"c\"\n");
            all
        })),
        folder.to_owned(),
        folder.join("not-there.toml"),
    ];
    for (at, number) in [
        "99999999999999999999",
        "-1",
        "9223372036854775807",
        "18446744073709551616",
        "1e308",
        "nan",
        "inf",
        "-inf",
        "0",
        "0.5",
        "'x'",
        "[]",
    ]
    .iter()
    .enumerate()
    {
        files.push(write(folder, &format!("number-{at}"), with_number(number)));
    }
    let pipe = folder.join("pipe.toml");
    if !pipe.exists() {
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    }
    files.push(pipe);
    files
}

/// Files of megabytes.
pub(crate) fn large(folder: &Path) -> Vec<PathBuf> {
    let one = [TABLE, ENTITY].concat();
    let mega = scale() << 20;
    let many = |entities: usize, patterns: usize| {
        let mut text = TABLE.to_owned();
        for at in 0..entities {
            let _ = write!(
                text,
                "[entity.E{at}]\nPK = \"E{at}#{{id}}\"\nSK = \"X\"\nfields = {{ id = \"ulid\" }}\n"
            );
        }
        for at in 0..patterns {
            let _ =
                write!(text, "[access.p{at}]\nfind = \"E{}\"\nwhere = \"id = ?\"\n", at % entities);
        }
        text
    };
    let indexes = (0..2000).fold(String::new(), |mut all, at| {
        let _ = write!(all, "[table.app.index.G{at}]\npartition_key = \"G{at}PK\"\n");
        all
    });
    let values: Vec<String> = (0..100_000).map(|at| format!("\"v{at}\"")).collect();
    let listed = values[..2000].join(",");
    let wide = "é".repeat((17 << 20) / 2);
    vec![
        write(folder, "comment", format!("{one}# {}\n", "x".repeat(mega))),
        write(folder, "text", format!("{one}note = \"{}\"\n", "x".repeat(mega))),
        write(folder, "list", format!("{one}note = [{}]\n", "1,".repeat(mega / 2))),
        write(folder, "fields", one.clone() + &fields(mega / 16)),
        write(
            folder,
            "tables",
            (0..mega / 40).fold(String::new(), |mut all, at| {
                let _ = write!(all, "[table.t{at}]\npartition_key = \"PK\"\n");
                all
            }),
        ),
        write(
            folder,
            "unknown",
            (0..mega / 100).fold(one.clone(), |mut all, at| {
                let _ = writeln!(all, "[some.thing{at}]\nx = {at}");
                all
            }),
        ),
        write(folder, "patterns", many(10, 100_000)),
        write(folder, "entities", many(10_000, 10)),
        write(folder, "most", many(500 * scale(), 2000 * scale())),
        write(folder, "indexes", format!("{TABLE}{indexes}{ENTITY}")),
        write(
            folder,
            "values",
            format!("{one}s = {{ type = \"string\", values = [{}] }}\n", values.join(",")),
        ),
        write(
            folder,
            "ranges",
            entity_of(
                "X#{s}#{id}",
                &format!("id = \"ulid\"\ns = {{ type = \"string\", values = [{listed}] }}\n"),
            ) + "[access.a]\nfind = \"A\"\nwhere = \"s between ? and ?\"\n[access.b]\nfind = \"A\"\nwhere = \"s begins_with ?\"\n",
        ),
        write(folder, "endless", format!("{one}# {}\n", "x".repeat(17 << 20))),
        // Cut inside a character, whichever is the last byte.
        write(folder, "endless-wide", format!("{one}# {wide}\n")),
        write(folder, "endless-wide-by-one", format!("{one}#  {wide}\n")),
    ]
}

/// The texts of files that are texts.
pub(crate) fn texts(files: &[PathBuf]) -> Vec<String> {
    let is_file = |path: &&PathBuf| path.metadata().is_ok_and(|found| found.is_file());
    files.iter().filter(is_file).filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// Items that no table holds.
pub(crate) fn items(folder: &Path) -> Vec<PathBuf> {
    let write = |name: &str, text: &[u8]| {
        let path = folder.join(format!("{name}.jsonl"));
        std::fs::write(&path, text).unwrap();
        path
    };
    let long = "n".repeat(100_000);
    let lines = |line: &str, count: usize| vec![line; count].join("\n").into_bytes();
    vec![
        write("empty", b""),
        write("no-json", b"PK,SK\n1,2\n"),
        write("nul", &[0; 1000]),
        write("no-utf8", b"{\"PK\":\"\xff\"}\n"),
        write("list", b"[1,2,3]\n"),
        write("nested", format!("{}{}\n", "{\"a\":".repeat(50_000), "}".repeat(50_000)).as_bytes()),
        write("nested-value", format!("{{\"PK\":{}{}}}\n", "[".repeat(100), "]".repeat(100)).as_bytes()),
        write("long", format!("{{\"PK\":\"{long}\",\"{long}\":\"{long}\"}}\n").as_bytes()),
        write("control", b"{\"PK\":\"\\u001b[31mA\\u0000#1\",\"\\u001b[2J\":\"\\u0007\"}\n{\"PK\":\"\\u001b[31mA\\u0000#2\"}\n"),
        write("numbers", b"{\"PK\":\"A#1\",\"n\":99999999999999999999999999999999999999999,\"m\":1e400,\"k\":-0.0}\n"),
        write("same", &lines("{\"PK\":\"A\",\"SK\":\"B\"}", 2000)),
        write("cut", b"{\"PK\":\"A#1\",\"SK\":\"B\"}\n{\"PK\":\"A#"),
        folder.join("not-there.jsonl"),
    ]
}
