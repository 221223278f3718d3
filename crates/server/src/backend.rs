//! What stands behind the server.

use keyloom_engine::{Database, Reply};

/// Answers requests: the database, or a stand-in for it.
///
/// A call is synchronous and may wait for a disk; [`Dispatch`](crate::Dispatch) says on which
/// thread it runs.
pub trait Backend: Send + Sync + 'static {
    /// Runs one operation: its target (`DynamoDB_20120810.GetItem`) and its JSON body.
    fn call(&self, target: &str, body: &[u8]) -> Reply;
}

impl Backend for Database {
    fn call(&self, target: &str, body: &[u8]) -> Reply {
        Self::call(self, target, body)
    }
}

impl<B: Backend + ?Sized> Backend for std::sync::Arc<B> {
    fn call(&self, target: &str, body: &[u8]) -> Reply {
        (**self).call(target, body)
    }
}
