//! Pictures of a design as SVG: pure text, no fonts or scripts, the same for the same design.
//!
//! Colours are attributes, so that the pictures stand alone; each shape has a class, so that a page can give it others.

mod er;
mod key_map;

pub use self::er::er_svg;
pub use self::key_map::key_map_svg;

use std::fmt::{Display, Write as _};

/// The width of a character of the monospaced texts, about, and the height of a line.
const CHARACTER: f64 = 7.3;
const LINE: f64 = 18.0;

/// The colours of fields in keys; the page colours keys alike.
const FIELD_COLOURS: [&str; 12] = [
    "#1d6fd1", "#b3430a", "#1a7f4b", "#8b3fc4", "#a8660b", "#0c7c8c", "#c02561", "#5b6b1a",
    "#4b4fd6", "#7a4a21", "#a3269e", "#2d5a73",
];

/// A picture that is being drawn.
struct Picture {
    body: String,
    width: f64,
    height: f64,
}

/// How a text looks.
#[derive(Clone, Copy)]
struct Look<'a> {
    class: &'a str,
    colour: &'a str,
    bold: bool,
}

impl Look<'_> {
    const PLAIN: Look<'static> = Look { class: "kl-text", colour: "#1f2933", bold: false };
    const FAINT: Look<'static> = Look { class: "kl-faint", colour: "#5b6875", bold: false };
    const TITLE: Look<'static> = Look { class: "kl-title", colour: "#102a43", bold: true };
}

impl Picture {
    fn new() -> Self {
        Self { body: String::new(), width: 0.0, height: 0.0 }
    }

    /// Something from here to there is part of the picture.
    fn reach(&mut self, x: f64, y: f64) {
        self.width = self.width.max(x);
        self.height = self.height.max(y);
    }

    fn rectangle(
        &mut self,
        class: &str,
        fill: &str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
    ) {
        let _ = write!(
            self.body,
            r##"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="4" fill="{fill}" stroke="#9aa5b1"/>"##
        );
        self.reach(x + width, y + height);
    }

    /// A text whose first letter stands at a point of the base line.
    fn text(&mut self, look: Look<'_>, (x, y): (f64, f64), text: &str) {
        let weight = if look.bold { r#" font-weight="bold""# } else { "" };
        let _ = write!(
            self.body,
            r#"<text class="{}" x="{x:.1}" y="{y:.1}" fill="{}"{weight}>{}</text>"#,
            look.class,
            look.colour,
            Escaped(text)
        );
        self.reach(x + width_of(text), y + LINE / 2.0);
    }

    /// The whole picture with a name for those who do not see it.
    fn finish(self, name: &str) -> String {
        let (width, height) = (self.width + 16.0, self.height + 16.0);
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" role="img" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12"><title>{}</title><rect class="kl-back" width="100%" height="100%" fill="#ffffff"/>{}</svg>"##,
            Escaped(name),
            self.body
        )
    }
}

/// About how wide a text is. Wide letters take two places.
fn width_of(text: &str) -> f64 {
    let places: usize = text.chars().map(|c| if c as u32 >= 0x1100 { 2 } else { 1 }).sum();
    places as f64 * CHARACTER
}

/// A text that is cut where it would be too long.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A text in XML; characters that XML does not have are left out.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\t' | '\n' | '\r' => f.write_char(' ')?,
                other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => {}
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Design;

    const HOSTILE: &str = r##"
[table.t]
partition_key = "PK"
sort_key = "SK"
[entity."<script>alert(1)</script>"]
PK = "A<b>&\"#{a}"
SK = "X"
[entity."<script>alert(1)</script>".fields]
a = "ulid"
[entity.Child]
PK = "A#{a}"
SK = "B#{b}"
[entity.Child.fields]
a = "ulid"
b = "ulid"
"##;

    #[test]
    fn names_are_texts_and_never_markup() {
        let (design, problems) = Design::read("<x>.toml", HOSTILE);
        assert_eq!(design.entities().len(), 2, "{problems:?}");
        for picture in [er_svg(&design), key_map_svg(&design)] {
            assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>"));
            assert!(!picture.contains("<script") && !picture.contains("<b>"), "{picture}");
            assert!(picture.contains("&lt;script&gt;"), "{picture}");
            // Every opened element is closed.
            let count = |part: &str| picture.matches(part).count();
            assert_eq!(count("<text"), count("</text>"));
        }
        assert!(er_svg(&design).contains("kl-line"), "the child hangs on its parent");
    }

    #[test]
    fn an_empty_design_is_an_empty_picture() {
        let (design, _) = Design::read("x.toml", "");
        assert!(er_svg(&design).contains("</svg>") && key_map_svg(&design).contains("</svg>"));
    }
}
