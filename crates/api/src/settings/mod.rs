//! What AWS keeps beside a table: destinations of changes, and replicas.

pub mod global_tables;
pub mod kinesis;
pub mod replicas;
