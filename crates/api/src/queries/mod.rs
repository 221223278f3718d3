//! Query, Scan and SearchVectors.

mod page;
mod query;
mod read;
mod scan;
mod search_vectors;

pub use page::PageOutput;
pub use query::{QueryExpressions, QueryInput};
pub use read::{ReadInput, Select};
pub use scan::ScanInput;
pub use search_vectors::{SearchResult, SearchVectorsInput, SearchVectorsOutput};
