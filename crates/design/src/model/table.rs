//! Tables and their indexes.

use keyloom_core::AttributeType;

use crate::source::Span;

/// A table with its indexes.
#[derive(Clone, Debug)]
pub struct Table {
    /// The table's name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// The table itself first, then the secondary indexes.
    pub indexes: Vec<Index>,
    /// The time-to-live attribute.
    pub ttl: Option<String>,
    /// How capacity is paid.
    pub billing: Billing,
    /// What its stream shows, if it has one.
    pub stream: Option<StreamView>,
    /// The storage class.
    pub class: TableClass,
    /// The attribute that names an item's entity.
    pub type_attribute: Option<String>,
    /// The field that names the tenant an item belongs to.
    pub tenant: Option<String>,
    /// The separator of key templates.
    pub separator: String,
    /// What happens to a separator inside a value.
    pub escape: Escape,
}

/// How capacity is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Billing {
    /// Per request.
    OnDemand,
    /// Per hour of reserved capacity.
    Provisioned,
}

/// What a stream record carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamView {
    /// Keys only.
    KeysOnly,
    /// The item after the change.
    NewImage,
    /// The item before the change.
    OldImage,
    /// Both images of the item.
    NewAndOldImages,
}

/// The storage class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableClass {
    /// Standard.
    Standard,
    /// Cheaper storage, dearer requests.
    InfrequentAccess,
}

/// What happens to a separator that stands inside a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// The write is refused.
    Reject,
    /// It is percent-encoded.
    Percent,
    /// It is encoded so that order is kept.
    Ordered,
    /// Nothing: the value goes into the key as it is, and rule K02 says what breaks.
    None,
}

impl Escape {
    /// As design files write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Percent => "percent",
            Self::Ordered => "order",
            Self::None => "none",
        }
    }
}

/// The table's own keys, or a secondary index.
#[derive(Clone, Debug)]
pub struct Index {
    /// The name; absent for the table itself.
    pub name: Option<String>,
    /// Where it is declared.
    pub span: Span,
    /// The table itself, global or local.
    pub kind: IndexKind,
    /// The partition key attributes: one, or up to four in a global index.
    pub hash: Vec<KeyAttribute>,
    /// The sort key attributes: none, one, or up to four in a global index.
    pub range: Vec<KeyAttribute>,
    /// What it holds.
    pub projection: Projection,
}

/// What kind of index it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// The table itself.
    Primary,
    /// A global secondary index.
    Global,
    /// A local secondary index.
    Local,
}

/// A key attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAttribute {
    /// The attribute's name.
    pub name: String,
    /// The attribute's type.
    pub kind: KeyType,
    /// Where it is declared.
    pub span: Span,
}

/// The type of a key attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// Text.
    S,
    /// Number.
    N,
    /// Binary.
    B,
}

/// What an index copies from the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// Every attribute.
    All,
    /// Key attributes.
    Keys,
    /// Key attributes and these.
    Include(Vec<String>),
}

impl KeyType {
    /// `S`, `N` or `B`.
    pub fn as_str(self) -> &'static str {
        self.attribute_type().as_str()
    }

    /// As core names it.
    pub fn attribute_type(self) -> AttributeType {
        match self {
            Self::S => AttributeType::S,
            Self::N => AttributeType::N,
            Self::B => AttributeType::B,
        }
    }
}

impl Index {
    /// The name shown to people: the index's, or `table`.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or("table")
    }

    /// All key attributes, partition first.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.hash.iter().chain(&self.range)
    }

    /// Whether an attribute is part of the key.
    pub fn has_attribute(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }

    /// Whether it has more than one partition or sort attribute.
    pub fn is_multi_attribute(&self) -> bool {
        self.hash.len() > 1 || self.range.len() > 1
    }
}

impl Table {
    /// The table's own keys.
    pub fn primary(&self) -> &Index {
        // `resolve` makes every table with its primary index first.
        self.indexes.first().unwrap_or(&NO_INDEX)
    }

    /// The secondary indexes.
    pub fn secondary(&self) -> &[Index] {
        self.indexes.get(1..).unwrap_or_default()
    }

    /// The index with this name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.secondary().iter().find(|index| index.name.as_deref() == Some(name))
    }

    /// Every key attribute of the table and its indexes, once each.
    pub fn key_attributes(&self) -> Vec<&KeyAttribute> {
        let mut all: Vec<&KeyAttribute> = Vec::new();
        for attribute in self.indexes.iter().flat_map(Index::attributes) {
            if all.iter().all(|known| known.name != attribute.name) {
                all.push(attribute);
            }
        }
        all
    }

    /// Whether the table has a local index.
    pub fn has_local_index(&self) -> bool {
        self.indexes.iter().any(|index| index.kind == IndexKind::Local)
    }

    /// Whether an attribute is present in an index's entries.
    pub fn projects(&self, index: &Index, attribute: &str) -> bool {
        let key = index.has_attribute(attribute) || self.primary().has_attribute(attribute);
        key || match &index.projection {
            Projection::All => true,
            Projection::Keys => false,
            Projection::Include(names) => names.iter().any(|name| name == attribute),
        }
    }
}

static NO_INDEX: Index = Index {
    name: None,
    span: Span::NONE,
    kind: IndexKind::Primary,
    hash: Vec::new(),
    range: Vec::new(),
    projection: Projection::All,
};
