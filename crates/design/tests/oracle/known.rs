//! Contradictions that are known and not yet put right. Each has a design and rows in `tests/contradictions/`
//! that show it, and fails the tests as soon as it no longer does: then it must be taken off this list.

use keyloom_design::model::{Access, Entity, Field, FieldKind, Test};
use keyloom_design::plan::Plan;

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

/// All that is known.
pub(crate) const KNOWN: &[Known] = &[
    Known {
        name: "handwritten-key-beside-a-condition",
        why: "a hand-written key is called pure although another condition of `where` is not tested",
        claims: &["rows", "purity", "limit", "order"],
        says: "",
        fits: |access, _| access.raw.is_some(),
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
        name: "period-among-values",
        why: "a month among the values of `in` is read as the moment that its key would have",
        claims: &["rows", "purity", "limit"],
        says: "",
        fits: |access, _| {
            asks(access, |test, field| matches!(test, Test::In(_)) && field.is_time())
        },
    },
    Known {
        name: "link-of-another-type",
        why: "a link to a field of another type leads to rows of the linking entity itself",
        claims: &["rows", "purity", "limit", "order"],
        says: "",
        fits: |access, _| {
            let differs = |one: &Field| {
                let mut others = access.find.iter().filter_map(|entity| entity.field(&one.name));
                others.any(|other| other.kind != one.kind)
            };
            access.via.iter().any(|link| link.fields.iter().any(differs))
        },
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
