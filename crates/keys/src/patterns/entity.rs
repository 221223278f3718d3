//! Entities, composites, adjacency pairs and index values.

use std::sync::LazyLock;

use super::PatternError;
use crate::template::{MAX_FIELDS, Template, TemplateOptions};
use crate::value::Value;

static ENTITY: LazyLock<Template> =
    LazyLock::new(|| Template::parse("{entity}#{id}").expect("a valid template"));
static LEADING: LazyLock<Template> =
    LazyLock::new(|| Template::parse("#{entity}#{id}").expect("a valid template"));
static UNIQUE: LazyLock<Template> = LazyLock::new(|| {
    Template::parse("UNIQUE#{entity}#{attribute}#{value}").expect("a valid template")
});

/// An entity's type and identifier.
///
/// ```
/// use keyloom_keys::patterns::entity_key;
///
/// assert_eq!(entity_key("USER", "123")?, "USER#123");
/// assert_eq!(entity_key("ORDER", "abc")?, "ORDER#abc");
/// assert_eq!(entity_key("PRODUCT", "xyz")?, "PRODUCT#xyz");
/// assert!(entity_key("USER", "12#3").is_err());
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn entity_key(entity: &str, id: &str) -> Result<String, PatternError> {
    Ok(ENTITY.build_values(&[entity.into(), id.into()])?)
}

/// Splits an entity key into type and identifier.
///
/// ```
/// use keyloom_keys::patterns::parse_entity_key;
///
/// assert_eq!(parse_entity_key("USER#123")?, ("USER", "123"));
/// assert!(parse_entity_key("USER").is_err());
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn parse_entity_key(key: &str) -> Result<(&str, &str), PatternError> {
    let fields = ENTITY.parse_key(key)?;
    Ok((fields.raw(0).unwrap_or_default(), fields.raw(1).unwrap_or_default()))
}

/// Parts joined by `#`.
///
/// ```
/// use keyloom_keys::patterns::{composite_key, parse_composite_key};
///
/// assert_eq!(composite_key(&["USER", "123", "ORDER", "456"])?, "USER#123#ORDER#456");
/// assert_eq!(composite_key(&["2024", "12", "SALES", "region-west"])?, "2024#12#SALES#region-west");
/// assert_eq!(composite_key(&["TENANT", "acme", "USER", "alice"])?, "TENANT#acme#USER#alice");
/// assert_eq!(composite_key(&["ORDER", "2024-01-15T10:30:00Z", "abc123"])?, "ORDER#2024-01-15T10:30:00Z#abc123");
/// assert_eq!(parse_composite_key("USER#123#ORDER#456")?, ["USER", "123", "ORDER", "456"]);
/// // An identifier with the separator, or an empty part, would be read back as something else.
/// assert!(composite_key(&["USER", "12#3"]).is_err());
/// assert!(composite_key(&["A", "", "B"]).is_err());
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn composite_key(parts: &[&str]) -> Result<String, PatternError> {
    composite_key_with(parts, "#")
}

/// Parts joined by a separator.
///
/// ```
/// use keyloom_keys::patterns::{composite_key_with, parse_composite_key_with};
///
/// assert_eq!(composite_key_with(&["A", "B", "C"], "|")?, "A|B|C");
/// assert_eq!(composite_key_with(&["inventory", "armor", "item_456"], "::")?, "inventory::armor::item_456");
/// assert_eq!(parse_composite_key_with("A|B|C", "|")?, ["A", "B", "C"]);
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn composite_key_with(parts: &[&str], separator: &str) -> Result<String, PatternError> {
    let values: Vec<Value<'_>> = parts.iter().map(|part| Value::from(*part)).collect();
    Ok(parts_template(parts.len(), separator)?.build_values(&values)?)
}

/// Splits a key at `#`.
pub fn parse_composite_key(key: &str) -> Result<Vec<&str>, PatternError> {
    parse_composite_key_with(key, "#")
}

/// Splits a key at a separator.
pub fn parse_composite_key_with<'k>(
    key: &'k str,
    separator: &str,
) -> Result<Vec<&'k str>, PatternError> {
    let count = if separator.is_empty() { 1 } else { key.split(separator).count() };
    let template = parts_template(count, separator)?;
    let fields = template.parse_key(key)?;
    Ok((0..count).filter_map(|at| fields.raw(at)).collect())
}

/// A template that joins text fields by a separator.
fn parts_template(count: usize, separator: &str) -> Result<Template, PatternError> {
    if count == 0 || count > MAX_FIELDS {
        return Err(PatternError::Parts { pattern: "composite key", count, max: MAX_FIELDS });
    }
    let fields: Vec<String> = (1..=count).map(|part| format!("{{part_{part}}}")).collect();
    let options =
        TemplateOptions { separator: Some(separator.to_owned()), ..TemplateOptions::default() };
    Ok(Template::parse_with(&fields.join(separator), &options, |_| None)?)
}

/// The two keys of an item that links two entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjacencyKeys {
    /// The partition key: the source of the link.
    pub pk: String,
    /// The sort key: the target of the link.
    pub sk: String,
}

impl AdjacencyKeys {
    /// The link in the opposite direction, for an inverted index or a second item.
    #[must_use]
    pub fn inverse(&self) -> Self {
        AdjacencyKeys { pk: self.sk.clone(), sk: self.pk.clone() }
    }
}

/// The keys of a link from one entity to another. Each side is an entity key.
///
/// ```
/// use keyloom_keys::patterns::adjacency_keys;
///
/// let order = adjacency_keys("USER#123", "ORDER#abc")?;
/// assert_eq!((order.pk.as_str(), order.sk.as_str()), ("USER#123", "ORDER#abc"));
/// let inverted = order.inverse();
/// assert_eq!((inverted.pk.as_str(), inverted.sk.as_str()), ("ORDER#abc", "USER#123"));
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn adjacency_keys(source: &str, target: &str) -> Result<AdjacencyKeys, PatternError> {
    parse_entity_key(source)?;
    parse_entity_key(target)?;
    Ok(AdjacencyKeys { pk: source.to_owned(), sk: target.to_owned() })
}

/// A value of an overloaded index key.
///
/// ```
/// use keyloom_keys::patterns::gsi_key;
///
/// assert_eq!(gsi_key("STATUS", "PENDING")?, "STATUS#PENDING");
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn gsi_key(kind: &str, value: &str) -> Result<String, PatternError> {
    entity_key(kind, value)
}

/// An index value that exists only for some items, so that only they are in the index.
///
/// ```
/// use keyloom_keys::patterns::sparse_index_value;
///
/// assert_eq!(sparse_index_value(true, "FEATURED"), Some("FEATURED"));
/// assert_eq!(sparse_index_value(false, "FEATURED"), None);
/// ```
pub fn sparse_index_value<T>(condition: bool, value: T) -> Option<T> {
    condition.then_some(value)
}

/// The key of an item that exists to keep a value unique, written in one transaction with the entity.
///
/// ```
/// use keyloom_keys::patterns::unique_key;
///
/// assert_eq!(unique_key("USER", "email", "user@example.com")?, "UNIQUE#USER#email#user@example.com");
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn unique_key(entity: &str, attribute: &str, value: &str) -> Result<String, PatternError> {
    Ok(UNIQUE.build_values(&[entity.into(), attribute.into(), value.into()])?)
}

/// A sort key that sorts before all that begin with a letter or a digit, so that a parent is read before its children.
///
/// ```
/// use keyloom_keys::patterns::leading_key;
///
/// let repository = leading_key("REPO#linux")?;
/// assert_eq!(repository, "#REPO#linux");
/// assert!(repository.as_str() < "ISSUE#1");
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn leading_key(entity_key: &str) -> Result<String, PatternError> {
    let (entity, id) = parse_entity_key(entity_key)?;
    Ok(LEADING.build_values(&[entity.into(), id.into()])?)
}
