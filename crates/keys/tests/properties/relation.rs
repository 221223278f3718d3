//! What is said about two templates holds for their keys.

use keyloom_keys::{PrefixMatch, Relation, Template};
use proptest::prelude::*;

use crate::generate::{template, template_and_values};

fn keys(template: &Template, tuples: &[Vec<keyloom_keys::Value<'static>>]) -> Vec<String> {
    tuples.iter().filter_map(|tuple| template.build_values(tuple).ok()).collect()
}

proptest! {
    #[test]
    fn templates_said_to_be_disjoint_share_no_key((a, tuples) in template_and_values(6), b in template()) {
        let relation = a.relation(&b);
        let shared = keys(&a, &tuples).into_iter().find(|key| b.matches(key));
        if let Some(key) = shared {
            let collides = matches!(relation, Relation::MayCollide { .. });
            prop_assert!(collides, "{} belongs to both {} and {}, found {:?}", key, a, b, relation);
        }
    }

    #[test]
    fn examples_of_relations_are_keys(a in template(), b in template()) {
        match a.relation(&b) {
            Relation::MayCollide { example: Some(key) } => prop_assert!(a.matches(&key) && b.matches(&key)),
            Relation::PrefixOf { shorter, longer } | Relation::ExtensionOf { shorter, longer } => {
                prop_assert!(longer.starts_with(&shorter) && longer.len() > shorter.len());
            }
            _ => {}
        }
    }

    #[test]
    fn a_template_collides_with_itself((template, tuples) in template_and_values(1)) {
        if keys(&template, &tuples).is_empty() {
            return Ok(());
        }
        let collides = matches!(template.relation(&template), Relation::MayCollide { .. });
        prop_assert!(collides);
    }

    #[test]
    fn no_prefix_of_a_key_is_said_never_to_match((template, tuples) in template_and_values(1), cut in 0_usize..40) {
        for key in keys(&template, &tuples) {
            if let Some(prefix) = key.get(..cut.min(key.len())) {
                let never = matches!(template.match_prefix(prefix), PrefixMatch::Never { .. });
                prop_assert!(!never, "{} begins {}", prefix, key);
            }
        }
    }
}
