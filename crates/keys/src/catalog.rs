//! Sets of templates that share one key attribute and are recognised by their keys.

use std::error::Error;
use std::fmt;

use crate::relation::Relation;
use crate::template::{Fields, Template};

/// Two templates of one set that can build the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    /// The name of one template.
    pub first: String,
    /// The name of the other.
    pub second: String,
    /// A key of both, if one was found.
    pub example: Option<String>,
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` and `{}` can build the same key", self.first, self.second)?;
        if let Some(example) = &self.example {
            write!(f, ", such as `{example}`")?;
        }
        f.write_str("; give each a literal prefix of its own")
    }
}

impl Error for Collision {}

/// A set of named templates without collisions: every key belongs to at most one.
///
/// ```
/// use keyloom_keys::{Template, TemplateSet};
///
/// let set = TemplateSet::new([
///     ("profile", Template::parse("PROFILE")?),
///     ("order", Template::parse("ORDER#{day:date}#{id}")?),
/// ])?;
/// let (name, fields) = set.detect("ORDER#2024-12-01#456").expect("an order");
/// assert_eq!((name, fields.raw(1)), ("order", Some("456")));
/// assert!(set.detect("ORDER#yesterday#456").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TemplateSet {
    entries: Vec<(String, Template)>,
}

impl TemplateSet {
    /// Creates a set; fails if two templates can build the same key.
    pub fn new<N: Into<String>>(
        templates: impl IntoIterator<Item = (N, Template)>,
    ) -> Result<Self, Collision> {
        let mut entries: Vec<(String, Template)> = Vec::new();
        for (name, template) in templates {
            let second = name.into();
            for (first, earlier) in &entries {
                if let Relation::MayCollide { example } = earlier.relation(&template) {
                    return Err(Collision { first: first.clone(), second, example });
                }
            }
            entries.push((second, template));
        }
        Ok(TemplateSet { entries })
    }

    /// Finds the template of a key and parses its fields.
    pub fn detect<'k>(&self, key: &'k str) -> Option<(&str, Fields<'_, 'k>)> {
        self.entries.iter().find_map(|(name, template)| {
            let fields = template.parse_key(key).ok()?;
            Some((name.as_str(), fields))
        })
    }

    /// The names and templates in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Template)> {
        self.entries.iter().map(|(name, template)| (name.as_str(), template))
    }
}
