//! A design as the source of a Rust module for the `keyloom` crate.
//!
//! The module states the same design: compiled, its `to_toml()` has the same tables, entities and patterns.

use std::fmt::Write as _;

use keyloom_keys::{FieldType, Value};

use crate::draft::Rate;
use crate::model::{
    Access, Billing, Design, Entity, Escape, Field, FieldKind, Index, IndexKind, Operand,
    Projection, Relationship, RelationshipKind, StreamView, Table, TableClass, UniqueRule, Volume,
    Write,
};

/// Writes the module, or says what the macro has no words for.
pub fn rust_module(design: &Design, name: &str) -> Result<String, Vec<String>> {
    let mut missing = Vec::new();
    let mut out = String::from("use keyloom::prelude::*;\n\n#[keyloom::design(\n");
    for table in design.tables() {
        let _ = writeln!(out, "    {},", table_words(table));
    }
    if design.entities().iter().any(|entity| entity.name == type_name(name)) {
        let _ = writeln!(out, "    name = {}Design,", type_name(name));
    }
    out.push_str(&about_words(design));
    for rule in design.uniques().iter().filter(|rule| !is_made_by_macro(rule)) {
        let _ = writeln!(out, "    {},", unique_words(rule));
    }
    for write in design.writes() {
        let _ = writeln!(out, "    {},", write_words(write));
    }
    for relationship in design.relationships() {
        let _ = writeln!(out, "    {},", relationship_words(design, relationship));
    }
    for allow in design.allows() {
        let subject = allow.subject.iter().map(|subject| format!(", subject = {subject:?}"));
        let subject: String = subject.collect();
        let _ = writeln!(out, "    allow({}{subject}, reason = {:?}),", allow.rule, allow.reason);
    }
    let _ = write!(out, ")]\npub mod {name} {{\n    use super::*;\n");
    let made = design.uniques().iter().filter(|rule| is_made_by_macro(rule));
    let guards: Vec<&str> =
        made.filter_map(|rule| rule.by.as_ref().map(|by| by.name.as_str())).collect();
    for entity in design.entities().iter().filter(|e| !guards.contains(&e.name.as_str())) {
        write_entity(&mut out, design, entity);
    }
    let mut taken: Vec<String> = design.entities().iter().map(|e| e.name.clone()).collect();
    // What the macro makes of entities, and a word of Rust's own.
    let made = design.entities().iter().map(|entity| &entity.name);
    taken.extend(made.flat_map(|name| [format!("{name}Key"), format!("{name}Patch")]));
    taken.extend([type_name(name), "Self".to_owned()]);
    for access in design.accesses() {
        let mut title = type_name(&access.name);
        while taken.contains(&title) {
            title.push_str("Pattern");
        }
        write_access(&mut out, access, &title, &mut missing);
        taken.push(title);
    }
    out.push_str("}\n");
    if missing.is_empty() { Ok(out) } else { Err(missing) }
}

fn table_words(table: &Table) -> String {
    let mut words = vec![name(&table.name)];
    words.extend(key_words(table.primary()));
    let texts =
        [("ttl", &table.ttl), ("type_attribute", &table.type_attribute), ("tenant", &table.tenant)];
    for (word, value) in texts {
        words.extend(value.iter().map(|value| format!("{word} = {value:?}")));
    }
    if table.separator != "#" {
        words.push(format!("separator = {:?}", table.separator));
    }
    let escape = Some(table.escape).filter(|escape| *escape != Escape::Reject).map(Escape::as_str);
    let stream = table.stream.map(|view| match view {
        StreamView::KeysOnly => "keys",
        StreamView::NewImage => "new",
        StreamView::OldImage => "old",
        StreamView::NewAndOldImages => "both",
    });
    let infrequent = table.class == TableClass::InfrequentAccess;
    let choices = [
        ("billing", (table.billing == Billing::Provisioned).then_some("provisioned")),
        ("escape", escape),
        ("stream", stream),
        ("class", infrequent.then_some("infrequent-access")),
    ];
    for (word, choice) in choices {
        words.extend(choice.map(|choice| format!("{word} = {choice:?}")));
    }
    for index in table.secondary() {
        let mut parts = vec![name(index.label())];
        parts.extend(key_words(index));
        match &index.projection {
            Projection::All => {}
            Projection::Keys => parts.push("projection = \"keys\"".to_owned()),
            Projection::Include(names) => parts.push(format!("projection = {names:?}")),
        }
        if index.kind == IndexKind::Local {
            parts.push("local".to_owned());
        }
        words.push(format!("index({})", parts.join(", ")));
    }
    format!("table({})", words.join(", "))
}

/// What the `[design]` section says.
fn about_words(design: &Design) -> String {
    let mut words = String::new();
    if !design.has_file_name() {
        let _ = writeln!(words, "    title = {:?},", design.name());
    }
    if !design.description().is_empty() {
        let _ = writeln!(words, "    description = {:?},", design.description());
    }
    words
}

/// Whether the macro makes the rule and its guard of `unique(fields)`, the same in every word.
fn is_made_by_macro(rule: &UniqueRule) -> bool {
    let Some(by) = &rule.by else { return false };
    let Volume { count, size, max_size, growth, size_growth, lives } = by.volume;
    let numbers = [count, size, max_size, growth, size_growth, lives];
    let camel: String = rule.fields.iter().map(|field| camel_case(field)).collect();
    let owner = by.fields.last();
    let has_owner = owner
        .is_some_and(|field| field.name == "owner" && said(field) == "        pub : String,\n");
    let alike = by.fields.len() == rule.fields.len() + 1
        && by.fields.iter().zip(&rule.fields).all(|(own, field)| {
            let guarded = rule.entity.field(field);
            own.name == *field && guarded.is_some_and(|guarded| is_like(own, guarded))
        });
    by.name == format!("{}{camel}Guard", rule.entity.name)
        && rule.name == format!("{} {}", rule.entity.name, rule.fields.join(" "))
        && by.description == format!("Keeps the unique fields of `{}`.", rule.entity.name)
        && by.table.name == rule.entity.table.name
        && numbers.iter().all(Option::is_none)
        && by.was.is_empty()
        && by.unique_by.is_empty()
        && by.keys.iter().all(|key| key.when.is_none() && !key.shape.is_native())
        && has_owner
        && alike
}

/// `user_id` is `UserId`, as the macro writes it.
fn camel_case(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters.clone()).collect::<String>()
    });
    words.collect()
}

/// A field as the module states it, whatever it is called there.
fn said(field: &Field) -> String {
    let mut text = String::new();
    write_field(&mut text, None, field, (String::new(), false));
    text
}

/// Whether a field says the same as another one, which may be missing.
fn is_like(field: &Field, other: &Field) -> bool {
    !field.optional && said(field) == said(&Field { optional: false, ..other.clone() })
}

/// `unique("one account per address", entity = User, fields(email), by = UserEmail)`
fn unique_words(rule: &UniqueRule) -> String {
    let fields: Vec<String> = rule.fields.iter().map(|field| name(field)).collect();
    let mut words = vec![format!("{:?}", rule.name), format!("entity = {}", rule.entity.name)];
    words.push(format!("fields({})", fields.join(", ")));
    words.extend(rule.by.iter().map(|by| format!("by = {}", by.name)));
    format!("unique({})", words.join(", "))
}

/// `write("change a role", entity(Grant), kind = "update", sets(role))`
fn write_words(write: &Write) -> String {
    let list = |names: &[&str]| names.iter().map(|text| name(text)).collect::<Vec<_>>().join(", ");
    let mut words = vec![format!("{:?}", write.name)];
    let entities: Vec<&str> = write.entities().map(|entity| entity.name.as_str()).collect();
    let sets: Vec<&str> = write.sets.iter().map(|field| field.value.as_str()).collect();
    // What is set is given, and so are the keys unless something else is said.
    let identity: Vec<&str> = write.entities().flat_map(|entity| entity.identity()).collect();
    let appends: Vec<&str> = write.appends.iter().map(|field| field.value.as_str()).collect();
    let said = |name: &&str| !sets.contains(name);
    let given: Vec<&str> = write.given.iter().map(String::as_str).filter(said).collect();
    let usual = identity.iter().filter(|name| said(name)).all(|name| given.contains(name))
        && given.iter().all(|name| identity.contains(name));
    let given = if usual { Vec::new() } else { given };
    words.push(format!("entity({})", list(&entities)));
    words.push(format!("kind = {:?}", write.kind.as_str()));
    for (word, names) in [("sets", sets), ("given", given), ("appends", appends)] {
        words.extend((!names.is_empty()).then(|| format!("{word}({})", list(&names))));
    }
    let stated = write.members.iter().filter(|member| member.kind != write.kind);
    let kinds: Vec<String> = stated
        .map(|member| format!("{} = {:?}", name(&member.entity.name), member.kind.as_str()))
        .collect();
    words.extend((!kinds.is_empty()).then(|| format!("kinds({})", kinds.join(", "))));
    words.extend((write.items > 1).then(|| format!("items = {}", write.items)));
    words.extend(write.rate.as_ref().map(rate_words));
    words.extend(write.reads_first.then(|| "reads_first".to_owned()));
    if let Some(expression) = &write.expression {
        words.push(format!("expression = {:?}", expression.text.value));
        let names = expression.names.iter().map(|(short, name)| format!("{short:?} = {name:?}"));
        let names: Vec<String> = names.collect();
        words.extend((!names.is_empty()).then(|| format!("names({})", names.join(", "))));
    }
    if !write.description.is_empty() {
        words.push(format!("description = {:?}", write.description));
    }
    format!("write({})", words.join(", "))
}

/// What a relationship was declared with, as far as its patterns tell.
fn relationship_words(design: &Design, relationship: &Relationship) -> String {
    let Relationship { name: title, from, to, .. } = relationship;
    let kind = match relationship.kind {
        RelationshipKind::OneToOne => "one-to-one",
        RelationshipKind::OneToMany => "one-to-many",
        RelationshipKind::ManyToMany => "many-to-many",
    };
    let mut words = vec![format!("{title:?}"), format!("from = {}", from.name)];
    words.push(format!("to = {}", to.name));
    words.push(format!("kind = {kind:?}"));
    words.extend(relationship.through.iter().map(|link| format!("through = {}", link.name)));
    let forward = design.access(&format!("{title}: {} to {}", from.name, to.name));
    let backward = design.access(&format!("{title}: {} to {}", to.name, from.name));
    let on = forward.map(|access| access.inputs.iter().map(|input| name(&input.field)));
    let on: Vec<String> = on.into_iter().flatten().collect();
    words.extend((!on.is_empty()).then(|| format!("on({})", on.join(", "))));
    match (forward, backward) {
        (Some(_), None) => words.push("direction = \"forward\"".to_owned()),
        (None, Some(_)) => words.push("direction = \"backward\"".to_owned()),
        _ => {}
    }
    format!("relationship({})", words.join(", "))
}

fn rate_words(rate: &Rate) -> String {
    if rate.average.total_cmp(&rate.peak).is_eq() {
        return format!("rate = \"{}/s\"", rate.average);
    }
    format!("rate(average = \"{}/s\", peak = \"{}/s\")", rate.average, rate.peak)
}

/// A word if it can be one, else a text.
fn name(text: &str) -> String {
    if is_word(text) { text.to_owned() } else { format!("{text:?}") }
}

fn is_word(text: &str) -> bool {
    let first = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A description as the comment of what follows.
fn write_description(out: &mut String, description: &str) {
    for line in comment_lines(description) {
        let _ = write!(out, "\n    {}", format!("/// {line}").trim_end());
    }
}

/// A comment cannot hold a carriage return.
fn comment_lines(description: &str) -> impl Iterator<Item = String> {
    description.lines().map(|line| line.replace('\r', " ").trim_end().to_owned())
}

/// The description once more, where the macro makes another text of its comment: lines there are those of one paragraph.
fn description_word(description: &str) -> Option<String> {
    let lines: Vec<String> =
        comment_lines(description).map(|line| line.trim().to_owned()).collect();
    let lost = lines.join(" ").trim() != description;
    lost.then(|| format!("description = {description:?}"))
}

/// The names of an entity's fields in Rust, and whether each is another one than in the design.
fn identifiers(entity: &Entity) -> Vec<(String, bool)> {
    let mut names: Vec<(String, bool)> =
        entity.fields.iter().map(|field| identifier(&field.name)).collect();
    // Those that keep their name come first, so that no other takes it.
    let mut taken: Vec<String> =
        names.iter().filter(|(_, other)| !other).map(|(name, _)| name.clone()).collect();
    for (name, _) in names.iter_mut().filter(|(_, other)| *other) {
        while taken.contains(name) {
            name.push('_');
        }
        taken.push(name.clone());
    }
    names
}

/// The name of a field in Rust, and whether it is another one than in the design.
fn identifier(text: &str) -> (String, bool) {
    if NEVER_RAW.contains(&text) {
        return (format!("{}_", text.to_lowercase()), true);
    }
    if KEYWORDS.contains(&text) {
        return (format!("r#{text}"), false);
    }
    if is_word(text) {
        return (text.to_owned(), false);
    }
    let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    (format!("f_{}", plain.collect::<String>()), true)
}

fn key_words(index: &Index) -> Vec<String> {
    let named = |keys: &[crate::model::KeyAttribute]| -> Vec<String> {
        keys.iter()
            .map(|key| match key.kind.as_str() {
                "S" => name(&key.name),
                kind => format!("\"{}:{kind}\"", key.name),
            })
            .collect()
    };
    let (hash, range) = (named(&index.hash), named(&index.range));
    if index.is_multi_attribute() {
        let mut words = vec![format!("pk({})", hash.join(", "))];
        words.extend((!range.is_empty()).then(|| format!("sk({})", range.join(", "))));
        return words;
    }
    hash.into_iter().chain(range).collect()
}

fn write_entity(out: &mut String, design: &Design, entity: &Entity) {
    let mut words = Vec::new();
    if design.tables().len() > 1 {
        words.push(format!("table = {:?}", entity.table.name));
    }
    for key in entity.keys.iter().filter(|key| !key.shape.is_native()) {
        let attribute = name(&key.attribute);
        words.push(format!("{attribute} = {:?}", key.shape.template().text()));
        if let Some(when) = &key.when {
            words.push(format!("when({attribute} = {:?})", when.to_string()));
        }
    }
    let volume = &entity.volume;
    let numbers = [("count", volume.count), ("size", volume.size), ("max_size", volume.max_size)];
    for (word, number) in numbers {
        words.extend(number.map(|number| format!("{word} = {number}")));
    }
    if !entity.was.is_empty() {
        let names: Vec<String> = entity.was.iter().map(|text| name(text)).collect();
        words.push(format!("was({})", names.join(", ")));
    }
    if !entity.unique_by.is_empty() {
        let names: Vec<String> = entity.unique_by.iter().map(|text| name(text)).collect();
        words.push(format!("identity({})", names.join(", ")));
    }
    let growth = volume.growth.map(|growth| format!("growth = \"{}%/month\"", growth * 100.0));
    words.extend(growth);
    let sizes =
        volume.size_growth.map(|growth| format!("size_growth = \"{}%/month\"", growth * 100.0));
    words.extend(sizes);
    words.extend(volume.lives.map(|seconds| format!("lives = \"{seconds} s\"")));
    let mine = |rule: &&UniqueRule| rule.entity.name == entity.name && is_made_by_macro(rule);
    for rule in design.uniques().iter().filter(mine) {
        let fields = rule.fields.iter().map(|field| name(field));
        let keys = rule.by.iter().flat_map(|by| &by.keys);
        let keys =
            keys.map(|key| format!("{} = {:?}", name(&key.attribute), key.shape.template().text()));
        words.push(format!("unique({})", fields.chain(keys).collect::<Vec<_>>().join(", ")));
    }
    words.extend(description_word(&entity.description));
    let mut fields = String::new();
    for (field, rust_name) in entity.fields.iter().zip(identifiers(entity)) {
        match &field.kind {
            FieldKind::Shard(shards) if !shards.by.is_empty() => words.push(format!(
                "shard({}, shards = {}, by({}))",
                field.name,
                shards.count,
                shards.by.join(", ")
            )),
            _ => write_field(&mut fields, entity.table.ttl.as_deref(), field, rust_name),
        }
    }
    write_description(out, &entity.description);
    let _ = write!(
        out,
        "\n    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]\n    #[entity({})]\n    pub struct {} {{\n{fields}    }}\n",
        words.join(", "),
        entity.name
    );
}

/// Words of Rust's own that cannot be written as `r#word` either.
const NEVER_RAW: [&str; 5] = ["_", "Self", "crate", "self", "super"];

/// Words of Rust's own, and those that it keeps for later.
const KEYWORDS: [&str; 48] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

fn write_field(
    out: &mut String,
    ttl: Option<&str>,
    field: &Field,
    (rust_name, other): (String, bool),
) {
    let expires = ttl == Some(&field.name);
    let (rust, own) = if expires { ("u64", "number") } else { rust_type(field) };
    let mut words = Vec::new();
    match (field.values(), &field.kind) {
        (_, FieldKind::Shard(shards)) => {
            words.push(format!("type = \"shard\", shards = {}", shards.count));
        }
        (Some(values), FieldKind::Scalar(format))
            if matches!(format.kind(), FieldType::Enum(_)) =>
        {
            let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            words.push(format!("values({})", values.join(", ")));
        }
        // A number in the file is a `u64` here: the macro must be told.
        _ if expires || plain_type(field) != own => {
            words.push(format!("type = {:?}", plain_type(field)));
        }
        _ => {}
    }
    let flags = [
        ("immutable", field.immutable),
        ("sequential", field.sequential),
        ("key_only", field.key_only),
    ];
    words.extend(flags.iter().filter(|(_, set)| *set).map(|(word, _)| (*word).to_owned()));
    if expires {
        words.push("ttl".to_owned());
    }
    let numbers = [
        ("distinct", field.distinct),
        ("top_share", field.top_share),
        ("present", field.present),
        ("max", field.max_bytes.map(|max| max as f64)),
        ("size", field.size),
        ("max_items", field.max_items.map(|most| most as f64)),
        ("item_size", field.item_size),
    ];
    for (word, number) in numbers {
        words.extend(number.map(|number| format!("{word} = {number}")));
    }
    for (word, time) in [("since", field.since), ("until", field.until)] {
        words.extend(time.map(|time| format!("{word} = \"{}\"", Value::Time(time))));
    }
    words.extend(field.was.as_ref().map(|was| format!("was = {was:?}")));
    if other {
        let _ = writeln!(out, "        #[serde(rename = {:?})]", field.name);
    }
    if !words.is_empty() {
        let _ = writeln!(out, "        #[field({})]", words.join(", "));
    }
    let rust = if field.optional { format!("Option<{rust}>") } else { rust.to_owned() };
    let _ = writeln!(out, "        pub {rust_name}: {rust},");
}

/// The type of a field, without the greatest length that the field states by itself: only there it bounds items too.
fn plain_type(field: &Field) -> String {
    let name = field.type_name();
    match (&field.kind, field.max_bytes) {
        (FieldKind::Scalar(format), Some(max))
            if format.max_bytes() == usize::try_from(max).ok() =>
        {
            name.replacen(&format!(":{max}"), "", 1)
        }
        _ => name,
    }
}

/// The Rust type of a field, and the design type that it stands for without further words.
fn rust_type(field: &Field) -> (&'static str, &'static str) {
    let FieldKind::Scalar(format) = &field.kind else {
        return match field.kind {
            FieldKind::Number => ("f64", "number"),
            FieldKind::Binary => ("keyloom::Binary", "binary"),
            FieldKind::List => ("Vec<String>", "list"),
            FieldKind::TextSet => ("keyloom::Set<String>", "string_set"),
            FieldKind::NumberSet => ("keyloom::Set<i64>", "number_set"),
            FieldKind::Map => ("std::collections::BTreeMap<String, String>", "map"),
            FieldKind::Shard(_) => ("u32", "u32"),
            _ => ("String", "string"),
        };
    };
    match format.kind() {
        FieldType::U8 => ("u8", "u8"),
        FieldType::U16 => ("u16", "u16"),
        FieldType::U32 => ("u32", "u32"),
        FieldType::U64 => ("u64", "u64"),
        FieldType::I64 => ("i64", "i64"),
        FieldType::Decimal { .. } => ("keyloom::Decimal", "decimal"),
        FieldType::Uuid => ("Uuid", "uuid"),
        FieldType::Ulid => ("Ulid", "ulid"),
        FieldType::Bool => ("bool", "bool"),
        _ if format.precision().is_some() => ("Timestamp", "datetime"),
        _ => ("String", "string"),
    }
}

fn write_access(out: &mut String, access: &Access, title: &str, missing: &mut Vec<String>) {
    let find = match access.find.as_slice() {
        [one] => format!("find = {}", one.name),
        several => {
            let names: Vec<&str> = several.iter().map(|entity| entity.name.as_str()).collect();
            format!("find({})", names.join(", "))
        }
    };
    let mut words = vec![find, format!("name = {:?}", access.name)];
    words.extend(access.via.iter().map(|via| format!("via = {}", via.name)));
    let condition = access.where_text(operand);
    words.extend((!condition.is_empty()).then(|| format!("where = {condition:?}")));
    let order = access.order_text();
    words.extend((!order.is_empty()).then(|| format!("order = {order:?}")));
    words.extend(access.limit.map(|limit| format!("limit = {limit}")));
    words.extend(access.index.iter().map(|index| format!("index = {:?}", index.value)));
    words.extend((!access.returns.is_empty()).then(|| format!("returns = {:?}", access.returns)));
    words.extend(access.consistent.then(|| "consistent".to_owned()));
    words.extend(access.all_pages.then(|| "all_pages".to_owned()));
    words.extend(access.rate.as_ref().map(rate_words));
    let numbers = [("items", access.items), ("keeps", access.keeps)];
    for (word, number) in numbers {
        words.extend(number.map(|number| format!("{word} = {number}")));
    }
    words.extend(access.max_requests.map(|most| format!("max_requests = {most}")));
    if let Some(raw) = &access.raw {
        words.push(format!("key = {:?}", raw.key.to_string()));
        words
            .extend(raw.filter.as_ref().map(|filter| format!("filter = {:?}", filter.to_string())));
    }
    words.extend(access.implied_by.is_some().then(|| "implied".to_owned()));
    words.extend(description_word(&access.description));
    write_description(out, &access.description);
    let _ = write!(
        out,
        "\n    #[derive(Access)]\n    #[access({})]\n    pub struct {}",
        words.join(", "),
        title
    );
    if access.inputs.is_empty() {
        out.push_str(";\n");
        return;
    }
    out.push_str(" {\n");
    for input in &access.inputs {
        let field = access.asked().and_then(|entity| entity.field(&input.field));
        let rust = field.map_or("String", |field| rust_type(field).0);
        let (rust_name, other) = identifier(&input.name);
        if other {
            missing.push(format!(
                "access pattern `{}`: no field of a struct can have the name of its input `{}`",
                access.name, input.name
            ));
        }
        let _ = writeln!(out, "        pub {rust_name}: {rust},");
    }
    out.push_str("    }\n");
}

/// `tasks in a project` is `TasksInAProject`.
fn type_name(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name: String = words
        .flat_map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .into_iter()
                .flat_map(char::to_uppercase)
                .chain(letters)
                .collect::<Vec<_>>()
        })
        .collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "Pattern");
    }
    name
}

fn operand(operand: &Operand) -> String {
    match operand {
        Operand::Input(name) => format!(":{name}"),
        Operand::Value(Value::Int(number)) => number.to_string(),
        Operand::Value(Value::Bool(flag)) => flag.to_string(),
        Operand::Value(value) => format!("'{}'", value.to_string().replace('\'', "''")),
    }
}
