//! `POST /keyloom/fork`: a copy of a database in memory, served on a port of its own, for tests.
//!
//! A fork is made in constant time and shares with its origin what neither has changed, so each test can have one.
//! `DELETE /keyloom/fork` at the fork's own endpoint ends it; all forks end with the server they were made from.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::backend::Backend;
use crate::config::Config;
use crate::exchange::Exchange;
use crate::memory::Reservation;
use crate::pages;
use crate::response::{Answer, MediaType};
use crate::serve::Server;
use crate::shared::{Lifecycle, Shared};

/// How many forks may be served at a time: more than the tests of a suite that run at once.
const MAX_FORKS: usize = 1024;

/// The forks of a server.
pub(crate) struct Forks {
    /// The configuration of forks: that of the server, on any free port.
    config: Config,
    /// Counts the forks of this server and of its forks together.
    slots: Arc<Semaphore>,
    /// Ends this server, if it is a fork itself.
    end: Option<Arc<Notify>>,
}

impl Forks {
    /// For a server that is no fork.
    pub(crate) fn new(config: &Config) -> Self {
        let mut config = config.clone();
        config.address.set_port(0);
        config.metrics_address = None;
        config.settled = || ();
        Self { config, slots: Arc::new(Semaphore::new(MAX_FORKS)), end: None }
    }

    fn of_fork(&self, end: &Arc<Notify>) -> Self {
        Self {
            config: self.config.clone(),
            slots: Arc::clone(&self.slots),
            end: Some(Arc::clone(end)),
        }
    }
}

/// Makes or ends a fork.
pub(crate) async fn answer(shared: &Arc<Shared>, head: &Parts, memory: &mut Reservation) -> Answer {
    if let Err(error) = pages::admit(shared, head, "Fork") {
        return Answer::error(&error, MediaType::Json);
    }
    if head.method == Method::DELETE {
        let Some(end) = &shared.forks.end else {
            let text = "this server is not a fork; end it with Ctrl-C or SIGTERM\n";
            return Answer::text(StatusCode::CONFLICT, text);
        };
        end.notify_one();
        return Answer::json("{}".into());
    }
    let Ok(slot) = Arc::clone(&shared.forks.slots).try_acquire_owned() else {
        let text = format!("{MAX_FORKS} forks are served; end some with DELETE /keyloom/fork\n");
        return Answer::text(StatusCode::SERVICE_UNAVAILABLE, text);
    };
    let origin = Arc::clone(shared);
    match shared.dispatcher.in_pool(memory, 0, move || origin.backend.fork()).await {
        Ok(Some(backend)) => serve(shared, backend, slot),
        Ok(None) => {
            let text = "only a database in memory can be forked: keyloom serve --memory\n";
            Answer::text(StatusCode::CONFLICT, text)
        }
        Err(not_run) => Exchange::not_run(&not_run, MediaType::Json),
    }
}

/// Serves a fork until it or its origin ends.
fn serve(origin: &Arc<Shared>, backend: Box<dyn Backend>, slot: OwnedSemaphorePermit) -> Answer {
    let end = Arc::new(Notify::new());
    let forks = origin.forks.of_fork(&end);
    let config = forks.config.clone();
    let shared =
        Shared { forks, memory: Arc::clone(&origin.memory), ..Shared::new(&config, backend) };
    let server = match Server::listening(config, shared) {
        Ok(server) => server,
        Err(error) => {
            return Answer::text(StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n"));
        }
    };
    let body = serde_json::json!({"endpoint": server.url()}).to_string();
    let mut lifecycle = origin.lifecycle.subscribe();
    // Boxed, because serving a fork is part of serving.
    let run: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
        let ended = async {
            tokio::select! {
                () = end.notified() => {}
                _ = lifecycle.wait_for(|state| *state != Lifecycle::Serving) => {}
            }
        };
        // The listener is open already; nothing else can fail.
        let _ = server.run(ended).await;
        drop(slot);
    });
    tokio::spawn(run);
    Answer::json(body)
}
