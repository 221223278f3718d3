//! The future of a design: what its partitions make of the load it declares, and of many times that load.
//!
//! 1. [`workload`]: the patterns and writes of a checked design become flows of units to keys of tables and indexes.
//! 2. [`Course`]: how many items there are later, and how large.
//! 3. [`partitions`]: the partitions of one table or index, as AWS has them: limits, bursts, splits.
//! 4. [`run`]: a load profile drives all of them through time, minute by minute.
//! 5. [`limits`]: the multiple of the load at which each flow first fails, and at what.
//! 6. [`costs`]: what it costs a month, by capacity mode.
//! 7. [`advice`]: the change of the design that moves the first limit, checked and simulated.
//! 8. [`render`]: text, JSON, Markdown, a page with plots.
//!
//! Load is fluid: within a minute the demand on a partition is constant, and what its token bucket admits is computed
//! exactly. So the time that a simulation takes grows with partitions and hot keys, never with requests. Partitions that
//! cannot be told apart are one with a count. The same input gives the same result.

pub mod advice;
mod ahead;
mod asked;
mod bucket;
pub mod costs;
pub mod forecast;
mod joint;
mod lanes;
pub mod limits;
pub mod partitions;
mod profile;
pub mod render;
mod retries;
pub mod run;
mod scaling;
mod splits;
mod spread;
pub mod workload;

pub use ahead::{Course, Life};
pub use asked::{Admission, ByValue, Load};
pub use forecast::{Forecast, forecast};
pub use lanes::{Lane, Lanes};
pub use profile::{Capacity, Options, Profile};
pub use retries::Retries;
pub use spread::{KeyField, NoSplit, Spread};
pub use workload::Workload;
