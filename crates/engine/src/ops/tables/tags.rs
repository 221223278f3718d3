//! Tags, as CreateTable and TagResource take them, and the tables that are tagged.

use std::collections::BTreeMap;

use keyloom_api::{Constraints, Fields};
use keyloom_core::error::{request, table};
use keyloom_core::{Result, limits};

/// `Tags`.
pub(crate) fn decode(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
) -> Result<Option<BTreeMap<String, String>>> {
    let Some(list) = fields.structures("Tags") else { return Ok(None) };
    let mut tags = BTreeMap::new();
    for (position, tag) in list.iter().enumerate() {
        let path = format!("tags.{}.member", position + 1);
        let (key, value) = (tag.string("Key"), tag.string("Value"));
        constraints.required(key.is_some(), &format!("{path}.key"));
        constraints.required(value.is_some(), &format!("{path}.value"));
        let (key, value) = (key.unwrap_or_default(), value.unwrap_or_default());
        constraints.length(key, &format!("{path}.key"), 1, limits::MAX_TAG_KEY_CHARS);
        constraints.length(value, &format!("{path}.value"), 0, limits::MAX_TAG_VALUE_CHARS);
        if key.starts_with("aws:") {
            return Err(table::reserved_tag(key));
        }
        if tags.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(request::duplicate_tag(key));
        }
    }
    Ok(Some(tags))
}

/// The name of the table whose ARN the request gives as `ResourceArn`.
pub(crate) fn resource<'a>(fields: &Fields<'a>) -> Result<(&'a str, &'a str)> {
    let arn = fields.string("ResourceArn").ok_or_else(table::resource_arn_missing)?;
    let name = table_of(arn).ok_or_else(|| table::resource_arn_invalid(arn))?;
    Ok((arn, name))
}

fn table_of(arn: &str) -> Option<&str> {
    let mut parts = arn.splitn(6, ':');
    let is_ours = parts.next() == Some("arn")
        && parts.next().is_some_and(|partition| partition.starts_with("aws"))
        && parts.next() == Some("dynamodb");
    let name = parts.nth(2)?.strip_prefix("table/")?;
    let mut violations = keyloom_core::error::constraint::Constraints::default();
    keyloom_core::schema::model::check_new_name(name, "resourceArn", &mut violations);
    (is_ours && violations.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::table_of;

    #[test]
    fn only_the_arn_of_a_table_names_one() {
        assert_eq!(table_of("arn:aws:dynamodb:us-east-1:000000000000:table/music"), Some("music"));
        assert_eq!(table_of("arn:aws-cn:dynamodb:r:1:table/a.b-c_d"), Some("a.b-c_d"));
        for arn in ["", "music", "a:b:c:d:e:f/g", "arn:aws:s3:r:1:table/music"] {
            assert_eq!(table_of(arn), None, "{arn}");
        }
        for name in ["ab", "music/index/by-year", ""] {
            assert_eq!(table_of(&format!("arn:aws:dynamodb:r:1:table/{name}")), None, "{name}");
        }
    }
}
