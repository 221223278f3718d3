//! Checks of table definitions.
