//! Keyloom over HTTP: the DynamoDB wire protocol.
//!
//! The life of one request, and where each step lives:
//!
//! 1. `serve` accepts the socket, within the limits on connections (`clients`); `tls` shakes hands.
//! 2. `connection` runs HTTP/1.1 or HTTP/2 on it and closes it when the client is too slow (`overseer`).
//! 3. `request` looks at what a browser says (`visitor`), finds the route, checks who asks (`auth`) and
//!    reads the body (`body`) into memory that is reserved for it (`memory`).
//! 4. `dispatch` chooses the thread: the reactor's own for work of microseconds, a pool for work
//!    that may wait for a disk.
//! 5. `exchange` verifies the signature, unpacks the body, asks the policies (`access`) and calls the
//!    [`Backend`].
//! 6. `response` adds checksum, request id and encoding; `held` counts it until it is sent; `metrics`
//!    counts.
//!
//! The server knows targets, bytes and statuses. What a request means is the engine's business, with two
//! exceptions: `access` reads what a request of an identity with policies is about, and `cloudwatch` speaks
//! the protocols of another service, for the reports of Contributor Insights.
//!
//! ```
//! use keyloom_engine::Database;
//! use keyloom_server::{Config, Server};
//!
//! let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
//! let server = Server::start(config, Database::memory())?;
//! println!("listening on {}", server.url());
//! server.shutdown();
//! # Ok::<(), keyloom_server::StartError>(())
//! ```

mod access;
mod auth;
mod backend;
mod backup;
mod body;
mod calendar;
mod clients;
mod cloudwatch;
mod config;
mod connection;
mod dispatch;
mod encoding;
mod exchange;
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod held;
mod limits;
mod memory;
mod metrics;
mod operation;
mod overseer;
mod pages;
mod request;
mod request_id;
mod response;
mod running;
mod serve;
mod shared;
mod tls;
mod visitor;

pub use access::Identity;
pub use auth::Credentials;
pub use backend::Backend;
pub use config::{Config, StartError};
pub use dispatch::{Dispatch, Place};
pub use keyloom_engine::Health;
pub use limits::Limits;
pub use running::RunningServer;
pub use serve::{Server, termination};
pub use tls::TlsFiles;
pub use visitor::{Cors, NotAnOrigin, Origin};
