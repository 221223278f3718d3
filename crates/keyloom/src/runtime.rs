//! Runs blocking calls in async programs.
//!
//! A call may block on disk or network, so it runs on tokio's pool for blocking work. Calls cannot be cancelled:
//! dropping the future lets the call finish.

use crate::client::TableClient;
use crate::design::Design;
use crate::error::{Error, Result, TransportError};
use crate::table::Table;

/// Runs work on a thread for blocking work, and waits for it without blocking.
async fn run<C, T>(client: C, work: impl FnOnce(&C) -> Result<T> + Send + 'static) -> Result<T>
where
    C: Send + 'static,
    T: Send + 'static,
{
    match tokio::task::spawn_blocking(move || work(&client)).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Error::Transport(TransportError {
                operation: "run",
                attempts: 0,
                outcome_unknown: false,
                reason: "the runtime was shut down before the work began".into(),
            })),
        },
    }
}

impl<D: Design> Table<D> {
    /// Runs calls on tokio's threads for blocking work. Several calls in one closure cost one switch of threads.
    ///
    /// Needs the feature `tokio`. Dropping the future does not stop work that has begun.
    ///
    /// ```
    /// # use keyloom::prelude::*;
    /// # #[keyloom::design(table(notes, PK, SK))]
    /// # mod notes {
    /// #     use super::*;
    /// #     #[derive(Entity, Serialize, Deserialize, Debug, PartialEq)]
    /// #     #[entity(PK = "USER#{user}", SK = "NOTE#{number}")]
    /// #     pub struct Note { pub user: String, pub number: u32 }
    /// # }
    /// # use notes::*;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> keyloom::Result<()> {
    /// let notes = Notes::open(Database::memory())?;
    /// let note = Note { user: "ann".into(), number: 7 };
    /// let found = notes
    ///     .run(move |notes| {
    ///         notes.put(&note)?;
    ///         notes.get(note.key())
    ///     })
    ///     .await?;
    /// assert_eq!(found.map(|note| note.number), Some(7));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        run(self.clone(), work).await
    }
}

impl TableClient {
    /// Runs calls on tokio's threads for blocking work; see [`Table::run`].
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        run(self.clone(), work).await
    }
}
