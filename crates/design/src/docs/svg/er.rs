//! The entity-relationship diagram: parents above their children, arranged in layers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{LINE, Look, Picture, cut, width_of};
use crate::model::{Design, Entity, RelationshipKind};

/// Fields that a box lists at most.
const MOST_FIELDS: usize = 14;
/// Boxes beside one another at most.
const MOST_ACROSS: usize = 5;
const GAP: (f64, f64) = (48.0, 64.0);

/// A box of the diagram.
struct Place {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// A line between two entities.
struct Tie {
    from: usize,
    to: usize,
    label: String,
    many: [bool; 2],
}

/// Entities with their fields, and their relationships: declared ones, and those that identities imply.
pub fn er_svg(design: &Design) -> String {
    let ties = ties(design);
    let layers = layers(design.entities().len(), &ties);
    let mut picture = Picture::new();
    let mut places: BTreeMap<usize, Place> = BTreeMap::new();
    let mut top = 16.0;
    for row in layers.iter().flat_map(|layer| layer.chunks(MOST_ACROSS)) {
        let (mut left, mut tallest) = (16.0, 0.0_f64);
        for &number in row {
            let Some(entity) = design.entities().get(number) else { continue };
            let (width, height) = size(entity);
            places.insert(number, Place { x: left, y: top, width, height });
            left += width + GAP.0;
            tallest = tallest.max(height);
        }
        top += tallest + GAP.1;
    }
    // Lines lie under boxes.
    for tie in &ties {
        if let (Some(from), Some(to)) = (places.get(&tie.from), places.get(&tie.to)) {
            draw_tie(&mut picture, from, to, tie);
        }
    }
    for (number, place) in &places {
        if let Some(entity) = design.entities().get(*number) {
            draw_entity(&mut picture, entity, place);
        }
    }
    picture.finish(&format!("Entities and relationships of {}", design.name()))
}

/// What the lines are.
fn ties(design: &Design) -> Vec<Tie> {
    let number = |entity: &Entity| {
        design.entities().iter().position(|it| it.name == entity.name).unwrap_or_default()
    };
    let mut ties: Vec<Tie> = design
        .relationships()
        .iter()
        .map(|it| Tie {
            from: number(&it.from),
            to: number(&it.to),
            label: it.name.clone(),
            many: match it.kind {
                RelationshipKind::OneToOne => [false, false],
                RelationshipKind::OneToMany => [false, true],
                RelationshipKind::ManyToMany => [true, true],
            },
        })
        .collect();
    for (parent, child) in parents(design) {
        let (from, to) = (number(parent), number(child));
        let is_known =
            |tie: &Tie| [tie.from, tie.to] == [from, to] || [tie.to, tie.from] == [from, to];
        if !ties.iter().any(is_known) {
            ties.push(Tie { from, to, label: String::new(), many: [false, true] });
        }
    }
    ties
}

/// Parents and children: a field of the child's identity is what the parent is named by, which is the last field of its own
/// identity; of several entities that end with a field, the one with the shortest identity.
fn parents(design: &Design) -> Vec<(&Entity, &Entity)> {
    let owner = |field: &str| {
        let named = design.entities().iter().filter(|it| it.identity().last() == Some(&field));
        named.min_by_key(|it| it.identity().len())
    };
    let mut pairs: Vec<(&Entity, &Entity)> = Vec::new();
    for child in design.entities() {
        for parent in child.identity().into_iter().filter_map(owner) {
            if parent.name != child.name {
                pairs.push((parent, child));
            }
        }
    }
    pairs
}

/// Entities by how many steps lie above them; what goes round in circles stays where it first was.
fn layers(count: usize, ties: &[Tie]) -> Vec<Vec<usize>> {
    let mut depth = vec![0_usize; count];
    for _ in 0..count {
        let mut moved = false;
        for tie in ties.iter().filter(|tie| tie.from != tie.to) {
            let above = depth.get(tie.from).copied().unwrap_or_default();
            if let Some(below) = depth.get_mut(tie.to)
                && *below <= above
                && above + 1 < count
            {
                *below = above + 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    let mut layers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, depth) in depth.into_iter().enumerate() {
        layers.entry(depth).or_default().push(number);
    }
    layers.into_values().collect()
}

/// The lines of a box.
fn lines(entity: &Entity) -> Vec<(String, bool)> {
    let identity = entity.identity();
    let mut fields: Vec<_> = entity.fields.iter().collect();
    fields.sort_by_key(|field| !identity.contains(&field.name.as_str()));
    let line = |field: &&crate::model::Field| {
        let is_key = identity.contains(&field.name.as_str());
        let kind = field.type_name();
        (cut(&format!("{}: {kind}", field.name), 40), is_key)
    };
    let mut lines: Vec<(String, bool)> = fields.iter().take(MOST_FIELDS).map(line).collect();
    if let Some(more) = fields.len().checked_sub(MOST_FIELDS).filter(|more| *more > 0) {
        lines.push((format!("… {more} more"), false));
    }
    lines
}

fn size(entity: &Entity) -> (f64, f64) {
    let lines = lines(entity);
    let widest = lines.iter().map(|(text, _)| width_of(text)).fold(0.0, f64::max);
    let width = widest.max(width_of(&cut(&entity.name, 40)) + 8.0) + 40.0;
    (width.max(120.0), LINE * (lines.len() as f64 + 1.0) + 22.0)
}

fn draw_entity(picture: &mut Picture, entity: &Entity, place: &Place) {
    let Place { x, y, width, height } = *place;
    picture.rectangle("kl-box", "#ffffff", (x, y), (width, height));
    picture.rectangle("kl-head", "#e6edf5", (x, y), (width, LINE + 8.0));
    picture.text(Look::TITLE, (x + 10.0, y + 17.0), &cut(&entity.name, 40));
    for (number, (text, is_key)) in lines(entity).iter().enumerate() {
        let base = y + LINE * (number as f64 + 2.0) + 8.0;
        if *is_key {
            picture.text(Look::FAINT, (x + 8.0, base), "◆");
        }
        let look = if *is_key { Look::TITLE } else { Look::PLAIN };
        picture.text(look, (x + 24.0, base), text);
    }
}

fn draw_tie(picture: &mut Picture, from: &Place, to: &Place, tie: &Tie) {
    let is_below = to.y > from.y + from.height;
    let (x1, y1) = (from.x + from.width / 2.0, from.y + if is_below { from.height } else { 0.0 });
    let (x2, y2) = (to.x + to.width / 2.0, to.y);
    let bend = if is_below { (y2 - y1) / 2.0 } else { -40.0 };
    let _ = write!(
        picture.body,
        r##"<path class="kl-line" d="M{x1:.1} {y1:.1} C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {y2:.1}" fill="none" stroke="#7b8794"/>"##,
        y1 + bend,
        y2 - if is_below { bend } else { 40.0 },
    );
    for (x, y, is_many) in [(x1, y1, tie.many[0]), (x2, y2, tie.many[1])] {
        let _ = write!(
            picture.body,
            r##"<circle class="kl-end" cx="{x:.1}" cy="{y:.1}" r="{}" fill="{}" stroke="#52606d"/>"##,
            if is_many { 5.0 } else { 3.0 },
            if is_many { "#52606d" } else { "#ffffff" },
        );
    }
    let (x, y) = (f64::midpoint(x1, x2) + 6.0, f64::midpoint(y1, y2) + 4.0);
    picture.text(Look::FAINT, (x, y), &cut(&tie.label, 30));
}
