//! What a design costs: capacity units and dollars per pattern, write, entity and index.

mod bill;
mod prices;
mod size;

pub use self::bill::{Bill, BillLine, Money, bill};
pub use self::prices::{ClassPrices, Prices, ReservedPrices};
pub use self::size::{cardinality, entry_size, hottest_share, item_size, items_under, key_values};
