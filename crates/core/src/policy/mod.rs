//! IAM policies: JSON documents of permissions, and the decision on a request.
//!
//! 1. [`Policy::identity`] and [`Policy::resource`] parse a document into types. Whatever could not be
//!    evaluated later (an unknown operator, an unknown condition key, an unsupported variable) is refused
//!    here with the path of the element ([`PolicyError`]), so that a stored policy always means something.
//! 2. A request is described by an [`Access`] (action, resource and DynamoDB's condition keys), by the
//!    [`Principal`] who makes it and by its [`Circumstances`].
//! 3. [`decide`] gives the [`Verdict`]: an explicit deny wins, then any allow, else the request is denied.
//!
//! Where IAM leaves the result open, the evaluation takes the side that grants less: see `condition`
//! for keys that are missing, that have several values or that could not be determined.

mod actions;
mod condition;
mod decide;
mod key;
mod parse;
mod pattern;
mod principal;
mod request;
mod time;

#[cfg(test)]
mod tests;

pub use actions::{PolicyResource, identity_actions};
pub use decide::{PolicyType, Verdict, decide};
pub use parse::PolicyError;
pub use request::{Access, Circumstances, Known, Principal, Request};

use condition::Condition;
use pattern::{ArnPattern, Pattern};
use principal::PrincipalElement;

/// A policy document that can be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    statements: Vec<Statement>,
}

/// Whether a statement grants or refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Allow,
    Deny,
}

/// One statement: its effect on the requests that all its elements match.
#[derive(Clone, Debug, PartialEq)]
struct Statement {
    effect: Effect,
    /// Only in policies of resources: those of identities apply to their identity.
    principal: Option<PrincipalElement>,
    actions: Selection<Pattern>,
    resources: Selection<ArnPattern>,
    conditions: Vec<Condition>,
}

/// `Action` or `NotAction`, `Resource` or `NotResource`: the listed ones, or all but these.
#[derive(Clone, Debug, PartialEq)]
struct Selection<P> {
    inverted: bool,
    patterns: Vec<P>,
}

impl<P> Selection<P> {
    fn matches(&self, one: impl FnMut(&P) -> bool) -> bool {
        self.patterns.iter().any(one) != self.inverted
    }
}
