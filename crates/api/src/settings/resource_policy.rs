//! PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy.

use crate::{Fields, JsonWriter};

/// The input of PutResourcePolicy.
#[derive(Clone, Copy, Debug)]
pub struct PutResourcePolicyInput<'a> {
    /// The ARN of a table or stream.
    pub resource_arn: &'a str,
    /// The text of the policy.
    pub policy: &'a str,
    /// The revision that must be in force; `NO_POLICY` if there must be none.
    pub expected_revision_id: Option<&'a str>,
}

impl<'a> PutResourcePolicyInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        Self {
            resource_arn: policy_resource(fields),
            policy: fields.string("Policy").unwrap_or_default(),
            expected_revision_id: fields.string("ExpectedRevisionId"),
        }
    }
}

/// The input of DeleteResourcePolicy.
#[derive(Clone, Copy, Debug)]
pub struct DeleteResourcePolicyInput<'a> {
    /// The ARN of a table or stream.
    pub resource_arn: &'a str,
    /// The revision that must be in force; `NO_POLICY` if there must be none.
    pub expected_revision_id: Option<&'a str>,
}

impl<'a> DeleteResourcePolicyInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        let expected_revision_id = fields.string("ExpectedRevisionId");
        Self { resource_arn: policy_resource(fields), expected_revision_id }
    }
}

/// The ARN that a request about a policy names; that of GetResourcePolicy has nothing else.
pub fn policy_resource<'a>(fields: &Fields<'a>) -> &'a str {
    fields.string("ResourceArn").unwrap_or_default()
}

/// What the three operations answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourcePolicyOutput<'a> {
    /// The text, for GetResourcePolicy.
    pub policy: Option<&'a str>,
    /// The revision that was put, found or deleted.
    pub revision_id: Option<&'a str>,
}

impl ResourcePolicyOutput<'_> {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.optional_string("Policy", self.policy);
        json.optional_string("RevisionId", self.revision_id);
        json.finish()
    }
}
