//! UpdateTimeToLive.

use keyloom_core::{Result, limits};

use crate::parameters::described_table;
use crate::{Constraints, Fields};

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
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let table_name = described_table(fields)?;
        let mut constraints = Constraints::new();
        let path = "timeToLiveSpecification";
        let specification = fields.structure("TimeToLiveSpecification");
        constraints.required(specification.is_some(), path);
        let (mut enabled, mut attribute) = (None, None);
        if let Some(specification) = specification {
            enabled = specification.boolean("Enabled");
            attribute = specification.string("AttributeName");
            let attribute_path = format!("{path}.attributeName");
            match attribute {
                None => constraints.required(false, &attribute_path),
                Some(name) => {
                    constraints.length(name, &attribute_path, 1, limits::MAX_KEY_NAME_BYTES);
                }
            }
            constraints.required(enabled.is_some(), &format!("{path}.enabled"));
        }
        constraints.finish()?;
        Ok(Self {
            table_name,
            enabled: enabled.unwrap_or(false),
            attribute_name: attribute.unwrap_or_default(),
        })
    }
}
