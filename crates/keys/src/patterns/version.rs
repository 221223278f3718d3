//! Versions of an item under one partition key, with a pointer to the latest.

use std::sync::LazyLock;

use super::PatternError;
use crate::template::Template;
use crate::time::Timestamp;
use crate::value::Value;

/// The attribute that holds an item's version.
pub const VERSION_ATTRIBUTE: &str = "version";

/// The sort key of the item that points to the latest version. It is not a version key itself, so a reverse
/// query over versions does not return it.
pub const LATEST_VERSION_KEY: &str = "LATEST";

/// The last version that six digits hold.
const LAST_VERSION: u32 = 999_999;

static VERSION: LazyLock<Template> =
    LazyLock::new(|| Template::parse("V#{version:u32:6}#{at:datetime}").expect("a valid template"));

/// The sort key of a version and its time. The number is padded, so that version 10 sorts after version 9.
///
/// ```
/// use keyloom_keys::patterns::version_key;
///
/// let first = version_key(1, "2023-05-10T09:30:00Z".parse()?)?;
/// assert_eq!(first, "V#000001#2023-05-10T09:30:00Z");
/// assert!(version_key(10, "2023-05-19T11:05:45Z".parse()?)? > version_key(9, "2023-05-18T00:00:00Z".parse()?)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn version_key(version: u32, at: Timestamp) -> Result<String, PatternError> {
    Ok(VERSION.build_values(&[version.into(), at.into()])?)
}

/// The prefix of the key of one version, for a reader who does not know its time.
///
/// ```
/// assert_eq!(keyloom_keys::patterns::version_prefix(2)?, "V#000002#");
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn version_prefix(version: u32) -> Result<String, PatternError> {
    Ok(VERSION.prefix(&[("version", version.into())])?)
}

/// The version and time in a version key.
pub fn parse_version_key(key: &str) -> Result<(u32, Timestamp), PatternError> {
    let fields = VERSION.parse_key(key)?;
    let (version, at) = (fields.get("version"), fields.get("at"));
    match (version, at) {
        (Some(Value::Int(version)), Some(Value::Time(at))) => Ok((version as u32, at)),
        _ => Err(VERSION.misfit(key, 0, None, "it has no version".to_owned()).into()),
    }
}

/// The version after this one.
pub fn increment_version(version: u32) -> Result<u32, PatternError> {
    if version >= LAST_VERSION {
        return Err(PatternError::LastVersion(version));
    }
    Ok(version + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_back_and_end_somewhere() {
        let at: Timestamp = "2023-05-10T09:30:00Z".parse().unwrap();
        assert_eq!(parse_version_key(&version_key(7, at).unwrap()).unwrap(), (7, at));
        assert!(parse_version_key(LATEST_VERSION_KEY).is_err());
        assert!(
            version_key(LAST_VERSION, at).is_ok() && version_key(LAST_VERSION + 1, at).is_err()
        );
        assert!(increment_version(LAST_VERSION).is_err());
        assert_eq!(increment_version(1).unwrap(), 2);
    }
}
