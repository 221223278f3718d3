//! Names of entities, from the words in their keys.

use super::key::{KeyPlan, Piece};

/// Words that say what an item is to another one, rather than what it is.
const GENERAL: [&str; 12] = [
    "profile", "metadata", "meta", "info", "details", "detail", "data", "main", "root", "a",
    "self", "item",
];

/// `ORDER_ITEM` and `order-item` as `OrderItem`.
pub(super) fn pascal(text: &str) -> String {
    let mut name = String::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let shouts = !word.bytes().any(|b| b.is_ascii_lowercase());
        let mut chars = word.chars();
        name.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        name.extend(chars.map(|c| if shouts { c.to_ascii_lowercase() } else { c }));
    }
    name
}

/// A name for an entity with these keys that is not taken.
pub(super) fn entity_name(
    keys: &[KeyPlan],
    separator: &str,
    table: &str,
    taken: &dyn Fn(&str) -> bool,
) -> String {
    let word = |at: usize| keys.get(at).map(|key| first_word(key, separator)).unwrap_or_default();
    let (partition, sort) = (word(0), word(1));
    let has_field = keys.get(1).is_some_and(|key| {
        key.pieces.iter().flatten().any(|piece| matches!(piece, Piece::Field { .. }))
    });
    let general = GENERAL.contains(&sort.to_ascii_lowercase().as_str());
    let singular = table.strip_suffix("ies").map_or_else(
        || table.strip_suffix('s').unwrap_or(table).to_owned(),
        |stem| format!("{stem}y"),
    );
    let mut wanted: Vec<String> = Vec::new();
    if has_field || !general {
        wanted.push(sort.clone());
    }
    wanted.push(partition.clone());
    wanted.push(sort.clone());
    wanted.push(format!("{partition}_{sort}"));
    if partition.is_empty() && sort.is_empty() {
        wanted.push(singular);
    }
    let mut names = wanted.iter().map(|text| pascal(text)).filter(|name| is_name(name));
    if let Some(name) = names.find(|name| !taken(name)) {
        return name;
    }
    let base = wanted.iter().map(|text| pascal(text)).find(|name| is_name(name));
    let base = base.unwrap_or_else(|| "Item".to_owned());
    if !taken(&base) {
        return base;
    }
    (2..u32::MAX).map(|number| format!("{base}{number}")).find(|name| !taken(name)).unwrap_or(base)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The first word of a key's literals.
fn first_word(key: &KeyPlan, separator: &str) -> String {
    let Some(Piece::Literal(text)) = key.pieces.iter().flatten().next() else {
        return String::new();
    };
    text.split(separator).find(|word| !word.is_empty()).unwrap_or_default().to_owned()
}
