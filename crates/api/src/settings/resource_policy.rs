//! PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy.

use keyloom_core::Result;

use crate::model::check_constraints;
use crate::{Fields, JsonWriter, Operation};

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
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        Ok(Self {
            resource_arn: policy_resource(Operation::PutResourcePolicy, fields)?,
            policy: fields.string("Policy").unwrap_or_default(),
            expected_revision_id: fields.string("ExpectedRevisionId"),
        })
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
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let resource_arn = policy_resource(Operation::DeleteResourcePolicy, fields)?;
        Ok(Self { resource_arn, expected_revision_id: fields.string("ExpectedRevisionId") })
    }
}

/// The ARN that a request about a policy names; that of GetResourcePolicy has nothing else.
pub fn policy_resource<'a>(operation: Operation, fields: &Fields<'a>) -> Result<&'a str> {
    check_constraints(operation, fields)?;
    Ok(fields.string("ResourceArn").unwrap_or_default())
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
