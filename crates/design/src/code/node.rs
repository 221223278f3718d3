//! Data of generated modules, before a language writes it.

/// A literal, or what stands for one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    Number(i64),
    Flag(bool),
    List(Vec<Node>),
    Record(Vec<(String, Node)>),
    /// What the caller gives under this name.
    Input(String),
    /// The entity with this name.
    Entity(String),
    /// An expression of the language.
    Code(String),
}

impl Node {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    /// Whether it has nothing inside that may take lines of its own.
    pub(super) fn is_leaf(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Record(_))
    }
}

/// A record that is made member by member.
#[derive(Clone, Debug, Default)]
pub(super) struct Record(Vec<(String, Node)>);

impl Record {
    pub(super) fn with(mut self, name: &str, node: Node) -> Self {
        self.0.push((name.to_owned(), node));
        self
    }

    pub(super) fn with_some(self, name: &str, node: Option<Node>) -> Self {
        match node {
            Some(node) => self.with(name, node),
            None => self,
        }
    }

    /// A member that is left out where it is false.
    pub(super) fn with_flag(self, name: &str, flag: bool) -> Self {
        self.with_some(name, flag.then_some(Node::Flag(true)))
    }

    /// A member that is left out where it has no elements.
    pub(super) fn with_list(self, name: &str, list: Vec<Node>) -> Self {
        self.with_some(name, (!list.is_empty()).then_some(Node::List(list)))
    }

    pub(super) fn node(self) -> Node {
        Node::Record(self.0)
    }

    pub(super) fn members(self) -> Vec<(String, Node)> {
        self.0
    }
}
