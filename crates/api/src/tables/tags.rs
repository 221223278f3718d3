//! TagResource, UntagResource and ListTagsOfResource.

use std::collections::BTreeMap;

use keyloom_core::error::table;
use keyloom_core::{Result, Str, limits};

use crate::{Fields, JsonWriter};

/// `Tags`, as CreateTable and TagResource take them.
pub(super) fn decode_tags(fields: &Fields<'_>) -> Result<BTreeMap<String, String>> {
    let mut tags = BTreeMap::new();
    for tag in fields.structures("Tags").unwrap_or_default() {
        let (key, value) = (tag.string("Key"), tag.string("Value"));
        let (key, value) = (key.unwrap_or_default(), value.unwrap_or_default());
        if key.starts_with("aws:") {
            return Err(table::reserved_tag(key));
        }
        if !has_only_tag_characters(key) {
            return Err(table::tag_key_invalid(key));
        }
        if !has_only_tag_characters(value) {
            return Err(table::tag_value_invalid(value));
        }
        if tags.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(table::duplicate_tag(key));
        }
    }
    if tags.len() > limits::MAX_TAGS {
        return Err(table::too_many_tags());
    }
    Ok(tags)
}

/// `ResourceArn`, which is that of a table.
fn resource_arn<'a>(fields: &Fields<'a>) -> Result<&'a str> {
    let arn = fields.string("ResourceArn").unwrap_or_default();
    table_of(arn)?;
    Ok(arn)
}

/// Letters, digits and white space of any script, and some other characters.
fn has_only_tag_characters(text: &str) -> bool {
    text.chars().all(|one| one.is_alphanumeric() || one.is_whitespace() || "+-=._:/@".contains(one))
}

/// The last part of the ARN of something of DynamoDB.
pub fn dynamodb_resource(arn: &str) -> Result<&str> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let missing = match parts.len() {
        _ if parts.first() != Some(&"arn") || parts.len() == 1 => "ARNs must start with 'arn:'",
        2 => "Second colon partition not found",
        3 => "Third colon vendor not found",
        4 => "Fourth colon (region/namespace delimiter) not found",
        5 => "Fifth colon (namespace/relative-id delimiter) not found",
        _ => "",
    };
    if !missing.is_empty() {
        return Err(table::arn_malformed(missing, arn));
    }
    let (partition, service) = (parts.get(1), parts.get(2));
    if service != Some(&"dynamodb") || !partition.is_some_and(|name| name.starts_with("aws")) {
        return Err(table::arn_of_other_service(arn));
    }
    Ok(parts.get(5).copied().unwrap_or_default())
}

/// The name of the table that an ARN names.
fn table_of(arn: &str) -> Result<&str> {
    let resource = dynamodb_resource(arn)?;
    let name = resource.strip_prefix("table/").filter(|name| !name.contains('/'));
    let name = name.ok_or_else(|| table::arn_of_other_resource(arn))?;
    let mut violations = keyloom_core::error::constraint::Constraints::default();
    keyloom_core::schema::model::check_new_name(name, "resourceArn", &mut violations);
    if violations.is_empty() { Ok(name) } else { Err(table::resource_arn_invalid(arn)) }
}

/// The input of TagResource.
#[derive(Clone, Debug)]
pub struct TagResourceInput<'a> {
    /// The ARN of the table.
    pub resource_arn: &'a str,
    /// The tags to add, at least one.
    pub tags: BTreeMap<String, String>,
}

impl<'a> TagResourceInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let resource_arn = resource_arn(fields)?;
        let tags = decode_tags(fields)?;
        if tags.is_empty() {
            return Err(table::no_tags());
        }
        Ok(Self { resource_arn, tags })
    }
}

/// The input of UntagResource.
#[derive(Clone, Debug)]
pub struct UntagResourceInput<'a> {
    /// The ARN of the table.
    pub resource_arn: &'a str,
    /// The keys of the tags to remove, at least one.
    pub tag_keys: Vec<Str>,
}

impl<'a> UntagResourceInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let resource_arn = resource_arn(fields)?;
        let keys = fields.strings("TagKeys");
        let tag_keys = keys.filter(|keys| !keys.is_empty()).ok_or_else(table::no_tag_keys)?;
        Ok(Self { resource_arn, tag_keys })
    }
}

/// The input of ListTagsOfResource.
#[derive(Clone, Copy, Debug)]
pub struct ListTagsOfResourceInput<'a> {
    /// The ARN of the table.
    pub resource_arn: &'a str,
    /// Where the list continues.
    pub next_token: Option<&'a str>,
}

impl<'a> ListTagsOfResourceInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let resource_arn = resource_arn(fields)?;
        Ok(Self { resource_arn, next_token: fields.string("NextToken") })
    }
}

/// The output of ListTagsOfResource.
#[derive(Clone, Debug)]
pub struct ListTagsOfResourceOutput<'a> {
    /// The tags of this page.
    pub tags: Vec<(&'a str, &'a str)>,
    /// Where the next page begins, if there is one.
    pub next_token: Option<String>,
}

impl ListTagsOfResourceOutput<'_> {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.objects("Tags", &self.tags, |json, (key, value)| {
            json.string("Key", key);
            json.string("Value", value);
        });
        json.optional_string("NextToken", self.next_token.as_deref());
        json.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{has_only_tag_characters, table_of};

    #[test]
    fn only_the_arn_of_a_table_names_one() {
        assert_eq!(table_of("arn:aws:dynamodb:us-east-1:000000000000:table/music"), Ok("music"));
        assert_eq!(table_of("arn:aws-cn:dynamodb:r:1:table/a.b-c_d"), Ok("a.b-c_d"));
        for (arn, reason) in [
            ("", "ARNs must start with 'arn:'"),
            ("music", "ARNs must start with 'arn:'"),
            ("a:b:c:d:e:f/g", "ARNs must start with 'arn:'"),
            ("arn:aws", "Second colon"),
            ("arn:aws:dynamodb", "Third colon"),
            ("arn:aws:dynamodb:r", "Fourth colon"),
            ("arn:aws:dynamodb:r:1", "Fifth colon"),
            ("arn:aws:s3:r:1:table/music", "Provided Arn is not a DynamoDB resource arn"),
            ("arn:aws:dynamodb:r:1:table/music/index/by-year", "only table or stream is accepted"),
            ("arn:aws:dynamodb:r:1:table/ab", "Invalid TableArn: Invalid ResourceArn provided"),
        ] {
            let refusal = table_of(arn).unwrap_err().message();
            assert!(refusal.contains(reason) && refusal.contains(arn), "{arn}: {refusal}");
        }
    }

    #[test]
    fn tags_have_letters_digits_spaces_and_few_others() {
        for text in ["", "Team 7", "\u{5d0}", "a+b-c=d.e_f:g/h@i"] {
            assert!(has_only_tag_characters(text), "{text}");
        }
        for text in ["hi!", "d%g", "\"hello\"", "a*"] {
            assert!(!has_only_tag_characters(text), "{text}");
        }
    }
}
