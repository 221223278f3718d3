//! Horizontal bars in groups, with their spread as whiskers.

use std::fmt::Write as _;

use super::axis::Axis;
use crate::contender::Contender;
use crate::figures::figure;
use crate::results::Series;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 220.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 92.0;
const BAR: f64 = 14.0;
const GAP: f64 = 14.0;

/// Bars of one unit.
pub(super) struct Bars<'r> {
    pub(super) title: String,
    pub(super) unit: String,
    /// A label, and one bar per contender.
    pub(super) groups: Vec<(String, Vec<&'r Series>)>,
}

impl Bars<'_> {
    pub(super) fn svg(&self) -> String {
        let series = || self.groups.iter().flat_map(|(_, bars)| bars.iter());
        let spread = series().flat_map(|series| [series.least(), series.most()]);
        let axis = Axis::over(spread, LEFT, WIDTH - RIGHT);
        let height = TOP
            + self.groups.iter().map(|(_, bars)| bars.len() as f64 * BAR + GAP).sum::<f64>()
            + 30.0;
        let mut svg = opening(&self.title, &self.unit, WIDTH, height);
        let mut contenders: Vec<Contender> = series().map(|each| each.key.contender).collect();
        contenders.sort_unstable();
        contenders.dedup();
        svg.push_str(&legend(&contenders, LEFT));
        for (value, text) in axis.ticks() {
            let (x, bottom) = (axis.place(value), height - 30.0);
            // Writing to a string cannot fail.
            let _ = write!(
                svg,
                r##"<line x1="{x:.1}" y1="{TOP}" x2="{x:.1}" y2="{bottom:.1}" stroke="#ddd"/><text x="{x:.1}" y="{:.1}" text-anchor="middle" fill="#555">{text}</text>"##,
                bottom + 16.0
            );
        }
        let mut y = TOP + GAP / 2.0;
        for (label, bars) in &self.groups {
            let middle = y + bars.len() as f64 * BAR / 2.0 + 4.0;
            let _ = write!(
                svg,
                r#"<text x="{:.1}" y="{middle:.1}" text-anchor="end">{label}</text>"#,
                LEFT - 10.0
            );
            for series in bars {
                svg.push_str(&bar(series, &axis, y));
                y += BAR;
            }
            y += GAP;
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn bar(series: &Series, axis: &Axis, y: f64) -> String {
    let (median, colour) = (series.median(), series.key.contender.colour());
    let (end, low, high) =
        (axis.place(median), axis.place(series.least()), axis.place(series.most()));
    let middle = y + (BAR - 2.0) / 2.0;
    format!(
        r##"<rect x="{LEFT}" y="{y:.1}" width="{:.1}" height="{:.1}" fill="{colour}"/><line x1="{low:.1}" y1="{middle:.1}" x2="{high:.1}" y2="{middle:.1}" stroke="#222"/><text x="{:.1}" y="{:.1}" font-size="11">{}</text>"##,
        (end - LEFT).max(1.0),
        BAR - 2.0,
        high.max(end) + 5.0,
        middle + 4.0,
        figure(median)
    )
}

/// The opening of a drawing: its size, its background, its title.
pub(super) fn opening(title: &str, unit: &str, width: f64, height: f64) -> String {
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222"><rect width="{width}" height="{height}" fill="#fff"/><text x="20" y="28" font-size="16" font-weight="bold">{title}</text><text x="20" y="48" fill="#555">{unit}; logarithmic scale</text>"##
    )
}

/// A row of colours with names.
pub(super) fn legend(contenders: &[Contender], left: f64) -> String {
    let mut svg = String::new();
    let mut x = left;
    for contender in contenders {
        let (label, colour) = (contender.label(), contender.colour());
        let _ = write!(
            svg,
            r#"<rect x="{x:.1}" y="62" width="12" height="12" fill="{colour}"/><text x="{:.1}" y="72">{label}</text>"#,
            x + 17.0
        );
        x += 17.0 + label.chars().count() as f64 * 6.6 + 16.0;
    }
    svg
}
