//! Items from files into a database and back: `keyloom load` and `keyloom dump`.
//!
//! 1. [`place`]: the database, an endpoint or a data directory, and the keys of the table.
//! 2. [`source`]: files and export folders, row by row.
//! 3. [`shape`]: what a design says of a row: its entity, its types, its keys, and what is anonymised ([`anonymise`]).
//! 4. [`writer`]: rows into the table, several batches at once, the rows of one key in their order.
//!    [`loading`] leads them there.
//! 5. [`form`]: items as lines of a file.
//! 6. [`problems`]: rows that could not be taken.

pub(crate) mod anonymise;
pub(crate) mod form;
pub(crate) mod loading;
pub(crate) mod place;
pub(crate) mod problems;
pub(crate) mod shape;
pub(crate) mod source;
pub(crate) mod writer;
