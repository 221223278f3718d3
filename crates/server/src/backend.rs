//! The interface between the server and the database.

use keyloom_engine::insights::{Contributions, InsightRule, InsightSpan, NotCounted};
use keyloom_engine::{BackupSource, Call, Database, Error, Health, Reply};

use crate::console::Console;

/// Executes requests: the database, or a test double.
///
/// A call is synchronous and may block on a disk; [`Dispatch`](crate::Dispatch) decides on which
/// thread it runs.
pub trait Backend: Send + Sync + 'static {
    /// Runs one operation: its target (`DynamoDB_20120810.GetItem`) and its JSON body.
    fn call(&self, target: &str, body: &[u8]) -> Reply;

    /// Begins one operation without blocking; the server awaits the rest without occupying a
    /// thread. A backend whose calls block should implement this, or use a
    /// [`Dispatch`](crate::Dispatch) that runs its writes in the pool.
    fn begin(&self, target: &str, body: &[u8]) -> Call {
        Call::Answered(self.call(target, body))
    }

    /// The database behind it, whose keys and policies decide what identities may do. Without one, a
    /// server with [`identities`](crate::Config::identities) serves only those that may do everything.
    fn database(&self) -> Option<&Database> {
        None
    }

    /// Whether writes are accepted, for `GET /health`. Called every second: it must not block.
    fn health(&self) -> Health {
        Health::Ready
    }

    /// Request statistics as JSON, for `GET /keyloom/stats`, or a whole recording with the load over time and key space,
    /// for `GET /keyloom/stats/heat`; `None` if they are not collected.
    fn statistics(&self, _with_heat: bool) -> Option<String> {
        None
    }

    /// Verifies the database and reports the findings as JSON, for `POST /keyloom/verify`; `None` if there is
    /// nothing to verify. May take long.
    fn verify(&self) -> Option<Result<String, Error>> {
        None
    }

    /// Takes the snapshot for a backup, for `POST /keyloom/backup`; `None` if there are no files.
    fn backup_source(&self) -> Option<Result<BackupSource, Error>> {
        None
    }

    /// An independent copy, for `POST /keyloom/fork`; `None` if it cannot be made in constant time.
    fn fork(&self) -> Option<Box<dyn Backend>> {
        None
    }

    /// The names of the enabled rules of Contributor Insights.
    fn insight_rules(&self) -> Vec<InsightRule> {
        Vec::new()
    }

    /// The top contributors of a rule.
    fn contributors(
        &self,
        _rule: &InsightRule,
        _span: InsightSpan,
    ) -> Result<Contributions, NotCounted> {
        Err(NotCounted::Nobody)
    }

    /// Appends further metrics to `GET /metrics`.
    fn metrics(&self, _page: &mut String) {}

    /// Answers the questions of the console's API; without it, the console shows only what DynamoDB's operations say.
    fn console(&self) -> Option<&dyn Console> {
        None
    }
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

    fn fork(&self) -> Option<Box<dyn Backend>> {
        Some(Box::new(Self::fork(self)?))
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

    fn statistics(&self, with_heat: bool) -> Option<String> {
        (**self).statistics(with_heat)
    }

    fn verify(&self) -> Option<Result<String, Error>> {
        (**self).verify()
    }

    fn backup_source(&self) -> Option<Result<BackupSource, Error>> {
        (**self).backup_source()
    }

    fn fork(&self) -> Option<Box<dyn Backend>> {
        (**self).fork()
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

    fn console(&self) -> Option<&dyn Console> {
        (**self).console()
    }
}
