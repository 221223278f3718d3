//! A design as parts that can be left out, so that what is found can be made small.

use std::fmt::Write as _;

/// A whole design.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spec {
    pub(crate) tables: Vec<TableSpec>,
    pub(crate) entities: Vec<EntitySpec>,
    pub(crate) patterns: Vec<PatternSpec>,
    /// Writes and relationships: a name, and the whole section.
    pub(crate) others: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct TableSpec {
    pub(crate) name: String,
    pub(crate) partition: String,
    pub(crate) sort: Option<String>,
    /// Lines such as `escape = "none"`.
    pub(crate) settings: Vec<String>,
    pub(crate) indexes: Vec<IndexSpec>,
}

#[derive(Clone, Debug)]
pub(crate) struct IndexSpec {
    pub(crate) name: String,
    pub(crate) partition: Vec<String>,
    pub(crate) sort: Vec<String>,
    pub(crate) local: bool,
    pub(crate) projection: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct EntitySpec {
    pub(crate) name: String,
    pub(crate) table: String,
    /// Attribute, template, `when`.
    pub(crate) keys: Vec<(String, String, Option<String>)>,
    /// Name and type, as TOML.
    pub(crate) fields: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct PatternSpec {
    pub(crate) name: String,
    pub(crate) find: Vec<String>,
    pub(crate) terms: Vec<String>,
    pub(crate) order: Vec<String>,
    /// Other settings, each a line such as `limit = 3`.
    pub(crate) settings: Vec<String>,
}

impl Spec {
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.tables.iter().for_each(|table| table.write(&mut text));
        self.entities.iter().for_each(|entity| entity.write(&mut text));
        self.patterns.iter().for_each(|pattern| pattern.write(&mut text));
        self.others.iter().for_each(|(_, section)| text.push_str(section));
        text
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match names.as_slice() {
        [one] => one.clone(),
        _ => format!("[{}]", names.join(", ")),
    }
}

impl TableSpec {
    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "[table.{}]\npartition_key = {:?}", self.name, self.partition);
        if let Some(sort) = &self.sort {
            let _ = writeln!(text, "sort_key = {sort:?}");
        }
        for line in &self.settings {
            let _ = writeln!(text, "{line}");
        }
        for index in &self.indexes {
            let _ = writeln!(text, "\n[table.{}.index.{}]", self.name, index.name);
            if index.local {
                text.push_str("local = true\n");
            } else {
                let _ = writeln!(text, "partition_key = {}", quoted(&index.partition));
            }
            if !index.sort.is_empty() {
                let _ = writeln!(text, "sort_key = {}", quoted(&index.sort));
            }
            if let Some(projection) = &index.projection {
                let _ = writeln!(text, "projection = {projection}");
            }
        }
        text.push('\n');
    }
}

impl EntitySpec {
    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "[entity.{}]\ntable = {:?}", self.name, self.table);
        for (attribute, template, when) in &self.keys {
            let _ = match when {
                None => writeln!(text, "{attribute} = {template:?}"),
                Some(when) => {
                    writeln!(text, "{attribute} = {{ template = {template:?}, when = {when:?} }}")
                }
            };
        }
        let _ = writeln!(text, "\n[entity.{}.fields]", self.name);
        for (name, kind) in &self.fields {
            let _ = writeln!(text, "{name} = {kind}");
        }
        text.push('\n');
    }
}

impl PatternSpec {
    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "[access.{:?}]\nfind = {}", self.name, quoted(&self.find));
        if !self.terms.is_empty() {
            let _ = writeln!(text, "where = {:?}", self.terms.join(" and "));
        }
        if !self.order.is_empty() {
            let _ = writeln!(text, "order = {:?}", self.order.join(", "));
        }
        for line in &self.settings {
            let _ = writeln!(text, "{line}");
        }
        text.push('\n');
    }
}
