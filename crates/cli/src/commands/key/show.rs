//! Results for people: aligned names and values, with invisible characters made visible.

use keyloom_design::key::visible;
use keyloom_keys::{KeyRange, RangeKind};

use crate::output::{Failure, Output};

/// Names and values in two columns.
pub(super) fn table<'a>(
    rows: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    output: &mut Output,
) -> Result<(), Failure> {
    let width = rows.clone().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, value) in rows {
        output.line(format_args!("{name:width$}  {value}"))?;
    }
    Ok(())
}

/// The kind of a range, and the key condition that asks for it.
pub(super) fn condition(range: &KeyRange) -> (&'static str, String) {
    let (lower, upper) = (visible(range.lower()), visible(range.upper()));
    match range.kind() {
        RangeKind::All => ("all", "none needed: every key of the template".to_owned()),
        RangeKind::Exact => ("exact", format!("= '{lower}'")),
        RangeKind::Prefix(prefix) => ("prefix", format!("begins_with '{}'", visible(prefix))),
        RangeKind::Between => ("between", format!("BETWEEN '{lower}' AND '{upper}'")),
    }
}
