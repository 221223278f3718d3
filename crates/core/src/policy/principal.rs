//! `Principal` and `NotPrincipal`: whom a policy of a resource is about.

use super::Effect;
use super::request::Principal;

/// Whom a statement is about.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PrincipalElement {
    pub(super) inverted: bool,
    pub(super) principals: Vec<Named>,
}

/// One entry of the element.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Named {
    /// `*`
    Anyone,
    /// An account, by its number or as the ARN of its root.
    Account(String),
    /// A user or role.
    Arn(String),
    /// A service of AWS, in whose name no request comes in here.
    Service,
}

/// How well a principal fits the element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    No,
    /// Its account is named: the account's own policies must allow the request, too.
    ByAccount,
    /// It is named itself, or everyone is.
    Directly,
}

impl Named {
    /// Reads an entry under `AWS`.
    pub(super) fn aws(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Anyone);
        }
        if is_account(text) {
            return Ok(Self::Account(text.to_owned()));
        }
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        match parts.as_slice() {
            _ if text.contains(['*', '?']) => {
                Err(format!("'{text}': wildcards inside a principal are not supported"))
            }
            ["arn", _, "iam" | "sts", "", account, entity]
                if is_account(account) && !entity.is_empty() =>
            {
                Ok(match *entity {
                    "root" => Self::Account((*account).to_owned()),
                    _ => Self::Arn(text.to_owned()),
                })
            }
            _ => Err(format!(
                "'{text}' is neither '*', an account number nor the ARN of a user or role"
            )),
        }
    }

    fn fit(&self, principal: &Principal) -> Fit {
        let (fits, fit) = match self {
            Self::Anyone => (true, Fit::Directly),
            Self::Account(account) => (account == principal.account(), Fit::ByAccount),
            Self::Arn(arn) => (*arn == principal.arn, Fit::Directly),
            Self::Service => (false, Fit::No),
        };
        if fits { fit } else { Fit::No }
    }
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl PrincipalElement {
    /// How well a principal fits. `NotPrincipal` with Deny excepts only who is named itself, as on AWS;
    /// with Allow it also excepts whose account is named.
    pub(super) fn fit(&self, principal: &Principal, effect: Effect) -> Fit {
        let fits = self.principals.iter().map(|named| named.fit(principal));
        let best = fits.max().unwrap_or(Fit::No);
        match (self.inverted, effect, best) {
            (false, _, best) => best,
            (true, _, Fit::No) | (true, Effect::Deny, Fit::ByAccount) => Fit::Directly,
            (true, ..) => Fit::No,
        }
    }
}
