//! What stands behind the server.

use keyloom_engine::insights::{Contributions, InsightRule, InsightSpan, NotCounted};
use keyloom_engine::{Call, Database, Reply};

/// Whether a backend takes writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// It does.
    #[default]
    Ready,
    /// It only reads.
    ReadOnly {
        /// Why, in a sentence for whoever runs it.
        reason: String,
        /// Whether it stays so until it is started again; otherwise it takes writes again by itself.
        restart_needed: bool,
    },
}

/// Answers requests: the database, or a stand-in for it.
///
/// A call is synchronous and may wait for a disk; [`Dispatch`](crate::Dispatch) says on which
/// thread it runs.
pub trait Backend: Send + Sync + 'static {
    /// Runs one operation: its target (`DynamoDB_20120810.GetItem`) and its JSON body.
    fn call(&self, target: &str, body: &[u8]) -> Reply;

    /// Begins one operation and waits for nothing; what is left, the server waits for on no thread. A
    /// backend whose calls wait should have this, or a [`Dispatch`](crate::Dispatch) that runs its writes
    /// in the pool.
    fn begin(&self, target: &str, body: &[u8]) -> Call {
        Call::Answered(self.call(target, body))
    }

    /// Whether it takes writes, for `GET /health`. Asked every second: it must not wait.
    fn health(&self) -> Health {
        Health::Ready
    }

    /// Statistics of the requests so far as JSON, for `GET /keyloom/stats`; none if nobody counts.
    fn statistics(&self) -> Option<String> {
        None
    }

    /// The rules of Contributor Insights that are enabled, by name.
    fn insight_rules(&self) -> Vec<InsightRule> {
        Vec::new()
    }

    /// Which keys contributed most to a rule.
    fn contributors(
        &self,
        _rule: &InsightRule,
        _span: InsightSpan,
    ) -> Result<Contributions, NotCounted> {
        Err(NotCounted::Nobody)
    }

    /// Appends to `GET /metrics` what the server itself does not count.
    fn metrics(&self, _page: &mut String) {}
}

impl Backend for Database {
    fn call(&self, target: &str, body: &[u8]) -> Reply {
        Self::call(self, target, body)
    }

    fn begin(&self, target: &str, body: &[u8]) -> Call {
        self.begin_call(target, body)
    }

    fn insight_rules(&self) -> Vec<InsightRule> {
        Self::insight_rules(self)
    }

    fn contributors(
        &self,
        rule: &InsightRule,
        span: InsightSpan,
    ) -> Result<Contributions, NotCounted> {
        Self::contributors(self, rule, span)
    }
}

impl<B: Backend + ?Sized> Backend for std::sync::Arc<B> {
    fn call(&self, target: &str, body: &[u8]) -> Reply {
        (**self).call(target, body)
    }

    fn begin(&self, target: &str, body: &[u8]) -> Call {
        (**self).begin(target, body)
    }

    fn health(&self) -> Health {
        (**self).health()
    }

    fn statistics(&self) -> Option<String> {
        (**self).statistics()
    }

    fn insight_rules(&self) -> Vec<InsightRule> {
        (**self).insight_rules()
    }

    fn contributors(
        &self,
        rule: &InsightRule,
        span: InsightSpan,
    ) -> Result<Contributions, NotCounted> {
        (**self).contributors(rule, span)
    }

    fn metrics(&self, page: &mut String) {
        (**self).metrics(page);
    }
}
