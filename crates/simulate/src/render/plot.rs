//! Line plots as SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 56.0;
/// Colours that are told apart in light and dark, and by most who see colours otherwise.
const COLOURS: [&str; 8] =
    ["#4c7fe0", "#dd7711", "#2a9d5c", "#d6336c", "#9067d8", "#0a9396", "#a1745f", "#808080"];
/// More points than this are not drawn.
const MAX_POINTS: usize = 360;

/// A line of a plot.
pub(super) struct Line {
    pub(super) name: String,
    /// Which colour it has; the same in all plots of a page.
    pub(super) colour: usize,
    pub(super) points: Vec<(f64, f64)>,
}

/// A plot with lines over an axis.
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    /// Both axes by powers of ten.
    pub(super) logarithmic: bool,
    /// A level to mark.
    pub(super) mark: Option<f64>,
    pub(super) lines: Vec<Line>,
}

/// From values to a length on the paper.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.logarithmic { value.max(1e-9).log10() } else { value };
        let (low, high) = (scale(self.low), scale(self.high));
        let share = if high > low { (scale(value) - low) / (high - low) } else { 0.0 };
        self.from + share * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let (low, high) = (
                self.low.max(1e-9).log10().floor() as i32,
                self.high.max(1e-9).log10().ceil() as i32,
            );
            let all = (low..=high).map(|power| 10f64.powi(power));
            return all.filter(|tick| (self.low..=self.high * 1.001).contains(tick)).collect();
        }
        let step = step(self.high - self.low);
        let count = ((self.high - self.low) / step * 1.000_001).floor() as u32;
        (0..=count).map(|at| self.low + step * f64::from(at)).collect()
    }
}

impl Plot<'_> {
    pub(super) fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let range = |value: fn(&(f64, f64)) -> f64, least: f64| {
            let values = points().map(value).filter(|it| !self.logarithmic || *it > 0.0);
            let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| {
                (low.min(it), high.max(it))
            });
            if low > high {
                (0.0, 1.0)
            } else {
                (if self.logarithmic { low } else { 0.0 }, high.max(least))
            }
        };
        let (x_low, x_high) = range(|point| point.0, 1e-9);
        let (y_low, y_high) = range(|point| point.1, self.mark.unwrap_or(1e-9));
        let logarithmic = self.logarithmic;
        let x = Axis { low: x_low, high: x_high, from: LEFT, to: WIDTH - RIGHT, logarithmic };
        let y = Axis { low: y_low, high: y_high, from: HEIGHT - BOTTOM, to: TOP, logarithmic };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"currentColor\">\n<title>{}</title>\n\
             <text x=\"{LEFT}\" y=\"18\" font-size=\"14\" font-weight=\"600\">{}</text>\n",
            escape(self.title),
            escape(self.title),
            escape(self.title)
        );
        self.grid(&x, &y, &mut svg);
        if let Some(mark) = self.mark {
            let at = y.at(mark);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#c62828\" stroke-dasharray=\"4 3\"/>",
                WIDTH - RIGHT
            );
        }
        for line in &self.lines {
            let colour = colour(line);
            let _ = writeln!(
                svg,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" points=\"{}\"/>",
                path(line, &x, &y)
            );
        }
        self.legend(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn grid(&self, x: &Axis, y: &Axis, svg: &mut String) {
        for tick in y.ticks() {
            let at = y.at(tick);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"currentColor\" stroke-opacity=\"0.15\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                at + 4.0,
                super::short(tick)
            );
        }
        for tick in x.ticks() {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                x.at(tick),
                HEIGHT - BOTTOM + 16.0,
                super::short(tick)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><text x=\"{}\" y=\"18\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            HEIGHT - BOTTOM + 31.0,
            escape(self.x),
            WIDTH - RIGHT,
            escape(self.y)
        );
    }

    fn legend(&self, svg: &mut String) {
        let mut at = LEFT;
        for line in &self.lines {
            let (name, colour) = (escape(&line.name), colour(line));
            let width = 30.0 + 7.0 * line.name.chars().count() as f64;
            if at + width > WIDTH {
                break;
            }
            let y = HEIGHT - 10.0;
            let _ = writeln!(
                svg,
                "<rect x=\"{at:.0}\" y=\"{:.0}\" width=\"12\" height=\"4\" fill=\"{colour}\"/><text x=\"{:.0}\" y=\"{y:.0}\">{name}</text>",
                y - 6.0,
                at + 17.0
            );
            at += width;
        }
    }
}

fn colour(line: &Line) -> &'static str {
    COLOURS.get(line.colour % COLOURS.len()).copied().unwrap_or("currentColor")
}

/// A round step that divides a span into two to five.
fn step(span: f64) -> f64 {
    let rough = (span / 5.0).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    let of = [1.0, 2.0, 3.0, 5.0, 10.0].into_iter().find(|of| of * power >= rough * 0.999_999);
    of.unwrap_or(10.0) * power
}

fn path(line: &Line, x: &Axis, y: &Axis) -> String {
    let step = line.points.len().div_ceil(MAX_POINTS).max(1);
    let mut path = String::new();
    for chunk in line.points.chunks(step) {
        let Some((at, _)) = chunk.first() else { continue };
        let highest = chunk.iter().map(|point| point.1).fold(0.0, f64::max);
        let _ = write!(path, "{:.1},{:.1} ", x.at(*at), y.at(highest));
    }
    path
}

/// Text that is safe inside HTML and SVG.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let ticks = |high| Axis { low: 0.0, high, from: 0.0, to: 1.0, logarithmic: false }.ticks();
        let close = |a: &[f64], b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * b.max(1.0))
        };
        for (high, expected) in [
            (129.0, &[0.0, 30.0, 60.0, 90.0, 120.0][..]),
            (1.0, &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
            (36.5, &[0.0, 10.0, 20.0, 30.0]),
            (3747.0, &[0.0, 1000.0, 2000.0, 3000.0]),
        ] {
            assert!(close(&ticks(high), expected), "{high}: {:?}", ticks(high));
        }
        assert!(ticks(1e-9).len() < 8 && ticks(1e300).len() < 8);
    }
}
