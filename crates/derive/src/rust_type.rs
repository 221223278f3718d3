//! What a Rust type is in a design.

use keyloom_keys::{FieldFormat, FieldType};
use syn::{GenericArgument, PathArguments, Type};

/// The kind of a field's Rust type, judged by its name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Unsigned(&'static str),
    Signed,
    Number,
    Bool,
    Time,
    Ulid,
    Uuid,
    Decimal,
    Binary,
    List,
    /// A set of texts, and of anything else that sets can hold.
    TextSet,
    NumberSet,
    Map,
    /// A type of the user's own.
    Own,
}

/// The kind of a type, and whether it is an `Option`.
pub(crate) fn kind_of(ty: &Type) -> (Kind, bool) {
    if let Some(inner) = option_of(ty) {
        return (kind_of(inner).0, true);
    }
    let kind = match ty {
        Type::Reference(reference) => return kind_of(&reference.elem),
        Type::Path(path) => match path.path.segments.last().map(|last| last.ident.to_string()) {
            Some(name) if name == "Set" => set_of(path),
            Some(name) => named(&name),
            None => Kind::Own,
        },
        Type::Array(_) | Type::Tuple(_) | Type::Slice(_) => Kind::List,
        _ => Kind::Own,
    };
    (kind, false)
}

/// What a `Set` holds.
fn set_of(path: &syn::TypePath) -> Kind {
    let arguments = path.path.segments.last().map(|last| &last.arguments);
    let Some(PathArguments::AngleBracketed(arguments)) = arguments else { return Kind::Own };
    match arguments.args.first() {
        Some(GenericArgument::Type(member)) => match kind_of(member).0 {
            Kind::Unsigned(_) | Kind::Signed | Kind::Number => Kind::NumberSet,
            Kind::Text => Kind::TextSet,
            _ => Kind::List,
        },
        _ => Kind::Own,
    }
}

/// The type inside an `Option`.
pub(crate) fn option_of(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) => Some(inner),
        _ => None,
    }
}

fn named(name: &str) -> Kind {
    match name {
        "String" | "str" | "Cow" | "char" => Kind::Text,
        "u8" => Kind::Unsigned("u8"),
        "u16" => Kind::Unsigned("u16"),
        "u32" => Kind::Unsigned("u32"),
        "u64" => Kind::Unsigned("u64"),
        "i8" | "i16" | "i32" | "i64" => Kind::Signed,
        "f32" | "f64" | "i128" | "u128" | "usize" | "isize" => Kind::Number,
        "bool" => Kind::Bool,
        "Timestamp" => Kind::Time,
        "Ulid" => Kind::Ulid,
        "Uuid" => Kind::Uuid,
        "Decimal" => Kind::Decimal,
        "Binary" => Kind::Binary,
        "Vec" | "VecDeque" | "HashSet" | "BTreeSet" => Kind::List,
        "HashMap" | "BTreeMap" => Kind::Map,
        _ => Kind::Own,
    }
}

impl Kind {
    /// The type in a design file; none if only the user knows.
    pub(crate) fn design_type(self) -> Option<&'static str> {
        Some(match self {
            Self::Text => "string",
            Self::Unsigned(name) => name,
            Self::Signed => "i64",
            Self::Number => "number",
            Self::Bool => "bool",
            Self::Time => "datetime",
            Self::Ulid => "ulid",
            Self::Uuid => "uuid",
            Self::Decimal => "decimal",
            Self::Binary => "binary",
            Self::List => "list",
            Self::TextSet => "string_set",
            Self::NumberSet => "number_set",
            Self::Map => "map",
            Self::Own => return None,
        })
    }

    pub(crate) fn is_whole_number(self) -> bool {
        matches!(self, Self::Unsigned(_) | Self::Signed)
    }

    /// Whether no key can hold it.
    pub(crate) fn is_never_in_keys(self) -> bool {
        use Kind::{Binary, List, Map, Number, NumberSet, TextSet};
        matches!(self, Number | List | TextSet | NumberSet | Map | Binary)
    }

    /// Whether values of the Rust type can be written in a format. Texts are checked when they are written.
    pub(crate) fn fits(self, format: &FieldFormat) -> bool {
        let whole = matches!(
            format.kind(),
            FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 | FieldType::I64
        );
        match self {
            Self::Text | Self::Own => true,
            Self::Unsigned(_) | Self::Signed => whole,
            Self::Time => format.precision().is_some(),
            Self::Ulid => *format.kind() == FieldType::Ulid,
            Self::Uuid => *format.kind() == FieldType::Uuid,
            Self::Bool => *format.kind() == FieldType::Bool,
            Self::Decimal => matches!(format.kind(), FieldType::Decimal { .. }),
            Self::Number
            | Self::Binary
            | Self::List
            | Self::TextSet
            | Self::NumberSet
            | Self::Map => false,
        }
    }

    /// What values of a type in a design are stored as, if that is not what Rust texts are stored as: no filter would find
    /// them. A number that is a text in Rust can still be written in a key as a number.
    pub(crate) fn stored_unlike_text(design_type: &str) -> Option<&'static str> {
        let name = design_type.split(':').next().unwrap_or(design_type);
        Some(match name {
            "u8" | "u16" | "u32" | "u64" | "i64" | "decimal" | "epoch_ms" | "number" | "shard" => {
                "a number"
            }
            "bool" => "a Boolean",
            "binary" => "bytes",
            "list" => "a list",
            "map" => "a map",
            "string_set" | "number_set" => "a set",
            _ => return None,
        })
    }

    /// Whether an input of this kind can be compared with a field of the other.
    pub(crate) fn compares_with(self, field: Kind) -> bool {
        self == field
            || matches!(self, Self::Text | Self::Own)
            || field == Self::Own
            || (self.is_whole_number() && (field.is_whole_number() || field == Self::Number))
            || (self == Self::Time && field == Self::Text)
    }
}
