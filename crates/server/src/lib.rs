//! Keyloom over HTTP: the DynamoDB wire protocol.
//!
//! The life of one request, and the module of each step:
//!
//! 1. `serve` accepts the socket, within the limits on connections (`clients`); `tls` does the
//!    handshake.
//! 2. `connection` runs HTTP/1.1 or HTTP/2 on it and closes it when the client is idle or too slow
//!    (`stalls`).
//! 3. `request` checks the browser's origin (`origin`), finds the route, checks the signature's
//!    claim (`auth`) and reads the body (`body`) into memory reserved for it (`memory`).
//! 4. `dispatch` chooses the thread: the reactor's for work of microseconds, a pool for work that
//!    may block on a disk.
//! 5. `exchange` verifies the signature, decompresses the body, asks the policies (`access`) and calls
//!    the [`Backend`].
//! 6. `response` adds checksum, request id and encoding; `response_body` keeps it in the memory
//!    budget until it is sent; `metrics` counts it.
//!
//! `console` serves the pages of the console and their API.
//!
//! The server handles targets, bytes and statuses. The meaning of a request's JSON is the engine's
//! concern, with two exceptions: `access` reads what a request of an identity with policies is about, and
//! `insights` implements the protocols of CloudWatch for the reports of Contributor Insights.
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
mod admission;
mod auth;
mod backend;
mod backup;
mod body;
mod clients;
mod config;
mod connection;
mod console;
mod dispatch;
mod encoding;
mod exchange;
mod forks;
#[doc(hidden)]
pub mod fuzzing;
mod health;
#[cfg(feature = "insights")]
mod insights;
#[cfg(not(feature = "insights"))]
#[path = "no_insights.rs"]
mod insights;
mod limits;
mod memory;
mod metrics;
mod open_connections;
mod operation;
mod origin;
mod pages;
mod request;
mod request_id;
mod response;
mod response_body;
mod running;
mod serve;
mod shared;
mod stalls;
mod streaming;
mod tls;

pub use access::{Identity, known_actions};
pub use auth::Credentials;
pub use backend::Backend;
pub use config::{Config, StartError};
pub use console::{
    Console, ConsoleBody, ConsoleOptions, ConsoleQuestion, ConsoleReply, ConsoleRequest,
    ConsoleWriter,
};
pub use dispatch::{Dispatch, RunOn};
pub use keyloom_engine::Health;
pub use limits::Limits;
pub use origin::{Cors, NotAnOrigin, Origin};
pub use running::RunningServer;
pub use serve::{Server, termination};
pub use tls::TlsFiles;
