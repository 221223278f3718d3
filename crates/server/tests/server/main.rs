//! The server over real sockets. Most tests speak raw bytes, so that they see what a client sees.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod auth;
mod client;
#[cfg(feature = "insights")]
mod cloudwatch;
mod connections;
mod durable;
mod encoding;
mod forks;
mod health;
mod hostile;
mod http1;
mod http2;
mod limits;
mod metrics;
mod origins;
mod policies;
mod routes;
mod shutdown;
mod start;
mod tls;
mod unsent;
mod verification;
