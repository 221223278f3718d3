//! Any text as a template, with any separator and policy. What is accepted must keep its laws.

#![no_main]

use keyloom_keys::{Order, SeparatorPolicy, Template, TemplateOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, Option<&str>, u8)| {
    let (text, separator, policy) = input;
    let options = TemplateOptions {
        separator: separator.map(str::to_owned),
        policy: match policy % 3 {
            0 => SeparatorPolicy::Reject,
            1 => SeparatorPolicy::PercentEscape,
            _ => SeparatorPolicy::OrderPreserving,
        },
        ..TemplateOptions::default()
    };
    let template = match Template::parse_with(text, &options, |_| None) {
        Ok(template) => template,
        Err(error) => {
            assert!(text.get(error.span()).is_some(), "the span points into the text");
            return;
        }
    };
    if let Some(key) = template.example() {
        assert!(template.matches(&key), "{key}");
        let range = template.range(&[], None).expect("all keys are a range");
        assert!(range.contains(&key), "{key} in {range:?}");
        assert!(template.language().contains(key.as_bytes()), "{key}");
    }
    if let Order::Broken(found) = template.order()
        && !found.lesser.is_empty()
    {
        assert!(found.lesser > found.greater);
    }
    let _ = template.relation(&template);
    let _ = template.match_prefix(text);
    let _ = template.parse_lenient(text);
});
