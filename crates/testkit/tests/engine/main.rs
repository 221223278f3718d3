//! The engine against its golden scripts, its reference model, concurrent histories and hostile
//! input, in memory and on disk.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]
#![expect(clippy::print_stdout, reason = "a test tells how much it has done")]

mod hostile;
mod linearizable;
mod model;
mod recovery;
mod scripts;
mod serializable;
mod snapshots;
