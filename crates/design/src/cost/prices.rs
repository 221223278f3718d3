//! The price file.

use std::cell::RefCell;

use toml::de::DeTable;

use crate::diagnostic::{Code, Diagnostic};
use crate::model::TableClass;
use crate::source::{Source, Span};
use crate::syntax::Section;

/// What capacity and storage cost in one region.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// The region the prices are for.
    pub region: String,
    /// Hours in a billing month; AWS's own calculator uses 730.
    pub hours_per_month: f64,
    /// Prices of the table class Standard.
    pub standard: ClassPrices,
    /// Prices of the table class Standard-Infrequent Access.
    pub infrequent_access: ClassPrices,
    /// Capacity reserved for a year, if it can be.
    pub reserved: Option<ReservedPrices>,
}

/// The prices of one hundred units of capacity that are reserved for a year, in dollars.
#[derive(Clone, Debug, PartialEq)]
pub struct ReservedPrices {
    /// Read units, at once.
    pub read_upfront: f64,
    /// Read units, every hour.
    pub read_hour: f64,
    /// Write units, at once.
    pub write_upfront: f64,
    /// Write units, every hour.
    pub write_hour: f64,
}

/// The prices of one table class, in dollars.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassPrices {
    /// A million read units, on demand.
    pub read_million: f64,
    /// A million write units, on demand.
    pub write_million: f64,
    /// A provisioned read unit for an hour.
    pub read_capacity_hour: f64,
    /// A provisioned write unit for an hour.
    pub write_capacity_hour: f64,
    /// A gigabyte for a month.
    pub storage_gb_month: f64,
}

const BUILT_IN: &str = include_str!("prices.toml");

impl Default for Prices {
    /// The built-in price list.
    fn default() -> Self {
        let (prices, _) = Self::parse("prices.toml", BUILT_IN);
        prices
    }
}

impl Prices {
    /// Reads a price file; what it leaves out is reported and taken as zero.
    pub fn parse(file_name: &str, text: &str) -> (Self, Vec<Diagnostic>) {
        let source = Source::new(file_name, text);
        let diagnostics = RefCell::new(Vec::new());
        let (document, errors) = DeTable::parse_recoverable(source.text());
        for error in errors {
            let span = error.span().map_or(Span::NONE, |span| Span::new(span.start, span.end));
            let message = format!("this is not TOML: {}", error.message().trim());
            diagnostics.borrow_mut().push(Diagnostic::error(Code::Syntax, span, message));
        }
        let mut root = Section::root(document.get_ref(), &diagnostics);
        let prices = Self {
            region: root.required_text("region").map(|text| text.value).unwrap_or_default(),
            hours_per_month: root.number("hours_per_month").map_or(730.0, |number| number.value),
            standard: read_class(&mut root, "standard"),
            infrequent_access: read_class(&mut root, "infrequent_access"),
            reserved: root.section("reserved").map(read_reserved),
        };
        root.finish();
        (prices, diagnostics.into_inner())
    }

    /// The prices of a table class.
    pub fn class(&self, class: TableClass) -> &ClassPrices {
        match class {
            TableClass::Standard => &self.standard,
            TableClass::InfrequentAccess => &self.infrequent_access,
        }
    }

    /// Seconds in a billing month.
    pub fn seconds_per_month(&self) -> f64 {
        self.hours_per_month * 3600.0
    }
}

/// A price; if it is missing, that is reported.
fn price(section: &mut Section, name: &'static str) -> f64 {
    let number = section.number(name);
    if number.is_none() {
        section.missing(name);
    }
    number.map_or(0.0, |number| number.value)
}

fn read_reserved(mut section: Section) -> ReservedPrices {
    let prices = ReservedPrices {
        read_upfront: price(&mut section, "read_upfront"),
        read_hour: price(&mut section, "read_hour"),
        write_upfront: price(&mut section, "write_upfront"),
        write_hour: price(&mut section, "write_hour"),
    };
    section.finish();
    prices
}

fn read_class(root: &mut Section, key: &'static str) -> ClassPrices {
    let mut section = root.section(key);
    let mut price =
        |name: &'static str| section.as_mut().map_or(0.0, |section| price(section, name));
    let prices = ClassPrices {
        read_million: price("read_million"),
        write_million: price("write_million"),
        read_capacity_hour: price("read_capacity_hour"),
        write_capacity_hour: price("write_capacity_hour"),
        storage_gb_month: price("storage_gb_month"),
    };
    match section {
        Some(section) => section.finish(),
        None => root.missing(key),
    }
    prices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_price_file_is_complete() {
        let (prices, problems) = Prices::parse("prices.toml", BUILT_IN);
        assert_eq!(problems, []);
        assert!((prices.standard.write_million - 0.625).abs() < 1e-9);
    }

    #[test]
    fn a_missing_price_is_reported() {
        let (_, problems) =
            Prices::parse("p.toml", "region = \"x\"\n[standard]\nread_million = 1\n");
        let messages: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
        assert!(messages.contains(&"`write_million` is missing in [standard]"), "{messages:?}");
        assert!(messages.contains(&"`infrequent_access` is missing in the design file"));
    }
}
