//! Contradictions that are known and not yet put right. Each has a design and rows in `tests/contradictions/`
//! that show it, and fails the tests as soon as it no longer does: then it must be taken off this list.

use keyloom_design::model::{Access, Entity, Field, FieldKind, Test};
use keyloom_design::plan::{Fan, Plan};
use keyloom_keys::{Case, FieldType};

use crate::trial::Broken;

/// One known contradiction.
pub(crate) struct Known {
    /// The name of its files.
    pub(crate) name: &'static str,
    /// What is wrong.
    pub(crate) why: &'static str,
    /// The claims that break.
    pub(crate) claims: &'static [&'static str],
    /// What the engine says to it.
    pub(crate) says: &'static str,
    /// Whether a pattern is of this kind.
    pub(crate) fits: fn(&Access, &Plan) -> bool,
}

const ROWS: &[&str] = &["rows", "purity", "limit"];

/// All that is known.
pub(crate) const KNOWN: &[Known] = &[
    Known {
        name: "handwritten-key-that-does-not-ask-the-question",
        why: "a hand-written key is called proven although it does not answer `where`",
        claims: &["rows", "purity", "limit", "order"],
        says: "",
        fits: |access, _| access.raw.is_some(),
    },
    Known {
        name: "contains-on-a-set",
        why: "`contains` of a set or list looks for an element; the filter is sent something else",
        claims: ROWS,
        says: "",
        fits: |access, _| asks(access, |test, field| contains(test) && is_collection(field)),
    },
    Known {
        name: "range-on-a-bool",
        why: "DynamoDB refuses to compare a BOOL by order",
        claims: &["request"],
        says: "operand type: BOOL",
        fits: |access, _| asks(access, |test, field| is_range(test) && is_bool(field)),
    },
    Known {
        name: "field-inside-a-projected-key",
        why: "a field that is only inside a key of the index is no attribute of the response",
        claims: &["coverage"],
        says: "",
        fits: |_, plan| plan.reads.iter().any(|read| read.index != 0),
    },
    Known {
        name: "unknown-number-of-buckets",
        why: "a range of unknown length is counted as twelve periods",
        claims: &["requests"],
        says: "",
        fits: |_, plan| {
            let mut fans = plan.reads.iter().flat_map(|read| &read.fans);
            fans.any(|fan| matches!(fan, Fan::Buckets { .. }))
        },
    },
    Known {
        name: "filter-on-a-field-kept-in-keys",
        why: "a field that is kept only in keys is no attribute that a filter could test",
        claims: ROWS,
        says: "",
        fits: |access, plan| {
            let mut filters = plan.reads.iter().flat_map(|read| &read.filter);
            filters.any(|question| {
                entities(access)
                    .any(|e| e.field(&question.field).is_some_and(|field| field.key_only))
            })
        },
    },
    Known {
        name: "loose-times-compared-as-text",
        why: "`datetime:loose` is compared as it is written, not as the moment it means",
        claims: &["rows", "purity", "limit", "order"],
        says: "",
        fits: |access, _| {
            let loose = |field: &Field| field.kind == FieldKind::LooseTime;
            asks(access, |_, field| loose(field))
                || access
                    .order
                    .iter()
                    .any(|by| entities(access).any(|e| e.field(&by.field).is_some_and(loose)))
        },
    },
    Known {
        name: "two-values-in-one-bucket",
        why: "two moments of one day, asked for with `in`, read that day's partition twice",
        claims: &["purity"],
        says: "comes more often than it is asked for",
        fits: |access, _| {
            asks(access, |test, field| matches!(test, Test::In(_)) && field.is_time())
        },
    },
    Known {
        name: "period-in-a-filter",
        why: "`<>` and `in` with a day or month compare its text with a moment's",
        claims: ROWS,
        says: "",
        fits: |access, _| {
            asks(access, |test, field| {
                matches!(test, Test::In(_) | Test::NotEqual(_)) && field.is_time()
            })
        },
    },
    Known {
        name: "folded-key",
        why: "a key that folds case meets rows whose values differ by case",
        claims: &["rows", "purity", "limit", "order"],
        says: "",
        fits: |access, _| {
            let keys = || entities(access).flat_map(|entity| &entity.keys);
            keys().any(|key| {
                let mut pieces = key.shape.template().field_pieces();
                pieces.any(|piece| piece.format.case() != Case::AsIs)
            })
        },
    },
    Known {
        name: "empty-text-as-a-native-key",
        why: "an empty text is sent as the value of a key, which DynamoDB refuses",
        claims: &["request"],
        says: "cannot contain an empty string value",
        fits: |access, _| {
            let mut keys = entities(access).flat_map(|entity| &entity.keys);
            keys.any(|key| key.shape.is_native())
        },
    },
    Known {
        name: "range-turned-round",
        why: "DynamoDB refuses a BETWEEN whose ends are the wrong way round, in filters and native keys",
        claims: &["request"],
        says: "The BETWEEN operator requires upper bound",
        fits: |access, _| {
            asks(access, |test, _| matches!(test, Test::Range { low: Some(_), high: Some(_) }))
        },
    },
    Known {
        name: "descending-field-as-a-native-key",
        why: "a native key holds the field as it is, and the range is turned round as in a template",
        claims: &["rows", "purity", "limit", "order"],
        says: "",
        fits: |access, _| {
            let mut keys = entities(access).flat_map(|entity| &entity.keys);
            keys.any(|key| {
                let mut pieces = key.shape.template().field_pieces();
                key.shape.is_native() && pieces.any(|piece| piece.format.is_desc())
            })
        },
    },
    Known {
        name: "one-name-two-types",
        why: "a field has different types in two entities, and their keys or filters are taken for the same",
        claims: &["rows", "purity", "limit", "order"],
        says: "",
        fits: |access, _| {
            let used = |name: &str| {
                let asked = access.terms.iter().any(|term| term.field == name);
                let ordered = access.order.iter().any(|by| by.field == name);
                let mut keys = entities(access).flat_map(|entity| &entity.keys);
                asked || ordered || keys.any(|key| key.shape.template().fields().any(|f| f == name))
            };
            entities(access).any(|one| {
                let twin = |field: &Field| {
                    entities(access).any(|other| {
                        other.field(&field.name).is_some_and(|twin| twin.kind != field.kind)
                    })
                };
                one.fields.iter().any(|field| used(&field.name) && twin(field))
            })
        },
    },
    Known {
        name: "second-step-through-a-narrow-index",
        why: "the second step reads an index that does not hold every field, and is called covering",
        claims: &["coverage"],
        says: "",
        fits: |_, plan| plan.hydrate.as_ref().is_some_and(|step| step.index.is_some()),
    },
];

/// The known contradiction that a broken claim is an instance of.
pub(crate) fn known(access: &Access, plan: &Plan, broken: &Broken) -> Option<&'static Known> {
    KNOWN.iter().find(|known| {
        let alike = known.claims.contains(&broken.claim) && broken.why.contains(known.says);
        alike && (known.fits)(access, plan)
    })
}

fn entities(access: &Access) -> impl Iterator<Item = &Entity> {
    access.via.iter().chain(&access.find).map(AsRef::as_ref)
}

/// Whether some condition on some field is such.
fn asks(access: &Access, such: impl Fn(&Test, &Field) -> bool) -> bool {
    access.terms.iter().any(|term| {
        entities(access).any(|e| e.field(&term.field).is_some_and(|field| such(&term.test, field)))
    })
}

fn contains(test: &Test) -> bool {
    matches!(test, Test::Contains(_) | Test::Lacks(_))
}

fn is_range(test: &Test) -> bool {
    matches!(test, Test::Range { .. })
}

fn is_collection(field: &Field) -> bool {
    matches!(field.kind, FieldKind::List | FieldKind::TextSet | FieldKind::NumberSet)
}

fn is_bool(field: &Field) -> bool {
    matches!(&field.kind, FieldKind::Scalar(format) if *format.kind() == FieldType::Bool)
}
