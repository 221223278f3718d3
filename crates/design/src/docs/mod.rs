//! Documentation of a design: entity chart, access patterns, diagram; as Markdown and as an HTML page.

mod html;
mod markdown;
mod mermaid;
mod svg;

pub use self::html::html;
pub use self::markdown::markdown;
pub use self::mermaid::mermaid;
pub use self::svg::{er_svg, key_map_svg};

use crate::model::{Access, Design, Entity, Operand, Table};

/// An entity's key in one index, as the chart shows it.
pub(crate) struct ChartRow<'a> {
    pub(crate) entity: &'a Entity,
    /// What stands under each key attribute of the table, in order; nothing where it has none.
    pub(crate) cells: Vec<Option<Cell>>,
}

/// A key of an entity.
pub(crate) struct Cell {
    pub(crate) template: String,
    /// The condition under which it is written.
    pub(crate) when: Option<String>,
}

/// The entity chart of a table: a column for every key attribute, a row for every entity.
pub(crate) fn chart<'a>(design: &'a Design, table: &'a Table) -> (Vec<String>, Vec<ChartRow<'a>>) {
    let attributes = table.key_attributes();
    let columns = attributes.iter().map(|attribute| attribute.name.clone()).collect();
    let rows = design
        .entities_in(table)
        .map(|entity| ChartRow {
            entity,
            cells: attributes
                .iter()
                .map(|attribute| {
                    let key = entity.key(&attribute.name)?;
                    Some(Cell {
                        template: key.shape.template().text().to_owned(),
                        when: key.when.as_ref().map(ToString::to_string),
                    })
                })
                .collect(),
        })
        .collect();
    (columns, rows)
}

/// What a pattern asks, in one line.
pub(crate) fn question(access: &Access) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(Some(access.where_text(Operand::describe)).filter(|text| !text.is_empty()));
    if !access.order.is_empty() {
        parts.push(format!("order by {}", access.order_text()));
    }
    if let Some(limit) = access.limit {
        parts.push(format!("limit {limit}"));
    }
    parts.join("; ")
}

/// The names of what a pattern finds.
pub(crate) fn found(access: &Access) -> String {
    let names: Vec<&str> = access.find.iter().map(|entity| entity.name.as_str()).collect();
    match &access.via {
        Some(via) => format!("{} via {}", names.join(", "), via.name),
        None => names.join(", "),
    }
}
