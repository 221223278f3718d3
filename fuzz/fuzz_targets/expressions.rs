//! Any text as every kind of expression: it is refused with a message or works, and what parses prints
//! to something that parses to the same tree.

#![no_main]

use keyloom_core::expr::{Bindings, parser};
use keyloom_core::limits::MAX_EXPRESSION_BYTES;
use keyloom_core::{AttributeValue, Item};
use libfuzzer_sys::fuzz_target;

fn item() -> Item {
    let mut map = Item::new();
    map.insert("b", 1_i64);
    map.insert("c", "text");
    let mut item = Item::new();
    item.insert("a", AttributeValue::L(vec![1_i64.into(), AttributeValue::M(map.clone())]));
    item.insert("m", AttributeValue::M(map));
    item.insert("n", 7_i64);
    item.insert("s", AttributeValue::Ss(vec!["x".into(), "y".into()]));
    item
}

fn bindings() -> Option<Bindings> {
    let names = vec![("#n".into(), "n".into()), ("#m".into(), "m".into())];
    let values = vec![
        (":n".into(), 1_i64.into()),
        (":s".into(), "S".into()),
        (":l".into(), AttributeValue::L(vec![2_i64.into()])),
        (":ss".into(), AttributeValue::Ss(vec!["x".into()])),
    ];
    Bindings::new(Some(names), Some(values)).ok()
}

fuzz_target!(|text: &str| {
    if let Ok(parsed) = parser::parse_condition(text) {
        let printed = parsed.tree.to_string();
        // Printing spells out spaces, which may push the text over the limit.
        if printed.len() <= MAX_EXPRESSION_BYTES {
            assert_eq!(parser::parse_condition(&printed).map(|again| again.tree), Ok(parsed.tree));
        }
    }
    if let Ok(parsed) = parser::parse_update(text) {
        let printed = parsed.tree.to_string();
        if printed.len() <= MAX_EXPRESSION_BYTES {
            assert_eq!(parser::parse_update(&printed).map(|again| again.tree), Ok(parsed.tree));
        }
    }
    let item = item();
    let Some(mut bindings) = bindings() else { return };
    if let Ok(condition) = bindings.condition(text) {
        condition.matches(Some(&item));
        condition.matches(None);
    }
    if let Ok(tree) = bindings.key_condition(text) {
        let _ = tree.into_clauses();
    }
    if let Ok(projection) = bindings.projection(text) {
        projection.apply(&item);
    }
    if let Ok(update) = bindings.update(text) {
        for existing in [Some(&item), None] {
            if let Ok(updated) = update.apply(existing, &Item::new()) {
                update.targets().apply(&updated);
            }
        }
    }
});
