//! What stands behind the server.

use keyloom_engine::insights::{Contributions, InsightRule, InsightSpan, NotCounted};
use keyloom_engine::{BackupSource, Call, Database, Error, Health, Reply};

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

    /// The database behind it, whose keys and policies decide what identities may do. Without one, a
    /// server with [`identities`](crate::Config::identities) lets only those in that may do everything.
    fn database(&self) -> Option<&Database> {
        None
    }

    /// Whether it takes writes, for `GET /health`. Asked every second: it must not wait.
    fn health(&self) -> Health {
        Health::Ready
    }

    /// Statistics of the requests so far as JSON, for `GET /keyloom/stats`; none if nobody counts.
    fn statistics(&self) -> Option<String> {
        None
    }

    /// Verifies everything and reports it as JSON, for `POST /keyloom/verify`; none if there is nothing
    /// that could be verified. It may take long.
    fn verify(&self) -> Option<Result<String, Error>> {
        None
    }

    /// Fixes the moment of a backup, for `POST /keyloom/backup`; none if there are no files.
    fn backup_source(&self) -> Option<Result<BackupSource, Error>> {
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
    fn database(&self) -> Option<&Database> {
        Some(self)
    }

    fn call(&self, target: &str, body: &[u8]) -> Reply {
        Self::call(self, target, body)
    }

    fn begin(&self, target: &str, body: &[u8]) -> Call {
        self.begin_call(target, body)
    }

    fn health(&self) -> Health {
        Self::health(self)
    }

    fn verify(&self) -> Option<Result<String, Error>> {
        Some(Self::verify(self).map(|report| report.to_json()))
    }

    fn backup_source(&self) -> Option<Result<BackupSource, Error>> {
        Self::backup_source(self)
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
    fn database(&self) -> Option<&Database> {
        (**self).database()
    }

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

    fn verify(&self) -> Option<Result<String, Error>> {
        (**self).verify()
    }

    fn backup_source(&self) -> Option<Result<BackupSource, Error>> {
        (**self).backup_source()
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
