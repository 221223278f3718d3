//! The functions that expressions may call.

/// A function of the expression language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Contains,
    Size,
    IfNotExists,
    ListAppend,
}

impl Function {
    const ALL: [Self; 8] = [
        Self::AttributeExists,
        Self::AttributeNotExists,
        Self::AttributeType,
        Self::BeginsWith,
        Self::Contains,
        Self::Size,
        Self::IfNotExists,
        Self::ListAppend,
    ];

    /// The function of this name, which is case-sensitive.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AttributeExists => "attribute_exists",
            Self::AttributeNotExists => "attribute_not_exists",
            Self::AttributeType => "attribute_type",
            Self::BeginsWith => "begins_with",
            Self::Contains => "contains",
            Self::Size => "size",
            Self::IfNotExists => "if_not_exists",
            Self::ListAppend => "list_append",
        }
    }

    /// The number of operands.
    pub(crate) fn operand_count(self) -> usize {
        match self {
            Self::AttributeExists | Self::AttributeNotExists | Self::Size => 1,
            _ => 2,
        }
    }

    /// Whether it is for updates; the others are for conditions.
    pub(crate) fn is_for_updates(self) -> bool {
        matches!(self, Self::IfNotExists | Self::ListAppend)
    }
}
