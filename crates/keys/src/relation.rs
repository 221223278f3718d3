//! How the keys of one template relate to those of another, and to prefixes.

use crate::byteset::ByteSet;
use crate::language::{Language, completion, search};
use crate::template::Template;

/// The relation between the keys of two templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// No key belongs to both, and no key of one is a prefix of a key of the other.
    Disjoint,
    /// A key may belong to both.
    MayCollide {
        /// Such a key, if one was found that both templates parse.
        example: Option<String>,
    },
    /// A key of the first is a prefix of a key of the second: `begins_with` the shorter finds the longer too.
    PrefixOf {
        /// A key of the first template.
        shorter: String,
        /// A key of the second that begins with it.
        longer: String,
    },
    /// A key of the second is a prefix of a key of the first.
    ExtensionOf {
        /// A key of the second template.
        shorter: String,
        /// A key of the first that begins with it.
        longer: String,
    },
}

/// Whether keys of a template can begin with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrefixMatch {
    /// Some keys may, and the text ends with a literal, so that it includes the end of the field before.
    AtBoundary,
    /// Some keys may, and the text ends inside a field, so that longer values match, too.
    InsideField {
        /// The name of the field.
        field: String,
    },
    /// The text is a whole key.
    WholeKey,
    /// No key begins with the text.
    Never {
        /// The longest prefix of the text with which some keys begin: probably what was meant.
        longest: String,
        /// How keys continue instead.
        reason: String,
    },
}

impl Template {
    /// The relation between the keys of this template and another.
    ///
    /// ```
    /// use keyloom_keys::{Relation, Template};
    ///
    /// let product = Template::parse("PRODUCT#{product}")?;
    /// let variant = Template::parse("PRODUCT#{product}#VARIANT#{color}")?;
    /// assert!(matches!(product.relation(&variant), Relation::PrefixOf { .. }));
    /// let order = Template::parse("ORDER#{id}")?;
    /// assert_eq!(product.relation(&order), Relation::Disjoint);
    /// let day = Template::parse("ORDER#{day:date}")?;
    /// assert!(matches!(order.relation(&day), Relation::MayCollide { example: Some(_) }));
    /// # Ok::<(), keyloom_keys::TemplateError>(())
    /// ```
    pub fn relation(&self, other: &Template) -> Relation {
        let (left, right) = (self.language(), other.language());
        let both_end = |a, b| left.accepts(a) && right.accepts(b);
        if let Some((text, _)) = search(&left, &right, both_end) {
            let candidates = [text_of(text), other.example(), self.example()];
            let example = candidates
                .into_iter()
                .flatten()
                .find(|key| self.matches(key) && other.matches(key));
            return Relation::MayCollide { example };
        }
        if let Some((shorter, longer)) = begins(&left, &right) {
            return Relation::PrefixOf { shorter, longer };
        }
        if let Some((shorter, longer)) = begins(&right, &left) {
            return Relation::ExtensionOf { shorter, longer };
        }
        Relation::Disjoint
    }

    /// Whether any key of this template can begin with a text.
    ///
    /// ```
    /// use keyloom_keys::{PrefixMatch, Template};
    ///
    /// let order = Template::parse("ORDER#{placed_at:datetime}#{order_id}")?;
    /// // The day is followed by `T`, so this prefix finds nothing, ever.
    /// let PrefixMatch::Never { longest, .. } = order.match_prefix("ORDER#2024-12#") else { panic!() };
    /// assert_eq!(longest, "ORDER#2024-12");
    /// assert_eq!(order.match_prefix("ORDER#"), PrefixMatch::AtBoundary);
    /// # Ok::<(), keyloom_keys::TemplateError>(())
    /// ```
    pub fn match_prefix(&self, prefix: &str) -> PrefixMatch {
        let language = self.language();
        let mut states = vec![Language::START];
        for (at, byte) in prefix.bytes().enumerate() {
            let next = language.step(&states, byte);
            if next.is_empty() {
                return self.never(&language, &states, prefix, at);
            }
            states = next;
        }
        if states.iter().any(|&state| language.accepts(state)) && self.matches(prefix) {
            return PrefixMatch::WholeKey;
        }
        let inside = states.iter().find_map(|&state| {
            let field = self.segments().get(language.segment(state))?.as_field()?;
            let goes_on = language
                .edges(state)
                .iter()
                .any(|(_, to)| language.segment(*to) == language.segment(state));
            goes_on.then_some(field)
        });
        match inside {
            Some(field) if !prefix.is_empty() => {
                PrefixMatch::InsideField { field: field.name().to_owned() }
            }
            _ => PrefixMatch::AtBoundary,
        }
    }

    fn never(&self, language: &Language, states: &[usize], prefix: &str, at: usize) -> PrefixMatch {
        let mut longest = prefix.get(..at);
        let mut cut = at;
        while longest.is_none() && cut > 0 {
            cut -= 1;
            longest = prefix.get(..cut);
        }
        let longest = longest.unwrap_or_default().to_owned();
        let edges = states.iter().flat_map(|&state| language.edges(state));
        let expected: Vec<String> = edges
            .fold(ByteSet::EMPTY, |set, (bytes, _)| set.union(*bytes))
            .iter()
            .take(12)
            .map(|byte| char::from(byte).escape_debug().to_string())
            .collect();
        let segment = states.first().map_or(0, |&state| language.segment(state));
        let place = match self.segments().get(segment).and_then(|segment| segment.as_field()) {
            Some(field) => format!("in field `{}`, ", field.name()),
            None => String::new(),
        };
        let reason = match expected.as_slice() {
            [] => format!("every key ends after `{longest}`"),
            [only] => format!("{place}keys continue after `{longest}` with `{only}`"),
            many => {
                format!("{place}keys continue after `{longest}` with one of `{}`", many.concat())
            }
        };
        PrefixMatch::Never { longest, reason }
    }
}

/// A key of the first language and a longer key of the second that begins with it.
fn begins(shorter: &Language, longer: &Language) -> Option<(String, String)> {
    let ends_first = |a, b| shorter.accepts(a) && !longer.edges(b).is_empty();
    let (text, state) = search(shorter, longer, ends_first)?;
    let whole: Vec<u8> = text.iter().copied().chain(completion(longer, state)?).collect();
    Some((text_of(text)?, text_of(whole)?))
}

fn text_of(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(a: &str, b: &str) -> Relation {
        Template::parse(a).unwrap().relation(&Template::parse(b).unwrap())
    }

    #[test]
    fn collisions_come_with_a_key_of_both() {
        for (a, b) in [
            ("USER#{id}", "USER#{name}"),
            ("{a}#{b}", "USER#{id}"),
            ("ORDER#{id}", "ORDER#{day:date}"),
            ("X#{n:u32:plain}", "X#{n:u8}"),
            ("{a}::{b}", "inventory::{kind}"),
            ("{a:enum:x|yy}{n:u8}", "yy001"),
            ("METADATA", "METADATA"),
        ] {
            let Relation::MayCollide { example } = relation(a, b) else { panic!("{a} {b}") };
            let key = example.unwrap();
            assert!(Template::parse(a).unwrap().matches(&key), "{a} {key}");
            assert!(Template::parse(b).unwrap().matches(&key), "{b} {key}");
        }
    }

    #[test]
    fn keys_that_cannot_meet_are_disjoint() {
        for (a, b) in [
            ("USER#{id}", "ORDER#{id}"),
            ("ORDER#{day:date}", "ORDER#{at:epoch_ms}"),
            ("{a:u8}-{b}", "x{a}"),
            ("A#{id:ulid}", "A#{id:uuid}"),
            // A month's tens are 0 or 1, their complements 8 or 9.
            ("ORDER#{at:datetime}", "ORDER#{at:datetime:desc}"),
            ("S#{a:enum:on|off}", "S#maybe"),
        ] {
            assert_eq!(relation(a, b), Relation::Disjoint, "{a} {b}");
        }
    }

    #[test]
    fn a_parent_begins_its_children() {
        for (a, b) in [
            ("PRODUCT#{id}", "PRODUCT#{id}#VARIANT#{color}"),
            ("inventory::{kind}", "inventory::{kind}::{id}"),
            ("DOC", "DOC#{id}"),
            ("ORDER#{day:date}", "ORDER#{at:datetime}"),
        ] {
            let Relation::PrefixOf { shorter, longer } = relation(a, b) else { panic!("{a} {b}") };
            assert!(longer.starts_with(&shorter) && longer.len() > shorter.len());
            assert!(Template::parse(a).unwrap().matches(&shorter), "{a} {shorter}");
            assert!(matches!(relation(b, a), Relation::ExtensionOf { .. }));
        }
    }

    #[test]
    fn prefixes_that_find_nothing_are_recognised() {
        for (template, prefix, longest) in [
            ("ORDER#{at:datetime}#{id}", "ORDER#2024-12#", "ORDER#2024-12"),
            ("VERSION#{at:datetime}#{v}", "VERSION#2024-12-01#", "VERSION#2024-12-01"),
            ("ORDER#{at:date}#{id}", "ORDERS#", "ORDER"),
            ("PROFILE", "PROFILE#", "PROFILE"),
            ("USER#{id:ulid}", "USER#é", "USER#"),
        ] {
            let found = Template::parse(template).unwrap().match_prefix(prefix);
            let PrefixMatch::Never { longest: found, .. } = found else {
                panic!("{template} {found:?}")
            };
            assert_eq!(found, longest);
        }
        // Several states expect the same byte; it is named once.
        let order = Template::parse("ORDER#{at:datetime}#{id}").unwrap();
        let PrefixMatch::Never { reason, .. } = order.match_prefix("ORDER#2024-12#") else {
            panic!("no key has this prefix")
        };
        assert_eq!(reason, "in field `at`, keys continue after `ORDER#2024-12` with `-`");
    }

    #[test]
    fn prefixes_tell_where_they_end() {
        let order = Template::parse("ORDER#{day:date}#{id}").unwrap();
        assert_eq!(order.match_prefix(""), PrefixMatch::AtBoundary);
        assert_eq!(order.match_prefix("ORDER#2024-01-01#"), PrefixMatch::AtBoundary);
        assert_eq!(order.match_prefix("ORDER#2024-01-01#4"), PrefixMatch::WholeKey);
        assert_eq!(
            order.match_prefix("ORDER#2024-01"),
            PrefixMatch::InsideField { field: "day".into() }
        );
        let user = Template::parse("USER#{id}#ORDER#{n:u8}").unwrap();
        assert_eq!(user.match_prefix("USER#1"), PrefixMatch::InsideField { field: "id".into() });
        assert_eq!(user.match_prefix("USER#1#"), PrefixMatch::AtBoundary);
    }
}
