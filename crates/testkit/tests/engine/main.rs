//! The engine against its golden scripts, its reference model, concurrent histories and hostile
//! input, in memory and on disk.

mod hostile;
mod linearizable;
mod model;
mod scripts;
mod serializable;
mod snapshots;
