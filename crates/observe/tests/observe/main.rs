//! What the collector counts and what the detectors say, on loads made by hand.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod attribution;
mod detectors;
mod heat;
mod reports;
mod skew;
mod traffic;
