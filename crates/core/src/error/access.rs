//! Sentences about what a caller may do.

use super::Error;
use crate::policy::Verdict;

/// A resource policy after which its author could not change it.
pub fn locks_out(principal: &str) -> Error {
    Error::Validation(format!(
        "The policy does not allow {principal} to call PutResourcePolicy on this resource again. If that is intended, set \
         ConfirmRemoveSelfResourceAccess to true"
    ))
}

/// A request that policies deny; none if they allow it.
pub fn denied(verdict: Verdict, principal: &str, action: &str, resource: &str) -> Option<Error> {
    let why = match verdict {
        Verdict::Allowed => return None,
        Verdict::ExplicitDeny(policy) => {
            format!("with an explicit deny in a{} policy", article(policy.as_str()))
        }
        Verdict::ImplicitDeny(policy) => {
            format!("because no {} policy allows the {action} action", policy.as_str())
        }
    };
    Some(Error::AccessDenied(format!(
        "User: {principal} is not authorized to perform: {action} on resource: {resource} {why}"
    )))
}

/// The rest of the article with the word behind it.
fn article(word: &str) -> String {
    if word.starts_with('i') { format!("n {word}") } else { format!(" {word}") }
}

#[cfg(test)]
mod tests {
    use super::denied;
    use crate::policy::{PolicyType, Verdict};

    #[test]
    fn a_refusal_says_who_what_and_why() {
        let said = |verdict| {
            denied(verdict, "arn:u", "dynamodb:GetItem", "arn:t").map(|error| error.message())
        };
        let start = "User: arn:u is not authorized to perform: dynamodb:GetItem on resource: arn:t";
        for (verdict, why) in [
            (
                Verdict::ImplicitDeny(PolicyType::Identity),
                "because no identity-based policy allows the dynamodb:GetItem action",
            ),
            (
                Verdict::ImplicitDeny(PolicyType::Resource),
                "because no resource-based policy allows the dynamodb:GetItem action",
            ),
            (
                Verdict::ExplicitDeny(PolicyType::Identity),
                "with an explicit deny in an identity-based policy",
            ),
            (
                Verdict::ExplicitDeny(PolicyType::Resource),
                "with an explicit deny in a resource-based policy",
            ),
        ] {
            assert_eq!(said(verdict), Some(format!("{start} {why}")));
        }
        assert_eq!(said(Verdict::Allowed), None);
    }
}
