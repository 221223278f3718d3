//! TagResource, UntagResource and ListTagsOfResource.

use std::collections::BTreeMap;

use keyloom_core::error::{request, table};
use keyloom_core::{Result, Str, limits};

use crate::{Constraints, Fields};

/// `Tags`, as CreateTable and TagResource take them.
pub fn decode_tags(
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

/// `ResourceArn`, which is that of a table, and the table's name.
pub fn resource_arn<'a>(fields: &Fields<'a>) -> Result<(&'a str, &'a str)> {
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

/// What TagResource is asked.
#[derive(Clone, Debug)]
pub struct TagResourceInput<'a> {
    /// The ARN of the table.
    pub resource_arn: &'a str,
    /// The table's name.
    pub table_name: &'a str,
    /// The tags to add, at least one.
    pub tags: BTreeMap<String, String>,
}

impl<'a> TagResourceInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let mut constraints = Constraints::new();
        let tags = decode_tags(fields, &mut constraints)?;
        let (resource_arn, table_name) = resource_arn(fields)?;
        constraints.required(tags.is_some(), "tags");
        constraints.finish()?;
        let tags = tags.filter(|tags| !tags.is_empty()).ok_or_else(table::no_tags)?;
        Ok(Self { resource_arn, table_name, tags })
    }
}

/// What UntagResource is asked.
#[derive(Clone, Debug)]
pub struct UntagResourceInput<'a> {
    /// The table's name.
    pub table_name: &'a str,
    /// The keys of the tags to remove, at least one.
    pub tag_keys: Vec<Str>,
}

impl<'a> UntagResourceInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let keys = fields.strings("TagKeys");
        let (_, table_name) = resource_arn(fields)?;
        let mut constraints = Constraints::new();
        constraints.required(keys.is_some(), "tagKeys");
        constraints.finish()?;
        let tag_keys = keys.filter(|keys| !keys.is_empty()).ok_or_else(table::no_tag_keys)?;
        Ok(Self { table_name, tag_keys })
    }
}

/// What ListTagsOfResource is asked.
#[derive(Clone, Copy, Debug)]
pub struct ListTagsOfResourceInput<'a> {
    /// The ARN of the table.
    pub resource_arn: &'a str,
    /// The table's name.
    pub table_name: &'a str,
    /// Where the list goes on.
    pub next_token: Option<&'a str>,
}

impl<'a> ListTagsOfResourceInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let (resource_arn, table_name) = resource_arn(fields)?;
        Ok(Self { resource_arn, table_name, next_token: fields.string("NextToken") })
    }
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
