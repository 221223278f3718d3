//! A design's tables for other tools: CreateTable requests, CloudFormation, Terraform, CDK.

mod capacity;
mod cdk;
mod cloudformation;
mod create_table;
mod terraform;
mod yaml;

pub use self::capacity::{Capacity, capacity_of};
pub use self::cdk::cdk;
pub use self::cloudformation::cloudformation;
pub use self::create_table::{create_table, time_to_live};
pub use self::terraform::terraform;
use crate::model::{StreamView, Table};

/// A table's name in the fashion of identifiers: `product-catalog` becomes `ProductCatalog`.
fn pascal(name: &str) -> String {
    let mut out = String::new();
    let mut upper = true;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            upper = true;
        } else if upper {
            out.push(c.to_ascii_uppercase());
            upper = false;
        } else {
            out.push(c);
        }
    }
    out
}

fn stream_view(view: StreamView) -> &'static str {
    match view {
        StreamView::KeysOnly => "KEYS_ONLY",
        StreamView::NewImage => "NEW_IMAGE",
        StreamView::OldImage => "OLD_IMAGE",
        StreamView::NewAndOldImages => "NEW_AND_OLD_IMAGES",
    }
}

/// The position of an index in its table's list, for capacities.
fn positions(table: &Table) -> impl Iterator<Item = (usize, &crate::model::Index)> {
    table.indexes.iter().enumerate().skip(1)
}
