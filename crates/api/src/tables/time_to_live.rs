//! UpdateTimeToLive and DescribeTimeToLive.

use crate::parameters::control_table;
use crate::{Fields, JsonWriter};

/// The input of UpdateTimeToLive.
#[derive(Clone, Copy, Debug)]
pub struct UpdateTimeToLiveInput<'a> {
    /// The table's name or ARN.
    pub table_name: &'a str,
    /// Whether items expire.
    pub enabled: bool,
    /// The attribute with the time, in seconds since 1970.
    pub attribute_name: &'a str,
}

impl<'a> UpdateTimeToLiveInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        let specification = fields.structure("TimeToLiveSpecification");
        let specification = specification.as_ref();
        Self {
            table_name: control_table(fields),
            enabled: specification.and_then(|one| one.boolean("Enabled")).unwrap_or(false),
            attribute_name: specification
                .and_then(|one| one.string("AttributeName"))
                .unwrap_or_default(),
        }
    }

    /// The reply's body: the specification again.
    pub fn encode_output(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("TimeToLiveSpecification", |json| {
            json.boolean("Enabled", self.enabled);
            json.string("AttributeName", self.attribute_name);
        });
        json.finish()
    }
}

/// The reply of DescribeTimeToLive; without an attribute, items do not expire.
pub fn encode_time_to_live(attribute_name: Option<&str>) -> Vec<u8> {
    let mut json = JsonWriter::object();
    json.structure("TimeToLiveDescription", |json| {
        let status = if attribute_name.is_some() { "ENABLED" } else { "DISABLED" };
        json.string("TimeToLiveStatus", status);
        json.optional_string("AttributeName", attribute_name);
    });
    json.finish()
}
