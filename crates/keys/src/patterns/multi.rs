//! Several attributes in one key: joined into a string, or as the values of a native multi-attribute key.

use super::PatternError;
use super::entity::{composite_key, parse_composite_key};
use crate::time::Timestamp;
use crate::value::Value;

/// The most attributes that DynamoDB accepts as the hash or as the range part of an index key.
const MAX_NATIVE_ATTRIBUTES: usize = 4;

/// Named values joined by `#`.
///
/// ```
/// use keyloom_keys::patterns::{create_multi_attribute_key, parse_multi_attribute_key};
///
/// let key = create_multi_attribute_key(&[("country", "US"), ("state", "CA"), ("city", "SF")])?;
/// assert_eq!(key, "US#CA#SF");
/// // The names are not in the key, so reading it takes them.
/// let parts = parse_multi_attribute_key(&["country", "state", "city"], &key)?;
/// assert_eq!(parts, [("country", "US"), ("state", "CA"), ("city", "SF")]);
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn create_multi_attribute_key(attributes: &[(&str, &str)]) -> Result<String, PatternError> {
    let parts: Vec<&str> = attributes.iter().map(|(_, value)| *value).collect();
    composite_key(&parts)
}

/// Splits a joined key into named values.
pub fn parse_multi_attribute_key<'n, 'k>(
    names: &[&'n str],
    key: &'k str,
) -> Result<Vec<(&'n str, &'k str)>, PatternError> {
    let parts = parse_composite_key(key)?;
    if parts.len() != names.len() {
        return Err(PatternError::Parts {
            pattern: "multi-attribute key",
            count: parts.len(),
            max: names.len(),
        });
    }
    Ok(names.iter().copied().zip(parts).collect())
}

/// The key of an entity that belongs to a tenant.
///
/// ```
/// use keyloom_keys::patterns::multi_tenant_key;
///
/// assert_eq!(multi_tenant_key("acme", "USER", "alice")?, "TENANT#acme#USER#alice");
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn multi_tenant_key(tenant: &str, entity: &str, id: &str) -> Result<String, PatternError> {
    composite_key(&["TENANT", tenant, entity, id])
}

/// One to four values for the attributes of a native key, from left to right.
pub type MultiAttributeKey<'a> = Vec<Value<'a>>;

/// Creates the values; fails for none or more than four.
pub fn multi_attribute_key<'a>(
    values: &[Value<'a>],
) -> Result<MultiAttributeKey<'a>, PatternError> {
    leading("multi-attribute key", values.iter().cloned().map(Some).collect())
}

/// Tenant, customer, and a department if there is one.
///
/// ```
/// use keyloom_keys::patterns::multi_tenant_multi_key;
///
/// let key = multi_tenant_multi_key("T1", "C1", None)?;
/// assert_eq!(key, ["T1".into(), "C1".into()]);
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn multi_tenant_multi_key<'a>(
    tenant: &'a str,
    customer: &'a str,
    department: Option<&'a str>,
) -> Result<MultiAttributeKey<'a>, PatternError> {
    texts("tenant key", &[Some(tenant), Some(customer), department])
}

/// One to four levels of a hierarchy.
///
/// ```
/// use keyloom_keys::patterns::hierarchical_multi_key;
///
/// assert_eq!(hierarchical_multi_key(&[Some("a"), Some("b"), None])?.len(), 2);
/// // Omitting a middle level would silently move the later ones up.
/// assert!(hierarchical_multi_key(&[Some("a"), None, Some("c")]).is_err());
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn hierarchical_multi_key<'a>(
    levels: &[Option<&'a str>],
) -> Result<MultiAttributeKey<'a>, PatternError> {
    texts("hierarchy key", levels)
}

/// A category, a time, and a sub-category if there is one.
pub fn time_series_multi_key<'a>(
    category: &'a str,
    at: Timestamp,
    sub_category: Option<&'a str>,
) -> Result<MultiAttributeKey<'a>, PatternError> {
    leading(
        "time-series key",
        vec![Some(category.into()), Some(at.into()), sub_category.map(Value::from)],
    )
}

/// Country, state, city, district: as many as are known.
pub fn location_multi_key<'a>(
    parts: &[Option<&'a str>],
) -> Result<MultiAttributeKey<'a>, PatternError> {
    texts("location key", parts)
}

/// Category, sub-category, brand, product: as many as are known.
pub fn product_category_multi_key<'a>(
    parts: &[Option<&'a str>],
) -> Result<MultiAttributeKey<'a>, PatternError> {
    texts("category key", parts)
}

/// A status, a numeric priority, and an assignee if there is one.
pub fn status_priority_multi_key<'a>(
    status: &'a str,
    priority: i64,
    assignee: Option<&'a str>,
) -> Result<MultiAttributeKey<'a>, PatternError> {
    leading(
        "status key",
        vec![Some(status.into()), Some(priority.into()), assignee.map(Value::from)],
    )
}

/// Major, minor, patch and build numbers: as many as are known.
///
/// ```
/// use keyloom_keys::patterns::version_multi_key;
///
/// assert_eq!(version_multi_key(&[Some(1), Some(2), None])?, [1.into(), 2.into()]);
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn version_multi_key(
    numbers: &[Option<u32>],
) -> Result<MultiAttributeKey<'static>, PatternError> {
    leading("version key", numbers.iter().map(|number| number.map(Value::from)).collect())
}

fn texts<'a>(
    pattern: &'static str,
    parts: &[Option<&'a str>],
) -> Result<MultiAttributeKey<'a>, PatternError> {
    leading(pattern, parts.iter().map(|part| part.map(Value::from)).collect())
}

/// The values up to the first missing one; fails if a later value is given.
fn leading<'a>(
    pattern: &'static str,
    parts: Vec<Option<Value<'a>>>,
) -> Result<MultiAttributeKey<'a>, PatternError> {
    let count = parts.iter().flatten().count();
    if count == 0 || count > MAX_NATIVE_ATTRIBUTES {
        return Err(PatternError::Parts { pattern, count, max: MAX_NATIVE_ATTRIBUTES });
    }
    if let Some(at) = parts.iter().take(count).position(Option::is_none) {
        return Err(PatternError::Gap { pattern, part: at + 1 });
    }
    Ok(parts.into_iter().flatten().collect())
}
