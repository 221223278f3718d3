//! What a design module declares, as it is read.

use proc_macro2::Span;
use syn::{Ident, Type, Visibility};

use crate::arg::{Text, Value};
use crate::rust_type::Kind;

/// A table of the attribute.
pub(crate) struct Table {
    pub(crate) name: Text,
    pub(crate) partition: Vec<Text>,
    pub(crate) sort: Vec<Text>,
    pub(crate) indexes: Vec<Index>,
    pub(crate) options: Vec<(Text, Value)>,
}

pub(crate) struct Index {
    pub(crate) name: Text,
    pub(crate) partition: Vec<Text>,
    pub(crate) sort: Vec<Text>,
    pub(crate) options: Vec<(Text, Value)>,
}

pub(crate) struct Entity {
    pub(crate) name: Ident,
    pub(crate) visibility: Visibility,
    pub(crate) span: Span,
    pub(crate) description: String,
    pub(crate) derives: Vec<String>,
    pub(crate) table: Option<Text>,
    pub(crate) keys: Vec<(Text, Text)>,
    /// Conditions under which key attributes are written.
    pub(crate) whens: Vec<(Text, Text)>,
    pub(crate) options: Vec<(Text, Value)>,
    pub(crate) fields: Vec<Field>,
    pub(crate) shards: Vec<Shard>,
    pub(crate) uniques: Vec<Unique>,
    pub(crate) counters: Vec<Counter>,
    /// The entities of an earlier design that it was: paths of their structs.
    pub(crate) was: Vec<Text>,
}

pub(crate) struct Field {
    /// Its name in Rust.
    pub(crate) name: Ident,
    /// Its name in the design and in the table: the same, or what `#[serde(rename)]` says.
    pub(crate) attribute: String,
    pub(crate) ty: Type,
    pub(crate) kind: Kind,
    pub(crate) optional: bool,
    pub(crate) version: bool,
    pub(crate) ttl: bool,
    /// Whether it is a time in Rust and seconds since 1970 in the table.
    pub(crate) seconds: bool,
    /// Whether it is counted in shards.
    pub(crate) counter: bool,
    /// Earlier numbers of shards, if it is one.
    pub(crate) earlier: Vec<Text>,
    /// The type given in the attribute.
    pub(crate) stated: Option<Text>,
    pub(crate) options: Vec<(Text, Value)>,
}

impl Field {
    /// Whether it never changes once it is written.
    pub(crate) fn is_immutable(&self) -> bool {
        let set = |(name, value): &(Text, Value)| {
            name.value == "immutable" && matches!(value, Value::Bool(true, _))
        };
        self.options.iter().any(set)
    }

    /// Whether every item has it and it never changes, so that there is nothing to set.
    pub(crate) fn is_fixed(&self) -> bool {
        self.is_immutable() && !self.optional
    }
}

/// A calculated shard: part of keys, not a field of the struct.
pub(crate) struct Shard {
    pub(crate) name: Text,
    pub(crate) options: Vec<(Text, Value)>,
    pub(crate) by: Vec<Text>,
    /// Earlier numbers of shards, under which items may still be found.
    pub(crate) earlier: Vec<Text>,
}

pub(crate) struct Unique {
    pub(crate) span: Span,
    pub(crate) fields: Vec<Text>,
    pub(crate) keys: Vec<(Text, Text)>,
}

pub(crate) struct Counter {
    pub(crate) entity: Text,
    pub(crate) field: String,
}

pub(crate) struct Access {
    pub(crate) name: Ident,
    pub(crate) visibility: Visibility,
    pub(crate) generics: syn::Generics,
    pub(crate) span: Span,
    pub(crate) title: Text,
    pub(crate) description: String,
    pub(crate) find: Vec<Text>,
    pub(crate) condition: Option<Text>,
    pub(crate) options: Vec<(Text, Value)>,
    pub(crate) inputs: Vec<(Ident, Kind)>,
    /// Whether a relationship of the design states it.
    pub(crate) implied: bool,
    /// The pattern of an earlier design that asks the same: the path of its struct.
    pub(crate) was: Option<Text>,
}

/// A section that stands for itself: a write, a relationship or a uniqueness rule.
pub(crate) struct Section {
    pub(crate) name: Text,
    pub(crate) members: Vec<(Text, Value)>,
}

/// Everything that a design module declares.
pub(crate) struct Module {
    pub(crate) design: Ident,
    /// What the `[design]` section says: a title, a description.
    pub(crate) about: Vec<(&'static str, Text)>,
    pub(crate) tables: Vec<Table>,
    /// Findings that are accepted: the members of an `[[allow]]` section each.
    pub(crate) allows: Vec<Vec<(Text, Value)>>,
    /// Writes, relationships and uniqueness rules, each with the word of its section.
    pub(crate) sections: Vec<(&'static str, Section)>,
    pub(crate) entities: Vec<Entity>,
    pub(crate) accesses: Vec<Access>,
}
