//! Hierarchies: paths, locations and categories.

use std::sync::LazyLock;

use super::PatternError;
use super::entity::{composite_key, composite_key_with, parse_composite_key_with};
use crate::template::Template;
use crate::value::Value;

static DEPTH: LazyLock<Template> =
    LazyLock::new(|| Template::parse("{depth:u8:2}#{path}").expect("a valid template"));

/// Path segments joined by `/`.
///
/// ```
/// use keyloom_keys::patterns::{hierarchical_key, hierarchy_parent, parse_hierarchical_key};
///
/// let path = hierarchical_key(&["root", "documents", "2024"])?;
/// assert_eq!(path, "root/documents/2024");
/// assert_eq!(parse_hierarchical_key(&path)?, ["root", "documents", "2024"]);
/// assert_eq!(hierarchy_parent(&path), Some("root/documents"));
/// assert!(hierarchical_key(&["root", "a/b"]).is_err());
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn hierarchical_key(path: &[&str]) -> Result<String, PatternError> {
    composite_key_with(path, "/")
}

/// Splits a path at `/`.
pub fn parse_hierarchical_key(key: &str) -> Result<Vec<&str>, PatternError> {
    parse_composite_key_with(key, "/")
}

/// The path one level up; `None` for a root.
pub fn hierarchy_parent(key: &str) -> Option<&str> {
    key.rsplit_once('/').map(|(parent, _)| parent)
}

/// How many segments a path has.
pub fn hierarchy_depth(key: &str) -> usize {
    key.split('/').count()
}

/// A path prefixed with its depth. A prefix of a path finds the whole subtree; a prefix of this finds the children only.
///
/// ```
/// use keyloom_keys::patterns::depth_key;
///
/// assert_eq!(depth_key(&["root", "documents"])?, "02#root/documents");
/// // The children of root/documents, and nothing below them:
/// assert!(depth_key(&["root", "documents", "2024"])?.starts_with("03#root/documents/"));
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn depth_key(path: &[&str]) -> Result<String, PatternError> {
    let key = hierarchical_key(path)?;
    Ok(DEPTH.build_values(&[Value::Int(path.len() as i128), Value::from(key)])?)
}

/// A location from the largest part to the smallest, with as many parts as are known.
///
/// ```
/// use keyloom_keys::patterns::location_key;
///
/// assert_eq!(location_key(&["US", "CA", "SF"])?, "US#CA#SF");
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn location_key(parts: &[&str]) -> Result<String, PatternError> {
    composite_key(parts)
}

/// A category path and a product.
///
/// ```
/// use keyloom_keys::patterns::category_key;
///
/// let key = category_key(&["ELECTRONICS", "COMPUTERS", "LAPTOPS"], "product-123")?;
/// assert_eq!(key, "ELECTRONICS#COMPUTERS#LAPTOPS#product-123");
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn category_key(categories: &[&str], product: &str) -> Result<String, PatternError> {
    let parts: Vec<&str> = categories.iter().copied().chain([product]).collect();
    composite_key(&parts)
}
