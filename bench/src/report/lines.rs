//! Lines over a logarithmic axis: what happens as something grows.

use std::fmt::Write as _;

use super::axis::Axis;
use super::bars::{legend, opening};
use crate::contender::Contender;
use crate::figures::figure;
use crate::results::Series;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 60.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 50.0;

/// A line per contender.
pub(super) struct Lines<'r> {
    pub(super) title: String,
    pub(super) unit: String,
    /// What grows to the right.
    pub(super) growing: String,
    pub(super) curves: Vec<(Contender, Vec<(f64, &'r Series)>)>,
}

impl Lines<'_> {
    pub(super) fn svg(&self) -> String {
        let points = || self.curves.iter().flat_map(|(_, points)| points.iter());
        let across = Axis::over(points().map(|(x, _)| *x), LEFT, WIDTH - RIGHT);
        let values = points().flat_map(|(_, series)| [series.least(), series.most()]);
        let up = Axis::over(values, HEIGHT - BOTTOM, TOP);
        let mut svg = opening(&self.title, &self.unit, WIDTH, HEIGHT);
        let contenders: Vec<Contender> = self.curves.iter().map(|(each, _)| *each).collect();
        svg.push_str(&legend(&contenders, LEFT));
        svg.push_str(&self.grid(&across, &up));
        for (contender, points) in &self.curves {
            svg.push_str(&line(*contender, points, &across, &up));
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn grid(&self, across: &Axis, up: &Axis) -> String {
        let mut svg = String::new();
        for (value, text) in across.ticks() {
            let (x, y) = (across.place(value), HEIGHT - BOTTOM);
            // Writing to a string cannot fail.
            let _ = write!(
                svg,
                r##"<line x1="{x:.1}" y1="{TOP}" x2="{x:.1}" y2="{y}" stroke="#eee"/><text x="{x:.1}" y="{:.1}" text-anchor="middle" fill="#555">{text}</text>"##,
                y + 16.0
            );
        }
        for (value, text) in up.ticks() {
            let y = up.place(value);
            let _ = write!(
                svg,
                r##"<line x1="{LEFT}" y1="{y:.1}" x2="{:.1}" y2="{y:.1}" stroke="#ddd"/><text x="{:.1}" y="{:.1}" text-anchor="end" fill="#555">{text}</text>"##,
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0
            );
        }
        let (x, y) = (f64::midpoint(LEFT, WIDTH - RIGHT), HEIGHT - 12.0);
        let _ = write!(
            svg,
            r##"<text x="{x:.1}" y="{y:.1}" text-anchor="middle" fill="#555">{}</text>"##,
            self.growing
        );
        svg
    }
}

fn line(contender: Contender, points: &[(f64, &Series)], across: &Axis, up: &Axis) -> String {
    let colour = contender.colour();
    let places: Vec<String> = points
        .iter()
        .map(|(x, series)| format!("{:.1},{:.1}", across.place(*x), up.place(series.median())))
        .collect();
    let mut svg = format!(
        r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
        places.join(" ")
    );
    for (x, series) in points {
        let (x, y) = (across.place(*x), up.place(series.median()));
        let (low, high) = (up.place(series.least()), up.place(series.most()));
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            r#"<line x1="{x:.1}" y1="{low:.1}" x2="{x:.1}" y2="{high:.1}" stroke="{colour}"/><circle cx="{x:.1}" cy="{y:.1}" r="4" fill="{colour}"/><text x="{:.1}" y="{:.1}" font-size="11" text-anchor="end">{}</text>"#,
            x - 5.0,
            y - 6.0,
            figure(series.median())
        );
    }
    svg
}
