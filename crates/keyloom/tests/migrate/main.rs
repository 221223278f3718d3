//! Migrations: random pairs of designs while programs write, killed at any request; and the known ways to get it wrong.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the paths of the methods name one lifetime, the closures any"
)]

mod during;
mod kinds;
mod mistakes;
mod model;
mod pace;
mod pairs;
mod world;
