//! Who may do what: identities with policies, and the policies of tables and streams.
//!
//! Only servers with [`identities`](crate::Config::identities) come here. After its signature is verified
//! and before it is dispatched, a request is taken apart into the permissions that it needs ([`needs`]);
//! each is judged by the policies of whoever signed it and of the resource (`keyloom_core::policy`).
//! Credentials without an identity are the account's root user, which no policy limits.

mod attributes;
mod body;
mod items;
mod needs;
mod statement;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;

use hyper::header::{self, HeaderName};
use hyper::http::request::Parts;
use keyloom_core::Operation;
use keyloom_core::error::access as message;
use keyloom_core::json;
use keyloom_core::policy::{
    Access, Circumstances, Policy, PolicyType, Principal, Request, Verdict, decide,
};
use keyloom_engine::{Database, Error};

use crate::auth::Credentials;

use body::Body;

/// A user or role with an access key, and its policies.
#[derive(Clone)]
pub struct Identity {
    pub(crate) credentials: Credentials,
    principal: Principal,
    policies: Vec<Policy>,
}

impl Identity {
    /// An identity; without policies it may do what the policies of tables and streams let it do.
    pub fn new(credentials: Credentials, principal: Principal, policies: Vec<Policy>) -> Self {
        Self { credentials, principal, policies }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({:?}, {})", self.credentials, self.principal.arn)
    }
}

/// The other end of a connection. Requests carry it in their extensions where there are identities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    pub(crate) is_encrypted: bool,
}

/// Actions of this server that are no operations of DynamoDB.
const OWN_ACTIONS: [&str; 14] = [
    "keyloom:Backup",
    "keyloom:Dump",
    "keyloom:GetCluster",
    "keyloom:GetDesign",
    "keyloom:GetMetrics",
    "keyloom:GetMigrations",
    "keyloom:GetStatistics",
    "keyloom:Load",
    "keyloom:PutDesign",
    "keyloom:Replicate",
    "keyloom:RunPattern",
    "keyloom:Verify",
    "cloudwatch:DescribeInsightRules",
    "cloudwatch:GetInsightRuleReport",
];

/// Every action that the policy of an identity can be about, with the name of its service.
pub fn known_actions() -> Vec<String> {
    let own = OWN_ACTIONS.iter().map(|&action| action.to_owned());
    keyloom_core::policy::identity_actions().into_iter().chain(own).collect()
}

#[cfg(test)]
impl Peer {
    /// A client on this machine.
    pub(crate) const LOCAL: Self =
        Self { address: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), is_encrypted: false };
}

/// A request whose signature was made by an identity.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) head: &'a Parts,
    /// The tables whose keys and policies count; none behind a stand-in for the database.
    pub(crate) database: Option<&'a Database>,
    pub(crate) region: &'a str,
    pub(crate) now_ms: u64,
}

impl Asked<'_> {
    /// Whether the identity may run the operation that a target names on this body.
    pub(crate) fn check_operation(&self, target: &str, body: &[u8]) -> Result<(), Error> {
        let Some(database) = self.database else {
            return self.check_action("dynamodb", "Unknown", "table/*");
        };
        // The database refuses an unknown operation and a body that is not JSON.
        let (Some(operation), Ok(body)) = (Operation::from_target(target), json::parse(body))
        else {
            return Ok(());
        };
        let circumstances = self.circumstances();
        let needed = needs::needs(database, operation, &body);
        needed.iter().try_for_each(|access| self.check(access, database, &circumstances))?;
        if operation == Operation::PutResourcePolicy && !self.confirms_lockout(&body) {
            self.check_lockout(&body, &needed, &circumstances)?;
        }
        Ok(())
    }

    /// Whether the caller confirms that the policy may revoke its own right to change the policy.
    fn confirms_lockout(&self, body: &json::Json<'_>) -> bool {
        let stated = Body::of(body).and_then(|body| body.get("ConfirmRemoveSelfResourceAccess"));
        let header = self.head.headers.get("x-amz-confirm-remove-self-resource-access");
        matches!(stated, Some(json::Json::Bool(true)))
            || header.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
    }

    /// Refuses a policy after which the caller could not put another one.
    fn check_lockout(
        &self,
        body: &json::Json<'_>,
        needed: &[Access],
        circumstances: &Circumstances,
    ) -> Result<(), Error> {
        let text = Body::of(body).and_then(|body| body.text("Policy")).unwrap_or_default();
        // One that cannot be read is refused by the operation itself.
        let Ok(policy) = Policy::resource(text) else { return Ok(()) };
        let is_locked_out =
            needed.iter().any(|access| self.judge(access, Some(&policy), circumstances).is_err());
        if is_locked_out { Err(message::locks_out(&self.identity.principal.arn)) } else { Ok(()) }
    }

    /// Whether the identity may do something that is not an operation of DynamoDB.
    pub(crate) fn check_action(
        &self,
        service: &str,
        action: &str,
        resource: &str,
    ) -> Result<(), Error> {
        let account = self.account();
        let access = Access {
            action: format!("{service}:{action}"),
            resource: format!("arn:aws:{service}:{}:{account}:{resource}", self.region),
            ..Access::default()
        };
        self.judge(&access, None, &self.circumstances())
    }

    /// The account that the server's own pages belong to: the database's, or else the caller's.
    fn account(&self) -> String {
        let Some(database) = self.database else {
            return self.identity.principal.account().to_owned();
        };
        database.table_arn("").split(':').nth(4).unwrap_or_default().to_owned()
    }

    fn check(
        &self,
        access: &Access,
        database: &Database,
        circumstances: &Circumstances,
    ) -> Result<(), Error> {
        let resource = &access.resource;
        let part = resource.split_once(":table/").map(|(_, path)| path.split('/').nth(1));
        // A stored policy that cannot be parsed (earlier releases did not check them) denies every request.
        let unreadable = Verdict::ExplicitDeny(PolicyType::Resource);
        match part {
            Some(Some("stream")) => {
                let policy = match database.stream_policy(resource)? {
                    None => None,
                    Some(Ok(policy)) => Some(policy),
                    Some(Err(_)) => return self.answer(access, unreadable),
                };
                self.judge(access, policy.as_ref(), circumstances)
            }
            // Backups, exports and imports have no resource policy, and that of their table does not apply to them.
            Some(None | Some("index")) => {
                let table = database.guarded_table(resource);
                match table.as_ref().and_then(|table| table.policy()) {
                    None => self.judge(access, None, circumstances),
                    Some(Ok(policy)) => self.judge(access, Some(policy), circumstances),
                    Some(Err(_)) => self.answer(access, unreadable),
                }
            }
            _ => self.judge(access, None, circumstances),
        }
    }

    fn judge(
        &self,
        access: &Access,
        resource: Option<&Policy>,
        circumstances: &Circumstances,
    ) -> Result<(), Error> {
        let request = Request { access, principal: &self.identity.principal, circumstances };
        self.answer(access, decide(&request, &self.identity.policies, resource))
    }

    fn answer(&self, access: &Access, verdict: Verdict) -> Result<(), Error> {
        let arn = &self.identity.principal.arn;
        message::denied(verdict, arn, &access.action, &access.resource).map_or(Ok(()), Err)
    }

    fn circumstances(&self) -> Circumstances {
        let peer = self.head.extensions.get::<Peer>();
        let header = |name: HeaderName| {
            self.head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        Circumstances {
            now_ms: self.now_ms,
            source_ip: peer.map(|peer| peer.address),
            is_encrypted: peer.is_some_and(|peer| peer.is_encrypted),
            user_agent: header(header::USER_AGENT),
            referer: header(header::REFERER),
            region: self.region.to_owned(),
        }
    }
}

/// The ARN of a table, or of one of its indexes.
fn resource(database: &Database, table: &str, index: Option<&str>) -> String {
    let table = database.table_arn(table);
    match index {
        Some(index) => format!("{table}/index/{index}"),
        None => table,
    }
}
