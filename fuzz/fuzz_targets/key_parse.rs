//! Any text as a key of templates of every type. What is parsed must build the same key again.

#![no_main]

use std::sync::LazyLock;

use keyloom_keys::{Clause, Template, Value};
use libfuzzer_sys::fuzz_target;

static TEMPLATES: LazyLock<Vec<Template>> = LazyLock::new(|| {
    [
        "{a}#{b}",
        "{a}::{b:token}::{c}",
        "{a:string:desc}{b:u8}",
        "ORDER#{at:datetime}#{id:ulid}",
        "{at:datetime:ms:desc}{id:uuid:desc}",
        "{n:i64}{d:decimal:12.4}{e:decimal:5.2:desc}",
        "{n:i64:plain}/{m:u64:plain}",
        "{y:year}{m:month}{d:date:desc}{h:hour}",
        "{b:bool}{x:hex:3}{y:hex:desc}",
        "{k:enum:a|ab|b}|{f:fixed:4}|{e:epoch_ms}",
        "{u8:u8}{u16:u16}{u32:u32:desc}{u64:u64}",
    ]
    .iter()
    .map(|text| Template::parse(text).expect("a valid template"))
    .collect()
});

fuzz_target!(|input: (u8, &str)| {
    let (choice, key) = input;
    let Some(template) = TEMPLATES.get(usize::from(choice) % TEMPLATES.len()) else { return };
    if let Ok(fields) = template.parse_key(key) {
        let values: Vec<Value<'_>> = fields.iter().map(|(_, value)| value).collect();
        assert_eq!(template.build_values(&values).expect("values that were read can be written"), key);
        assert!(template.parse_lenient(key).deviations.is_empty());
    }
    let read = template.parse_lenient(key);
    if let Some(canonical) = read.canonical(template) {
        assert!(template.matches(&canonical), "{canonical}");
    }
    if let Ok(clause) = Clause::parse(key) {
        let _ = template.range_where(&clause, &[]);
    }
});
