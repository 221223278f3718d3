//! The verdict on a request.

use super::principal::Fit;
use super::request::Request;
use super::{Effect, Policy, Statement};

/// What a policy is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyType {
    /// A user or role.
    Identity,
    /// A table or stream.
    Resource,
}

impl PolicyType {
    /// As AWS's messages call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity-based",
            Self::Resource => "resource-based",
        }
    }
}

/// Whether a request may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request is allowed.
    Allowed,
    /// A statement of such a policy denies it.
    ExplicitDeny(PolicyType),
    /// It would need such a policy to allow it, and none does.
    ImplicitDeny(PolicyType),
}

/// Decides a request by the policies of its principal and the policy of the resource.
///
/// An explicit deny anywhere wins. Within an account one allow is enough, of the identity or of the
/// resource; but a resource that names the account leaves it to the identity's policies. From another
/// account both must allow.
///
/// ```
/// use keyloom_core::policy::{Access, Circumstances, Policy, Principal, Request, Verdict, decide};
///
/// let policy = Policy::identity(r#"{"Version": "2012-10-17", "Statement": {
///     "Effect": "Allow", "Action": "dynamodb:Get*", "Resource": "*"}}"#)?;
/// let principal = Principal { arn: "arn:aws:iam::123456789012:user/ann".into(), ..Principal::default() };
/// let resource = "arn:aws:dynamodb:us-east-1:123456789012:table/music";
/// let verdict = |action: &str| {
///     let access = Access { action: action.into(), resource: resource.into(), ..Access::default() };
///     let circumstances = Circumstances::default();
///     let request = Request { access: &access, principal: &principal, circumstances: &circumstances };
///     decide(&request, std::slice::from_ref(&policy), None)
/// };
/// assert_eq!(verdict("dynamodb:GetItem"), Verdict::Allowed);
/// assert_ne!(verdict("dynamodb:PutItem"), Verdict::Allowed);
/// # Ok::<(), keyloom_core::policy::PolicyError>(())
/// ```
pub fn decide(request: &Request<'_>, identity: &[Policy], resource: Option<&Policy>) -> Verdict {
    let own = || identity.iter().flat_map(|policy| &policy.statements);
    let attached = || resource.into_iter().flat_map(|policy| &policy.statements);
    if own().any(|statement| statement.applies(request, Effect::Deny) != Fit::No) {
        return Verdict::ExplicitDeny(PolicyType::Identity);
    }
    if attached().any(|statement| statement.applies(request, Effect::Deny) != Fit::No) {
        return Verdict::ExplicitDeny(PolicyType::Resource);
    }
    let identity_allows =
        own().any(|statement| statement.applies(request, Effect::Allow) != Fit::No);
    let granted = attached().map(|statement| statement.applies(request, Effect::Allow)).max();
    let granted = granted.unwrap_or(Fit::No);
    if request.principal.account() == request.resource_account() {
        return match (identity_allows, granted) {
            (true, _) | (_, Fit::Directly) => Verdict::Allowed,
            _ => Verdict::ImplicitDeny(PolicyType::Identity),
        };
    }
    match (identity_allows, granted) {
        (_, Fit::No) => Verdict::ImplicitDeny(PolicyType::Resource),
        (false, _) => Verdict::ImplicitDeny(PolicyType::Identity),
        (true, _) => Verdict::Allowed,
    }
}

impl Statement {
    /// Whether the statement has this effect and matches the request, and how well its principal fits.
    fn applies(&self, request: &Request<'_>, effect: Effect) -> Fit {
        if self.effect != effect {
            return Fit::No;
        }
        let element = self.principal.as_ref();
        let fit = element.map_or(Fit::Directly, |element| element.fit(request.principal, effect));
        let action = &request.access.action;
        let applies = fit != Fit::No
            && self
                .actions
                .matches(|pattern| pattern.matches_ignoring_case(action, request).unwrap_or(false))
            && self.matches_resource(request)
            && self.conditions.iter().all(|condition| condition.holds(request, effect));
        if applies { fit } else { Fit::No }
    }

    /// A variable without a value fits nothing. `NotResource` with one allows nothing, and denies what the
    /// other patterns leave.
    fn matches_resource(&self, request: &Request<'_>) -> bool {
        let resource = &request.access.resource;
        let mut is_resolved = true;
        let matches = self.resources.matches(|pattern| {
            let fits = pattern.matches(resource, request);
            is_resolved &= fits.is_some();
            fits.unwrap_or(false)
        });
        matches && (is_resolved || !self.resources.inverted || self.effect == Effect::Deny)
    }
}
