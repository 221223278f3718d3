//! Composite-key templates: build, parse, prefix, range, shard, order, limits.
