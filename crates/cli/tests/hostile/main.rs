//! Clients that try to fill the server's memory: it stays within `--memory-limit`, serves others
//! meanwhile, and gives back what it took.
//!
//! `KEYLOOM_HOSTILE_LONG=1` has the attacks in full size (`scripts/long hostile`); `KEYLOOM_ATTACKED` may
//! name another `keyloom`, for a comparison.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::print_stdout, reason = "a test tells what it has measured")]

mod attacks;
mod http2;
mod server;
