//! What tells one migration from another: the two designs, as far as stored items depend on them.
//!
//! A design file and the Rust module that says the same have one identity, so that a program finds the migration that the
//! command runs.

use keyloom_keys::stable_hash;

use crate::model::{Design, Entity};

/// The name of the migration between two designs.
pub(super) fn of(old: &Design, new: &Design) -> String {
    let (old, new) = (text(old), text(new));
    format!("{:016x}", stable_hash(&[&old, &new]))
}

/// Tables, keys and fields of a design, in an order that does not depend on the file.
fn text(design: &Design) -> String {
    let mut lines: Vec<String> = Vec::new();
    for table in design.tables() {
        let indexes = table.indexes.iter().map(|index| {
            let names = |keys: &[crate::model::KeyAttribute]| -> Vec<String> {
                keys.iter().map(|key| key.name.clone()).collect()
            };
            format!("{} {:?} {:?}", index.label(), names(&index.hash), names(&index.range))
        });
        let indexes: Vec<String> = indexes.collect();
        lines.push(format!("table {} {indexes:?} {:?}", table.name, table.type_attribute));
    }
    lines.extend(design.entities().iter().map(|entity| self::entity(entity)));
    lines.sort_unstable();
    lines.join("\n")
}

fn entity(entity: &Entity) -> String {
    let key = |key: &crate::model::EntityKey| {
        let when = key.when.as_ref().map(ToString::to_string);
        let template = key.shape.template();
        format!("{}={} {:?} {when:?}", key.attribute, template.text(), template.escape())
    };
    let mut keys: Vec<String> = entity.keys.iter().map(key).collect();
    let field = |field: &crate::model::Field| {
        format!("{}:{} {:?}", field.name, field.type_name(), field.was)
    };
    let mut fields: Vec<String> = entity.fields.iter().map(field).collect();
    keys.sort_unstable();
    fields.sort_unstable();
    format!("entity {} {} {:?} {keys:?} {fields:?}", entity.name, entity.table.name, entity.was)
}
