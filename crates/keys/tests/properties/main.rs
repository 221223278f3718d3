//! Laws that hold for every template, checked on generated ones.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test fails")]

mod generate;
mod hostile;
mod language;
mod order;
mod range;
mod relation;
mod round_trip;
