//! Request bodies with an item, which is read while it is parsed.
//!
//! Building a tree of an item's JSON and the item from the tree is twice the work. Whatever is not as
//! it should be is left to the tree, which knows what to say of it.

use super::tree::{Json, JsonObject, Parser};
use super::{parse, read};
use crate::error::Result;
use crate::limits::MAX_NESTING;
use crate::number::Number;
use crate::value::{AttributeType, AttributeValue, Item, Str, check_attribute_name};

/// Parses a document whose member of this name is an item. The item is read, too, and left out of the
/// document, if there is nothing wrong with it.
///
/// ```
/// use keyloom_core::json;
///
/// let body = br#"{"TableName":"t","Key":{"pk":{"S":"a"}}}"#;
/// let (members, key) = json::parse_with_item(body, "Key")?;
/// assert_eq!(key.unwrap().get("pk"), Some(&"a".into()));
/// assert_eq!(members, json::parse(br#"{"TableName":"t"}"#)?);
/// # Ok::<(), keyloom_core::Error>(())
/// ```
pub fn parse_with_item<'a>(text: &'a [u8], member: &str) -> Result<(Json<'a>, Option<Item>)> {
    match directly(text, member) {
        Some((members, item)) => Ok((members, Some(item))),
        None => Ok((parse(text)?, None)),
    }
}

fn directly<'a>(text: &'a [u8], member: &str) -> Option<(Json<'a>, Item)> {
    let mut parser = Parser::new(text)?;
    let (mut members, mut item) = (Vec::with_capacity(8), None);
    parser.members(|parser, name| {
        if name != member {
            members.push((name, parser.any_value(1)?));
        } else if item.is_none() {
            item = Some(parser.item(0)?);
        } else {
            // The last one would count.
            return None;
        }
        Some(())
    })?;
    parser.finish()?;
    Some((Json::Object(JsonObject::new(members)), item?))
}

impl Parser<'_> {
    /// An object of attribute values.
    fn item(&mut self, depth: usize) -> Option<Item> {
        // A list of a million empty maps must not take half a gigabyte.
        let mut attributes = Vec::with_capacity(if depth == 0 { 8 } else { 0 });
        self.members(|parser, name| {
            if check_attribute_name(&name).is_err() {
                return None;
            }
            attributes.push((Str::from(name.as_ref()), parser.attribute_value(depth)?));
            Some(())
        })?;
        Some(attributes.into_iter().collect())
    }

    /// An attribute value: an object of one member.
    fn attribute_value(&mut self, depth: usize) -> Option<AttributeValue> {
        if depth >= MAX_NESTING {
            return None;
        }
        let mut value = None;
        self.members(|parser, name| {
            if value.is_some() {
                return None;
            }
            let kind = AttributeType::from_wire(&name)?;
            value = Some(match kind {
                AttributeType::S => AttributeValue::S(parser.string()?.as_ref().into()),
                AttributeType::N => AttributeValue::N(Number::parse(&parser.string()?).ok()?),
                AttributeType::M => AttributeValue::M(parser.item(depth + 1)?),
                AttributeType::L => {
                    let mut list = Vec::new();
                    parser.elements(|parser| {
                        list.push(parser.attribute_value(depth + 1)?);
                        Some(())
                    })?;
                    AttributeValue::L(list)
                }
                _ => {
                    // The body, its member, this value; each map adds itself and its value.
                    let json = parser.any_value(3 + 2 * depth)?;
                    read::typed(kind, &json, depth).ok()?
                }
            });
            Some(())
        })?;
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::item;
    use crate::json::{item_from, write_item};

    /// Reading at once never says anything else than reading through a tree.
    fn agrees_with_the_tree(text: &[u8]) -> bool {
        let Some((members, item)) = directly(text, "Item") else { return false };
        let Ok(Json::Object(tree)) = parse(text) else { panic!("no JSON: {text:?}") };
        assert_eq!(tree.get("Item").map(|json| item_from(json).unwrap()), Some(item));
        let others = tree.into_iter().filter(|(name, _)| name != "Item").collect();
        assert_eq!(members, Json::Object(JsonObject::new(others)));
        true
    }

    #[test]
    fn what_is_unusual_is_left_to_the_tree() {
        for (text, is_usual) in [
            (r#"{"Item":{"a":{"S":"b"}}}"#, true),
            (
                r#" { "Item" : { "a" : { "N" : "1" } , "b" : { "BOOL" : true } } , "c" : [ ] } "#,
                true,
            ),
            (r#"{"c":1,"Item":{}}"#, true),
            (r#"{"Item":{"a":{"L":[{"M":{"b":{"NULL":true}}}]}}}"#, true),
            (r#"{"Item":{"a":{"SS":["b"]},"c":{"B":"AAEC"}}}"#, true),
            (r#"{"Item":{"a":{"S":"b"},"a":{"S":"c"}}}"#, true),
            (r#"{"Item":{"a":{"S":"\u00e9\n"}}}"#, true),
            (r#"{"c":1}"#, false),
            (r#"{"Item":null}"#, false),
            (r#"{"Item":{"a":{"S":"b"}},"Item":{}}"#, false),
            (r#"{"Item":{"a":{"S":"b","N":"1"}}}"#, false),
            (r#"{"Item":{"a":{"S":"b","N":null}}}"#, false),
            (r#"{"Item":{"a":{"S":null}}}"#, false),
            (r#"{"Item":{"a":{}}}"#, false),
            (r#"{"Item":{"a":{"X":"b"}}}"#, false),
            (r#"{"Item":{"a":{"N":"x"}}}"#, false),
            (r#"{"Item":{"a":{"SS":[]}}}"#, false),
            (r#"{"Item":{"a":{"NULL":false}}}"#, false),
            (r#"{"Item":{"a":{"S":"b"}}}x"#, false),
            (r#"{"Item":{"a":{"S":"b"}}"#, false),
            ("[]", false),
        ] {
            assert_eq!(agrees_with_the_tree(text.as_bytes()), is_usual, "{text}");
        }
    }

    #[test]
    fn nesting_has_the_limit_of_items() {
        let nested = |depth: usize| {
            format!(
                r#"{{"Item":{}{{"S":"x"}}{}}}"#,
                r#"{"a":{"M":"#.repeat(depth),
                "}}".repeat(depth)
            )
            .replace(r#"{"M":{"S":"x"}}"#, r#"{"S":"x"}"#)
        };
        assert!(agrees_with_the_tree(nested(MAX_NESTING).as_bytes()));
        assert!(!agrees_with_the_tree(nested(MAX_NESTING + 1).as_bytes()));
        assert!(!agrees_with_the_tree(nested(100_000).as_bytes()));
        for depth in 120..136 {
            let lists = "[".repeat(depth) + &"]".repeat(depth);
            for text in [
                format!(r#"{{"Item":{{"a":{{"S":"b"}}}},"x":{lists}}}"#),
                format!(r#"{{"Item":{{"a":{{"L":{lists}}}}}}}"#),
            ] {
                agrees_with_the_tree(text.as_bytes());
            }
        }
    }

    proptest! {
        #[test]
        fn any_item_is_read_at_once(item in item()) {
            let mut text = br#"{"TableName":"t","Item":"#.to_vec();
            write_item(&item, &mut text);
            text.push(b'}');
            prop_assert!(agrees_with_the_tree(&text));
        }

        #[test]
        fn damaged_bodies_are_judged_as_by_the_tree(
            item in item(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), r#"[\[\]{}:,"\\A-Za-z0-9 ]"#), 1..4),
        ) {
            let mut text = br#"{"Item":"#.to_vec();
            write_item(&item, &mut text);
            text.push(b'}');
            for (at, piece) in changes {
                let at = at.index(text.len());
                text.splice(at..=at, piece.bytes());
            }
            agrees_with_the_tree(&text);
        }
    }
}
