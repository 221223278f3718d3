//! Common key patterns under their usual names, each a thin wrapper around templates.
//!
//! The names are those of the `PatternHelpers` that many DynamoDB guides use. Where those helpers let something through
//! that later loses data (a separator in an identifier, an empty part, an unpadded version), these refuse or pad.

mod entity;
mod hierarchy;
mod multi;
mod shard;
mod time;
mod version;

use std::error::Error;
use std::fmt;

use crate::error::{BuildError, ParseError, TemplateError};
use crate::shard::ShardError;

pub use entity::{
    AdjacencyKeys, adjacency_keys, composite_key, composite_key_with, entity_key, gsi_key,
    leading_key, parse_composite_key, parse_composite_key_with, parse_entity_key,
    sparse_index_value, unique_key,
};
pub use hierarchy::{
    category_key, depth_key, hierarchical_key, hierarchy_depth, hierarchy_parent, location_key,
    parse_hierarchical_key,
};
pub use multi::{
    MultiAttributeKey, create_multi_attribute_key, hierarchical_multi_key, location_multi_key,
    multi_attribute_key, multi_tenant_key, multi_tenant_multi_key, parse_multi_attribute_key,
    product_category_multi_key, status_priority_multi_key, time_series_multi_key,
    version_multi_key,
};
pub use shard::{distributed_key, distributed_key_with, get_shard_number};
pub use time::{Granularity, time_series_key, ttl_timestamp};
pub use version::{
    LATEST_VERSION_KEY, VERSION_ATTRIBUTE, increment_version, parse_version_key, version_key,
    version_prefix,
};

/// Why a pattern rejects its input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// The separator is invalid.
    Template(TemplateError),
    /// A part is invalid.
    Build(BuildError),
    /// The key does not match the pattern.
    Parse(ParseError),
    /// The number of shards is invalid.
    Shard(ShardError),
    /// The number of parts is invalid.
    Parts {
        /// The name of the pattern.
        pattern: &'static str,
        /// The number of parts given.
        count: usize,
        /// The maximum number of parts.
        max: usize,
    },
    /// A part is missing although a later one is given.
    Gap {
        /// The name of the pattern.
        pattern: &'static str,
        /// Which part, counted from 1.
        part: usize,
    },
    /// The last possible version is reached.
    LastVersion(u32),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternError::Template(error) => error.fmt(f),
            PatternError::Build(error) => error.fmt(f),
            PatternError::Parse(error) => error.fmt(f),
            PatternError::Shard(error) => error.fmt(f),
            PatternError::Parts { pattern, count, max } => {
                write!(f, "{pattern}: {count} parts; there have to be 1 to {max}")
            }
            PatternError::Gap { pattern, part } => {
                write!(
                    f,
                    "{pattern}: part {part} is left out but a later one is given; later parts would move up"
                )
            }
            PatternError::LastVersion(version) => {
                write!(f, "version {version} is the last that fits the key's width")
            }
        }
    }
}

impl Error for PatternError {}

macro_rules! from_error {
    ($($variant:ident($error:ty)),*) => {
        $(impl From<$error> for PatternError {
            fn from(error: $error) -> Self {
                PatternError::$variant(error)
            }
        })*
    };
}
from_error!(Template(TemplateError), Build(BuildError), Parse(ParseError), Shard(ShardError));
