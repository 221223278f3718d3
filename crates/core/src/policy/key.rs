//! The condition keys that a request here has values for.

/// A condition key, which is also the name of a policy variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConditionKey {
    LeadingKeys,
    Attributes,
    Select,
    ReturnValues,
    ReturnConsumedCapacity,
    EnclosingOperation,
    FullTableScan,
    PrincipalArn,
    PrincipalAccount,
    PrincipalType,
    UserName,
    UserId,
    SourceIp,
    CurrentTime,
    EpochTime,
    SecureTransport,
    UserAgent,
    Referer,
    RequestedRegion,
    ResourceAccount,
    TagKeys,
    /// `aws:PrincipalTag/…`; the name of the tag in lower case, as keys do not distinguish cases.
    PrincipalTag(String),
    /// `aws:RequestTag/…`
    RequestTag(String),
    /// A key that IAM has and that requests with long-term access keys never carry.
    NeverPresent,
    /// A key that is false for every request here: no service calls on behalf of anyone.
    AlwaysFalse,
}

impl ConditionKey {
    /// The key of this name, in any mix of cases; none if requests here have no such key.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let tag = |prefix: &str| lower.strip_prefix(prefix).filter(|tag| !tag.is_empty());
        if let Some(tag) = tag("aws:principaltag/") {
            return Some(Self::PrincipalTag(tag.to_owned()));
        }
        if let Some(tag) = tag("aws:requesttag/") {
            return Some(Self::RequestTag(tag.to_owned()));
        }
        Some(match lower.as_str() {
            "dynamodb:leadingkeys" => Self::LeadingKeys,
            "dynamodb:attributes" => Self::Attributes,
            "dynamodb:select" => Self::Select,
            "dynamodb:returnvalues" => Self::ReturnValues,
            "dynamodb:returnconsumedcapacity" => Self::ReturnConsumedCapacity,
            "dynamodb:enclosingoperation" => Self::EnclosingOperation,
            "dynamodb:fulltablescan" => Self::FullTableScan,
            "aws:principalarn" => Self::PrincipalArn,
            "aws:principalaccount" => Self::PrincipalAccount,
            "aws:principaltype" => Self::PrincipalType,
            "aws:username" => Self::UserName,
            "aws:userid" => Self::UserId,
            "aws:sourceip" => Self::SourceIp,
            "aws:currenttime" => Self::CurrentTime,
            "aws:epochtime" => Self::EpochTime,
            "aws:securetransport" => Self::SecureTransport,
            "aws:useragent" => Self::UserAgent,
            "aws:referer" => Self::Referer,
            "aws:requestedregion" => Self::RequestedRegion,
            "aws:resourceaccount" => Self::ResourceAccount,
            "aws:tagkeys" => Self::TagKeys,
            "aws:multifactorauthpresent" | "aws:multifactorauthage" | "aws:tokenissuetime" => {
                Self::NeverPresent
            }
            "aws:viaawsservice" | "aws:principalisawsservice" => Self::AlwaysFalse,
            _ => return None,
        })
    }

    /// Whether one request may have several values for the key.
    pub(super) fn is_multivalued(&self) -> bool {
        matches!(self, Self::LeadingKeys | Self::Attributes | Self::TagKeys)
    }
}
