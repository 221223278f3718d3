//! The input of a policy decision: a request, its principal and its circumstances.

use std::net::IpAddr;

use super::key::ConditionKey;
use super::time;

/// What a request says about a condition key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Known<T> {
    /// The request has no such key: a Scan has no leading keys.
    #[default]
    Absent,
    /// The request has this value.
    Is(T),
    /// The request could not be read well enough to know. No allow that asks for the key applies, and
    /// every deny that asks for it does.
    Unknown,
}

/// One permission that a request needs. A transaction needs several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The action, `dynamodb:GetItem`.
    pub action: String,
    /// The ARN of the resource.
    pub resource: String,
    /// `dynamodb:LeadingKeys`: the values of the partition key.
    pub leading_keys: Known<Vec<String>>,
    /// `dynamodb:Attributes`: the top-level attributes that the request names.
    pub attributes: Known<Vec<String>>,
    /// `dynamodb:Select`
    pub select: Option<String>,
    /// `dynamodb:ReturnValues`
    pub return_values: Option<String>,
    /// `dynamodb:ReturnConsumedCapacity`
    pub return_consumed_capacity: Option<String>,
    /// `dynamodb:EnclosingOperation`: the transaction or batch that the action belongs to.
    pub enclosing_operation: Option<String>,
    /// `dynamodb:FullTableScan`: whether a PartiQL read goes through the whole table.
    pub full_table_scan: Known<bool>,
    /// The tags that the request gives, for `aws:RequestTag/…` and `aws:TagKeys`.
    pub tags: Option<Vec<(String, String)>>,
}

/// The principal of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Principal {
    /// `arn:aws:iam::123456789012:user/alice`
    pub arn: String,
    /// `aws:userid`
    pub user_id: String,
    /// The tags of the user or role.
    pub tags: Vec<(String, String)>,
}

impl Principal {
    /// The account that the principal belongs to.
    pub fn account(&self) -> &str {
        self.arn.split(':').nth(4).unwrap_or_default()
    }

    /// The part of the ARN behind the account: `user/alice`.
    fn entity(&self) -> &str {
        self.arn.splitn(6, ':').nth(5).unwrap_or_default()
    }

    /// The name of an IAM user; roles have none.
    fn user_name(&self) -> Option<&str> {
        self.entity().strip_prefix("user/")?.rsplit('/').next()
    }

    fn kind(&self) -> &'static str {
        match self.entity() {
            "root" => "Account",
            entity if entity.starts_with("assumed-role/") || entity.starts_with("role/") => {
                "AssumedRole"
            }
            _ => "User",
        }
    }
}

/// How a request came in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// The time, in milliseconds since 1970.
    pub now_ms: u64,
    /// The client's address.
    pub source_ip: Option<IpAddr>,
    /// Whether the connection is encrypted.
    pub is_encrypted: bool,
    /// The header `User-Agent`.
    pub user_agent: Option<String>,
    /// The header `Referer`.
    pub referer: Option<String>,
    /// The region that is asked.
    pub region: String,
}

/// A request as policies see it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What it needs.
    pub access: &'a Access,
    /// The principal that makes it.
    pub principal: &'a Principal,
    /// How it came in.
    pub circumstances: &'a Circumstances,
}

impl Request<'_> {
    /// The account of the resource.
    pub(super) fn resource_account(&self) -> &str {
        self.access.resource.split(':').nth(4).unwrap_or_default()
    }

    /// The values of a key.
    pub(super) fn values(&self, key: &ConditionKey) -> Known<Vec<String>> {
        use ConditionKey as Key;
        let (access, how) = (self.access, self.circumstances);
        let single = match key {
            Key::LeadingKeys => return access.leading_keys.clone(),
            Key::Attributes => return access.attributes.clone(),
            Key::TagKeys => {
                let names = |(name, _): &(String, String)| name.clone();
                let tags = access.tags.as_ref();
                return tags
                    .map_or(Known::Absent, |tags| Known::Is(tags.iter().map(names).collect()));
            }
            Key::FullTableScan => match access.full_table_scan {
                Known::Absent => None,
                Known::Is(full) => Some(full.to_string()),
                Known::Unknown => return Known::Unknown,
            },
            Key::Select => access.select.clone(),
            Key::ReturnValues => access.return_values.clone(),
            Key::ReturnConsumedCapacity => access.return_consumed_capacity.clone(),
            Key::EnclosingOperation => access.enclosing_operation.clone(),
            Key::PrincipalArn => Some(self.principal.arn.clone()),
            Key::PrincipalAccount => Some(self.principal.account().to_owned()),
            Key::PrincipalType => Some(self.principal.kind().to_owned()),
            Key::UserName => self.principal.user_name().map(str::to_owned),
            Key::UserId => Some(self.principal.user_id.clone()),
            Key::SourceIp => how.source_ip.map(|ip| ip.to_canonical().to_string()),
            Key::CurrentTime => Some(time::to_text(how.now_ms / 1000)),
            Key::EpochTime => Some((how.now_ms / 1000).to_string()),
            Key::SecureTransport => Some(how.is_encrypted.to_string()),
            Key::UserAgent => how.user_agent.clone(),
            Key::Referer => how.referer.clone(),
            Key::RequestedRegion => Some(how.region.clone()),
            Key::ResourceAccount => Some(self.resource_account().to_owned()),
            Key::PrincipalTag(name) => tag(&self.principal.tags, name),
            Key::RequestTag(name) => access.tags.as_ref().and_then(|tags| tag(tags, name)),
            Key::NeverPresent => None,
            Key::AlwaysFalse => Some(false.to_string()),
        };
        single.map_or(Known::Absent, |value| Known::Is(vec![value]))
    }

    /// The one value of a key, for a variable.
    pub(super) fn single(&self, key: &ConditionKey) -> Option<String> {
        match self.values(key) {
            Known::Is(values) => values.into_iter().next(),
            Known::Absent | Known::Unknown => None,
        }
    }
}

/// The value of a tag; `name` is in lower case.
fn tag(tags: &[(String, String)], name: &str) -> Option<String> {
    let found = tags.iter().find(|(own, _)| own.to_ascii_lowercase() == name);
    found.map(|(_, value)| value.clone())
}
