//! P06, P12: what lies and what happens under one partition key value, summed over everything that meets it.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use keyloom_core::limits::MAX_ITEM_COLLECTION_BYTES;
use keyloom_keys::Language;

use super::load::{Load, hottest_share, load_of_writes, second_step_load};
use super::{Context, Findings, LintResult, index_subject, short_bytes};
use crate::cost::{entry_size, item_size, items_under};
use crate::diagnostic::Severity;
use crate::key::Piece;
use crate::model::{Entity, EntityKey, Index, IndexKey, IndexKind, Table};
use crate::plan::Plan;

/// With more different partition keys than this in one index, each is looked at alone.
const MOST_COMPARED: usize = 100;

/// And so if comparing them takes more than so many pairs of states, which is a fraction of a second.
const MOST_STATES: usize = 200_000;

/// Entities whose partition keys in one index can have the same value, so that their items lie under it together.
struct Group<'a> {
    table: &'a Arc<Table>,
    index: &'a Index,
    members: Vec<(&'a Arc<Entity>, IndexKey<'a>)>,
}

impl<'a> Group<'a> {
    fn first_part(&self) -> Option<&'a EntityKey> {
        self.members.first().and_then(|(_, key)| key.hash.first().copied())
    }

    /// The share of the busiest value, where some member tells.
    fn share(&self, context: &Context) -> Option<f64> {
        let shares = self.members.iter().map(|(entity, key)| hottest_share(context, entity, key));
        shares.flatten().reduce(f64::max)
    }

    fn names(&self) -> String {
        let names: Vec<String> =
            self.members.iter().map(|(entity, _)| format!("`{}`", entity.name)).collect();
        names.join(", ")
    }
}

/// The entities with one form of partition key: whatever its fields are called, their values are written alike.
struct Form<'a> {
    members: Vec<(&'a Arc<Entity>, IndexKey<'a>)>,
    languages: OnceCell<Vec<Language>>,
}

impl<'a> Form<'a> {
    fn parts(&self) -> &[&'a EntityKey] {
        self.members.first().map_or(&[], |(_, key)| key.hash.as_slice())
    }

    fn languages(&self) -> &[Language] {
        self.languages.get_or_init(|| {
            self.parts().iter().map(|part| part.shape.template().language()).collect()
        })
    }

    /// Whether some value is a partition key of both.
    fn meets(&self, other: &Self) -> bool {
        let mut languages = self.languages().iter().zip(other.languages());
        self.is_one_kind(other) && languages.all(|(a, b)| a.shared_text(b).is_some())
    }

    fn is_one_kind(&self, other: &Self) -> bool {
        self.parts().iter().zip(other.parts()).all(|(a, b)| is_one_kind(a, b))
    }

    /// How much it takes to see whether two meet.
    fn effort(&self, other: &Self) -> usize {
        if !self.is_one_kind(other) {
            return 0;
        }
        let languages = self.languages().iter().zip(other.languages());
        languages.map(|(a, b)| a.size().saturating_mul(b.size())).sum()
    }
}

/// Whether the texts of two keys say that they are of one kind. Values without a text around them are, if they are
/// called alike: an id of one thing is no id of another.
fn is_one_kind(a: &EntityKey, b: &EntityKey) -> bool {
    let (a, b) = (a.shape.template(), b.shape.template());
    match (a.pieces().first(), b.pieces().first()) {
        (Some(Piece::Literal(a)), Some(Piece::Literal(b))) => a.starts_with(b) || b.starts_with(a),
        (Some(Piece::Field(_)), Some(Piece::Field(_))) => a.fields().eq(b.fields()),
        _ => false,
    }
}

/// The form of a partition key, for comparison.
fn form_of(key: &IndexKey) -> Vec<String> {
    let part = |part: &&EntityKey| {
        let template = part.shape.template();
        let named = !matches!(template.pieces().first(), Some(Piece::Literal(_)));
        let piece = |piece: &Piece| match piece {
            Piece::Literal(text) => format!("={text}"),
            Piece::Field(field) if named => format!("{}:{}", field.name(), field.format()),
            Piece::Field(field) => format!(":{}", field.format()),
        };
        template.pieces().iter().map(piece).collect::<Vec<_>>().join("\n")
    };
    key.hash.iter().map(part).collect()
}

fn forms<'a>(context: &'a Context, table: &'a Table, index: &'a Index) -> Vec<Form<'a>> {
    let mut forms: Vec<Form<'a>> = Vec::new();
    let mut known: HashMap<Vec<String>, usize> = HashMap::new();
    for entity in context.design.entities_in(table) {
        let Some(key) = entity.index_key(index) else { continue };
        let at = *known.entry(form_of(&key)).or_insert_with(|| {
            forms.push(Form { members: Vec::new(), languages: OnceCell::new() });
            forms.len() - 1
        });
        if let Some(form) = forms.get_mut(at) {
            form.members.push((entity, key));
        }
    }
    forms
}

/// The forms that one value can have together: around each form those that meet it and each other.
fn together(forms: &[Form]) -> Vec<Vec<usize>> {
    let alone = || (0..forms.len()).map(|at| vec![at]).collect();
    if forms.len() > MOST_COMPARED {
        return alone();
    }
    let later = |at: usize| forms.iter().enumerate().skip(at + 1);
    let efforts = forms
        .iter()
        .enumerate()
        .flat_map(|(at, form)| later(at).map(move |(_, other)| form.effort(other)));
    if efforts.fold(0, usize::saturating_add) > MOST_STATES {
        return alone();
    }
    let mut pairs: HashSet<(usize, usize)> = HashSet::new();
    for (at, form) in forms.iter().enumerate() {
        let met = later(at).filter(|(_, other)| form.meets(other)).map(|(other, _)| other);
        pairs.extend(met.flat_map(|other| [(at, other), (other, at)]));
    }
    if pairs.is_empty() {
        return alone();
    }
    let mut seen: HashSet<Vec<usize>> = HashSet::new();
    let mut found = Vec::new();
    for at in 0..forms.len() {
        let mut met = vec![at];
        for other in 0..forms.len() {
            if met.iter().all(|known| pairs.contains(&(*known, other))) {
                met.push(other);
            }
        }
        met.sort_unstable();
        if seen.insert(met.clone()) {
            found.push(met);
        }
    }
    found
}

/// Everything that can lie under one partition key value, in every index.
fn groups<'a>(context: &'a Context) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for table in context.design.tables() {
        for index in &table.indexes {
            let forms = forms(context, table, index);
            for met in together(&forms) {
                let mine = met.iter().filter_map(|at| forms.get(*at));
                let members = mine.flat_map(|form| form.members.iter().cloned()).collect();
                groups.push(Group { table, index, members });
            }
        }
    }
    groups
}

/// The share of a read's rows that lie under the busiest value of a group; nothing if it meets none of it.
fn met_by(context: &Context, group: &Group, plan: &Plan, busiest: f64) -> Option<f64> {
    let reads = plan.reads.iter().filter(|read| {
        read.table.name == group.table.name && read.index().name == group.index.name
    });
    let found = reads.flat_map(|read| &read.entities);
    let shares = found.filter_map(|found| {
        let (entity, key) = group.members.iter().find(|(own, _)| own.name == found.name)?;
        Some(hottest_share(context, entity, key).unwrap_or(busiest))
    });
    shares.reduce(f64::max)
}

/// The load on the busiest value: every write of a member by its own share, every pattern once.
fn load_under(context: &Context, group: &Group) -> Option<Load> {
    let busiest = group.share(context)?;
    let mut sum = Load::default();
    for (entity, key) in &group.members {
        let share = hottest_share(context, entity, key).unwrap_or(busiest);
        sum.writes += load_of_writes(context, entity, group.index) * share;
        if group.index.name.is_none() {
            sum.reads += second_step_load(context, entity) * share;
        }
    }
    for plan in context.plans {
        let Some(units) = plan.estimate.peak_units_per_second else { continue };
        let units = units - plan.estimate.second_units_per_second.unwrap_or(0.0);
        if let Some(share) = met_by(context, group, plan, busiest) {
            sum.reads += units * share;
        }
    }
    Some(sum)
}

/// How evidence says that several entities are meant.
const TOGETHER: &str = " together: ";

fn told_of(group: &Group) -> String {
    let between = if group.members.len() > 1 { TOGETHER } else { ": " };
    format!("{}{between}", group.names())
}

/// P12: more than one partition takes, whatever the number of values.
pub(super) fn hot_value(context: &Context, findings: &mut Findings) {
    for group in groups(context) {
        let Some(load) = load_under(context, &group) else { continue };
        let (Some(part), true) = (group.first_part(), load.excess(1.0) > 1.0) else { continue };
        findings
            .add(
                part.span,
                &group.members.first().map(|(entity, _)| entity.name.clone()).unwrap_or_default(),
                format!(
                    "the busiest value of {} in {} is too hot",
                    super::key_text(part),
                    index_subject(group.table, group.index)
                ),
            )
            .because(format!("{}{}", told_of(&group), load.describe(1.0)))
            .fix("add a field with more values or a shard to the partition key");
    }
}

/// Rules about one entity that call a hot key an error, in words that fit the case better.
const SAID_BY: [&str; 4] = ["P01", "P02", "P04", "I06"];

/// Takes out what P12 says of one entity where another rule has said that it is an error.
pub(super) fn leave_out_repetitions(result: &mut LintResult) {
    let suppressed = result.suppressed.iter().map(|(finding, _)| finding);
    let said =
        result.findings.iter().chain(suppressed).filter(|finding| {
            SAID_BY.contains(&finding.rule) && finding.severity == Severity::Error
        });
    let said: HashSet<_> = said.map(|finding| (finding.span, finding.subject.clone())).collect();
    result.findings.retain(|finding| {
        let alone = !finding.evidence.contains(TOGETHER);
        finding.rule != "P12" || !alone || !said.contains(&(finding.span, finding.subject.clone()))
    });
}

/// The bytes of the largest collection of one member, with its entries in local indexes. Where the member does not tell
/// how many values there are, another one under the same key may.
fn collection(
    context: &Context,
    entity: &Entity,
    key: &IndexKey,
    busiest: Option<f64>,
) -> Option<f64> {
    let count = entity.volume.count?;
    let items = match hottest_share(context, entity, key).or(busiest) {
        Some(share) => count * share,
        None => items_under(context.design, entity, &key.hash_fields().collect::<Vec<_>>())?,
    };
    let local = entity.table.indexes.iter().filter(|index| index.kind == IndexKind::Local);
    let entries: f64 = local
        .filter_map(|index| {
            let key = entity.index_key(index)?;
            let present: f64 =
                key.fields().filter_map(|name| entity.field(name)?.present).fold(1.0, f64::min);
            Some(present * entry_size(entity, index))
        })
        .sum();
    Some(items * (item_size(entity) + entries))
}

/// P06: local indexes bind a collection to 10 GB, all its entities together.
pub(super) fn collection_size(context: &Context, findings: &mut Findings) {
    if !context.design.tables().iter().any(|table| table.has_local_index()) {
        return;
    }
    for group in groups(context) {
        if group.index.name.is_some() || !group.table.has_local_index() {
            continue;
        }
        let busiest = group.share(context);
        let sizes: Vec<(&str, f64)> = group
            .members
            .iter()
            .filter_map(|(entity, key)| {
                Some((entity.name.as_str(), collection(context, entity, key, busiest)?))
            })
            .collect();
        let total: f64 = sizes.iter().map(|(_, bytes)| bytes).sum();
        let (Some(part), Some((first, _))) = (group.first_part(), group.members.first()) else {
            continue;
        };
        if total <= MAX_ITEM_COLLECTION_BYTES as f64 {
            continue;
        }
        let shown: Vec<String> =
            sizes.iter().map(|(name, bytes)| format!("`{name}` {}", short_bytes(*bytes))).collect();
        findings
            .add(
                part.span,
                &first.name,
                format!("a collection of {} may pass 10 GB, and the table has a local index", group.names()),
            )
            .because(format!(
                "the largest collection is {} with its index entries ({}); beyond 10 GB every write to it fails",
                short_bytes(total),
                shown.join(", ")
            ))
            .fix("use a global index instead of the local one, or split the partition key by time or shard");
    }
}
