//! What a generated module says: entities with their fields and keys, patterns, writes.

use std::sync::Arc;

use keyloom_keys::{Case, FieldFormat, FieldType, KeyRole, Precision, Value};

use super::node::{Node, Record};
use super::reads::{PatternOutline, pattern};
use super::writes::{WriteOutline, write};
use crate::cost::Prices;
use crate::evaluate::stated_test;
use crate::key::Piece;
use crate::model::{
    Access, Design, Entity, EntityKey, Field, FieldKind, Index, Operand, Question, Table, Test,
};
use crate::plan::{Plan, Verdict};
use crate::source::Span;

/// A design as a generated module states it.
pub(super) struct Outline<'d> {
    pub(super) design: &'d Design,
    pub(super) tables: Vec<(String, Node)>,
    pub(super) entities: Vec<EntityOutline<'d>>,
    pub(super) patterns: Vec<PatternOutline<'d>>,
    pub(super) writes: Vec<WriteOutline<'d>>,
}

/// An entity as generated code needs it.
pub(super) struct EntityOutline<'d> {
    pub(super) entity: &'d Arc<Entity>,
    pub(super) spec: Node,
    /// The fields that a program sees: all but calculated shards.
    pub(super) fields: Vec<&'d Field>,
    /// The fields that give its primary key.
    pub(super) identity: Vec<String>,
    /// The unique fields, each group with the entity that guards it.
    pub(super) guards: Vec<(Vec<String>, String)>,
    /// Whether its items only guard unique fields of others.
    pub(super) is_guard: bool,
}

/// The patterns for which the code has no function: no index serves them, and the design says by name that this is accepted.
pub fn patterns_left_out<'d>(
    design: &'d Design,
    plans: &'d [Plan],
) -> impl Iterator<Item = &'d Access> {
    let unserved =
        design.accesses().iter().zip(plans).filter(|(_, plan)| plan.verdict == Verdict::Refused);
    unserved.map(|(access, _)| access).filter(|access| is_accepted(design, access))
}

fn is_accepted(design: &Design, access: &Access) -> bool {
    design.allows().iter().any(|allow| allow.subject.as_deref() == Some(access.name.as_str()))
}

impl<'d> Outline<'d> {
    /// The outline, or why there is none.
    pub(super) fn new(
        design: &'d Design,
        plans: &'d [Plan],
        prices: &Prices,
    ) -> Result<Self, Vec<String>> {
        let (served, unserved): (Vec<_>, Vec<_>) = design
            .accesses()
            .iter()
            .zip(plans)
            .partition(|(_, plan)| plan.verdict != Verdict::Refused);
        let refused: Vec<String> = unserved
            .iter()
            .filter(|(access, _)| !is_accepted(design, access))
            .map(|(access, _)| {
                format!(
                    "access pattern `{}`: no index serves it; `keyloom check` says why",
                    access.name
                )
            })
            .collect();
        if !refused.is_empty() {
            return Err(refused);
        }
        let entities: Vec<EntityOutline> =
            design.entities().iter().map(|entity| entity_outline(design, entity)).collect();
        Ok(Self {
            design,
            tables: design.tables().iter().map(|t| (t.name.clone(), table_node(t))).collect(),
            patterns: served.into_iter().map(|(access, plan)| pattern(access, plan)).collect(),
            writes: design.writes().iter().map(|one| write(design, one, prices)).collect(),
            entities,
        })
    }
}

impl Outline<'_> {
    /// Whether fields of an entity are unique.
    pub(super) fn guards_of(&self, entity: &str) -> bool {
        self.entities.iter().any(|one| one.entity.name == entity && !one.guards.is_empty())
    }
}

fn table_node(table: &Table) -> Node {
    let keys = table.key_attributes();
    let keys = keys.iter().map(|key| (key.name.clone(), Node::text(key.kind.as_str()))).collect();
    let indexes = table.secondary().iter();
    let indexes = indexes.map(|index| (index.label().to_owned(), index_node(index))).collect();
    Record::default()
        .with("keys", Node::Record(keys))
        .with("primary", index_node(table.primary()))
        .with("indexes", Node::Record(indexes))
        .with_some("type_attribute", table.type_attribute.as_deref().map(Node::text))
        .with("separator", Node::text(&table.separator))
        .with("escape", Node::text(table.escape.as_str()))
        .node()
}

fn index_node(index: &Index) -> Node {
    let names = |keys: &[crate::model::KeyAttribute]| {
        Node::List(keys.iter().map(|key| Node::text(&key.name)).collect())
    };
    Record::default().with("hash", names(&index.hash)).with("range", names(&index.range)).node()
}

fn entity_outline<'d>(design: &'d Design, entity: &'d Arc<Entity>) -> EntityOutline<'d> {
    let fields = entity.fields.iter().map(|field| (field.name.clone(), field_node(field)));
    let keys = entity.keys.iter().map(|key| (key.attribute.clone(), key_node(entity, key)));
    let spec = Record::default()
        .with("name", Node::text(&entity.name))
        .with("table", Node::text(&entity.table.name))
        .with("fields", Node::Record(fields.collect()))
        .with("keys", Node::Record(keys.collect()))
        .node();
    let rules = design.uniques().iter();
    let own = rules.clone().filter(|rule| rule.entity.name == entity.name);
    EntityOutline {
        entity,
        spec,
        fields: entity.fields.iter().filter(|field| !is_calculated(field)).collect(),
        identity: key_sources(entity),
        guards: own
            .filter_map(|rule| Some((rule.fields.clone(), rule.by.as_ref()?.name.clone())))
            .collect(),
        is_guard: rules.filter_map(|rule| rule.by.as_ref()).any(|by| by.name == entity.name),
    }
}

/// Whether a field follows from others.
pub(super) fn is_calculated(field: &Field) -> bool {
    matches!(&field.kind, FieldKind::Shard(shards) if !shards.by.is_empty())
}

/// The fields that give the primary key: those of its templates, and what shards in it are calculated from.
pub(super) fn key_sources(entity: &Entity) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in entity.identity() {
        let sources = match entity.field(name).map(|field| &field.kind) {
            Some(FieldKind::Shard(shards)) if !shards.by.is_empty() => shards.by.clone(),
            _ => vec![name.to_owned()],
        };
        for source in sources {
            if !names.contains(&source) {
                names.push(source);
            }
        }
    }
    names
}

fn field_node(field: &Field) -> Node {
    let mut members = match &field.kind {
        FieldKind::Scalar(format) => format_members(format),
        other => Record::default().with("kind", Node::text(kind_name(other))).members(),
    };
    if let FieldKind::Shard(shards) = &field.kind {
        members.push(("shards".to_owned(), Node::Number(i64::from(shards.count))));
        if !shards.by.is_empty() {
            members.push(("by".to_owned(), Node::texts(shards.by.iter().map(String::as_str))));
        }
    }
    for (name, flag) in [("optional", field.optional), ("key_only", field.key_only)] {
        members.extend(flag.then(|| (name.to_owned(), Node::Flag(true))));
    }
    Node::Record(members)
}

fn kind_name(kind: &FieldKind) -> &'static str {
    match kind {
        FieldKind::Scalar(format) => format_name(format),
        FieldKind::LooseTime => "loose",
        FieldKind::Shard(_) => "shard",
        FieldKind::Number => "number",
        FieldKind::Binary => "binary",
        FieldKind::List => "list",
        FieldKind::Map => "map",
        FieldKind::TextSet => "string_set",
        FieldKind::NumberSet => "number_set",
    }
}

fn format_name(format: &FieldFormat) -> &'static str {
    match format.kind() {
        FieldType::Token => "token",
        FieldType::Fixed => "fixed",
        FieldType::U8 => "u8",
        FieldType::U16 => "u16",
        FieldType::U32 => "u32",
        FieldType::U64 => "u64",
        FieldType::I64 => "i64",
        FieldType::Decimal { .. } => "decimal",
        FieldType::DateTime => "datetime",
        FieldType::DateTimeMs => "datetime_ms",
        FieldType::EpochMs => "epoch_ms",
        FieldType::Uuid => "uuid",
        FieldType::Ulid => "ulid",
        FieldType::Bool => "bool",
        FieldType::Enum(_) => "enum",
        FieldType::Hex => "hex",
        _ => format.precision().map_or("string", precision_name),
    }
}

/// The format that has this precision.
pub(super) fn precision_name(precision: Precision) -> &'static str {
    match precision {
        Precision::Year => "year",
        Precision::Month => "month",
        Precision::Day => "date",
        Precision::Hour => "hour",
        Precision::Minute | Precision::Second => "datetime",
        Precision::Millisecond => "datetime_ms",
    }
}

/// A format, member by member.
fn format_members(format: &FieldFormat) -> Vec<(String, Node)> {
    let number = |number: usize| Node::Number(i64::try_from(number).unwrap_or(i64::MAX));
    let mut record = Record::default().with("kind", Node::text(format_name(format)));
    record = record.with_some("width", format.width().map(number));
    if let FieldType::Decimal { scale } = format.kind() {
        record = record.with("scale", Node::Number(i64::from(*scale)));
    }
    record = record.with_some("max", format.max_bytes().map(number));
    if let FieldType::Enum(values) = format.kind() {
        record = record.with("values", Node::texts(values.iter().map(String::as_str)));
    }
    let fold = match format.case() {
        Case::AsIs => None,
        Case::Lower => Some(Node::text("lower")),
        Case::Upper => Some(Node::text("upper")),
    };
    record
        .with_flag("plain", format.is_plain())
        .with_flag("desc", format.is_desc())
        .with_some("fold", fold)
        .with_flag("compact", format.is_compact())
        .members()
}

/// A format as keys use it.
pub(super) fn format_node(format: &FieldFormat) -> Node {
    Node::Record(format_members(format))
}

fn key_node(entity: &Entity, key: &EntityKey) -> Node {
    let template = key.shape.template();
    let mut record = Record::default();
    if key.shape.is_native() {
        record = record.with("native", Node::Flag(true));
    } else {
        record = record.with("template", Node::text(template_text(template.pieces())));
        let own = |name: &str| entity.field(name).and_then(Field::format);
        let formats = template
            .field_pieces()
            .filter(|piece| own(piece.name()).as_ref() != Some(piece.format()))
            .map(|piece| (piece.name().to_owned(), format_node(piece.format())));
        let formats: Vec<(String, Node)> = formats.collect();
        record =
            record.with_some("formats", (!formats.is_empty()).then_some(Node::Record(formats)));
    }
    let terms = key.when.iter().flat_map(|when| &when.terms);
    let when = terms.filter_map(|term| {
        let field = entity.field(&term.name)?;
        let test = stated_test(field, &term.test)?;
        Some(question_node(&Question { field: term.name.clone(), test, span: Span::NONE }))
    });
    let is_sort = template.template().role() == KeyRole::Sort;
    let limit = KeyRole::Sort.limit();
    record
        .with_list("when", when.collect())
        .with_some("max", is_sort.then(|| Node::Number(i64::try_from(limit).unwrap_or(i64::MAX))))
        .node()
}

/// Pieces as the text of a template that names fields without their formats.
pub(super) fn template_text(pieces: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Literal(text) => text.replace('{', "{{").replace('}', "}}"),
        Piece::Field(field) => format!("{{{}}}", field.name()),
    };
    pieces.iter().map(piece).collect()
}

/// A condition on a field.
pub(super) fn question_node(question: &Question) -> Node {
    let record = Record::default().with("field", Node::text(&question.field));
    let one = |word: &str, operand: &Operand| {
        record
            .clone()
            .with("test", Node::text(word))
            .with("values", Node::List(vec![operand_node(operand)]))
            .node()
    };
    match &question.test {
        Test::Equal(operand) => one("=", operand),
        Test::NotEqual(operand) => one("<>", operand),
        Test::BeginsWith(operand) => one("begins_with", operand),
        Test::Contains(operand) => one("contains", operand),
        Test::Lacks(operand) => one("lacks", operand),
        Test::Exists => record.with("test", Node::text("exists")).node(),
        Test::Missing => record.with("test", Node::text("missing")).node(),
        Test::In(operands) => record
            .with("test", Node::text("in"))
            .with("values", Node::List(operands.iter().map(operand_node).collect()))
            .node(),
        Test::Range { low, high } => {
            let end = |end: &crate::model::End| operand_node(&end.operand);
            let low_word = low.as_ref().map(|end| if end.inclusive { "from" } else { "after" });
            let high_word = high.as_ref().map(|end| if end.inclusive { "to" } else { "before" });
            record
                .with("test", Node::text("range"))
                .with_some(low_word.unwrap_or("from"), low.as_ref().map(end))
                .with_some(high_word.unwrap_or("to"), high.as_ref().map(end))
                .node()
        }
    }
}

/// What a field is compared with. Numbers beyond 64 bits and decimals are texts, which every runtime takes.
pub(super) fn operand_node(operand: &Operand) -> Node {
    match operand {
        Operand::Input(name) => Node::Input(name.clone()),
        Operand::Value(Value::Bool(flag)) => Node::Flag(*flag),
        Operand::Value(Value::Int(number)) => match i64::try_from(*number) {
            Ok(number) if number.unsigned_abs() < 1 << 53 => Node::Number(number),
            _ => Node::text(number.to_string()),
        },
        Operand::Value(value) => Node::text(value.to_string()),
    }
}
