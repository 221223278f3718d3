//! The key in the condition of a statement.
//!
//! A write is for one item: its condition must have an equality for every key attribute
//! ([`one_item`]). A read whose condition selects partitions by equalities or `IN` is split into
//! reads of key ranges ([`reads`]); any other one scans the whole table or index.

use crate::error::Result;
use crate::error::message::partiql as message;
use crate::expr::{Condition, KeyClause, KeyConditionTree, KeyOperator, ResolvedKeyCondition};
use crate::limits::MAX_PARTIQL_READS;
use crate::schema::{KeyAttribute, KeySchema};
use crate::value::{AttributeValue, Item, Str};

/// The item that a condition identifies, and the rest of the condition.
#[derive(Clone, Debug, PartialEq)]
pub struct OneItem {
    /// The primary key; its types are not checked.
    pub key: Item,
    /// The other conditions.
    pub rest: Option<Condition>,
    /// A key attribute compared with two values; the second comparison is in `rest`.
    pub repeated: Option<Str>,
}

/// The one item of a condition; `None` if it lacks a key attribute.
pub fn one_item(condition: Option<Condition>, key: &KeySchema) -> Option<OneItem> {
    let mut conjuncts = Vec::new();
    flatten(condition?, &mut conjuncts);
    let mut found = OneItem { key: Item::new(), rest: None, repeated: None };
    let mut rest = Vec::new();
    for conjunct in conjuncts {
        match clause(&conjunct) {
            Some(KeyClause { attribute, operator: KeyOperator::Equal(value) })
                if key.contains(&attribute) =>
            {
                match found.key.get(&attribute) {
                    None => {
                        found.key.insert(attribute, value);
                    }
                    Some(known) if *known == value => {}
                    Some(_) => {
                        found.repeated.get_or_insert(attribute);
                        rest.push(conjunct);
                    }
                }
            }
            _ => rest.push(conjunct),
        }
    }
    found.rest = all_of(rest);
    (found.key.len() == key.len()).then_some(found)
}

/// Flattens nested `AND`s.
fn flatten(condition: Condition, conjuncts: &mut Vec<Condition>) {
    match condition {
        Condition::And(members) => {
            for member in members {
                flatten(member, conjuncts);
            }
        }
        other => conjuncts.push(other),
    }
}

fn all_of(mut conditions: Vec<Condition>) -> Option<Condition> {
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => Some(Condition::And(conditions)),
    }
}

/// The key clause of a single test, if it has the form of one.
fn clause(test: &Condition) -> Option<KeyClause> {
    if !matches!(test, Condition::Compare(..) | Condition::Between(..) | Condition::BeginsWith(..))
    {
        return None;
    }
    let condition = KeyConditionTree(test.clone()).into_clauses().ok()?;
    condition.clauses().first().cloned()
}

/// One of the key ranges of a read.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRead<'a> {
    /// The value of the partition key.
    pub hash: AttributeValue,
    /// The tests of the sort key, all of which must hold.
    pub range: Vec<KeyOperator>,
    /// The other conditions on its rows.
    pub filters: Vec<&'a Condition>,
}

impl KeyRead<'_> {
    /// The sort key, if it is tested for equality only.
    pub fn sort_value(&self) -> Option<&AttributeValue> {
        let mut values = self.range.iter().map(|operator| match operator {
            KeyOperator::Equal(value) => Some(value),
            _ => None,
        });
        let first = values.next()??;
        values.all(|value| value == Some(first)).then_some(first)
    }

    /// The range as the key condition of a Query; of several tests of the sort key it has the
    /// first.
    pub fn key_condition(&self) -> ResolvedKeyCondition {
        let equal = self.sort_value().cloned();
        let first = self.range.first().filter(|_| equal.is_none());
        ResolvedKeyCondition {
            hash: vec![self.hash.clone()],
            range_prefix: equal.into_iter().collect(),
            range: first.filter(|test| !matches!(test, KeyOperator::Equal(_))).cloned(),
        }
    }

    /// Refuses values of types that this key does not have.
    pub fn check_types(&self, key: &KeySchema) -> Result<()> {
        let range = self.range.iter().flat_map(KeyOperator::values);
        let hash = key.hash.first().into_iter().map(|attribute| (attribute, &self.hash));
        let range = key
            .range
            .first()
            .into_iter()
            .flat_map(|attribute| range.clone().map(move |value| (attribute, value)));
        hash.chain(range).try_for_each(|(attribute, value)| check_type(attribute, value))
    }
}

/// Refuses a value of a type that this key attribute does not have.
pub fn check_type(attribute: &KeyAttribute, value: &AttributeValue) -> Result<()> {
    use AttributeValue::{B, N, S};
    if attribute.kind.accepts(value) {
        return Ok(());
    }
    Err(match value {
        S(_) | N(_) | B(_) => message::key_type(&attribute.name),
        other => message::key_not_scalar(&attribute.name, other.attribute_type().as_str()),
    })
}

/// The key ranges of a condition; `None` if it may match in any partition.
///
/// The key must have one partition key attribute and at most one sort key attribute.
pub fn reads<'a>(
    condition: Option<&'a Condition>,
    key: &KeySchema,
) -> Result<Option<Vec<KeyRead<'a>>>> {
    let (Some(condition), [hash]) = (condition, key.hash.as_slice()) else { return Ok(None) };
    let range = key.range.first().map(|attribute| attribute.name.as_str());
    let names = KeyNames { hash: &hash.name, range };
    if !names.pins_partition(condition) {
        return Ok(None);
    }
    let branches = names.spread(condition)?;
    if branches.len() > MAX_PARTIQL_READS {
        return Err(message::too_many_reads());
    }
    // A branch with two different partitions matches nothing, and AWS then scans everything.
    Ok(branches.into_iter().map(|branch| branch.into_read(&names)).collect())
}

/// Whether whole partitions are read: a condition on the sort key that is not a range may match
/// anywhere in them.
pub fn read_whole_partitions(reads: &[KeyRead<'_>], key: &KeySchema) -> bool {
    let sort_key = key.range.first().map(|attribute| attribute.name.as_str());
    let on_sort_key = |filter: &&Condition| {
        filter.paths().iter().any(|path| Some(path.attribute.as_str()) == sort_key)
    };
    reads.iter().any(|read| read.filters.iter().any(on_sort_key))
}

/// The attribute names of a key.
struct KeyNames<'a> {
    hash: &'a str,
    range: Option<&'a str>,
}

/// One conjunction of a condition in disjunctive normal form.
#[derive(Clone, Default)]
struct Branch<'a> {
    clauses: Vec<KeyClause>,
    filters: Vec<&'a Condition>,
}

impl<'a> Branch<'a> {
    fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.clauses.extend_from_slice(&other.clauses);
        both.filters.extend_from_slice(&other.filters);
        both
    }

    fn into_read(self, names: &KeyNames<'_>) -> Option<KeyRead<'a>> {
        let mut hash = None;
        let mut range = Vec::new();
        for clause in self.clauses {
            match clause.operator {
                KeyOperator::Equal(value) if clause.attribute == names.hash => {
                    if hash.as_ref().is_some_and(|known| *known != value) {
                        return None;
                    }
                    hash = Some(value);
                }
                operator => range.push(operator),
            }
        }
        Some(KeyRead { hash: hash?, range, filters: self.filters })
    }
}

impl KeyNames<'_> {
    /// Whether every branch of the condition has a partition.
    fn pins_partition(&self, condition: &Condition) -> bool {
        match condition {
            Condition::And(members) => members.iter().any(|member| self.pins_partition(member)),
            Condition::Or(members) => members.iter().all(|member| self.pins_partition(member)),
            test => self.alternatives(test).is_some_and(|alternatives| {
                alternatives.first().is_some_and(|clause| clause.attribute == self.hash)
            }),
        }
    }

    /// The alternative key clauses of a single test; `None` if it is not a test of the key.
    fn alternatives(&self, test: &Condition) -> Option<Vec<KeyClause>> {
        if let Condition::In(operand, candidates) = test {
            let equals = candidates.iter().map(|candidate| {
                let equal = crate::expr::ast::Comparator::Equal;
                clause(&Condition::Compare(equal, operand.clone(), candidate.clone()))
            });
            let equals: Vec<KeyClause> = equals.collect::<Option<_>>()?;
            return equals.iter().all(|clause| self.concerns(clause)).then_some(equals);
        }
        let clause = clause(test)?;
        self.concerns(&clause).then(|| vec![clause])
    }

    /// Whether a clause can narrow a read: an equality on the partition key, any clause on the sort
    /// key.
    fn concerns(&self, clause: &KeyClause) -> bool {
        if clause.attribute == self.hash {
            return matches!(clause.operator, KeyOperator::Equal(_));
        }
        self.range.is_some_and(|range| clause.attribute == range)
    }

    /// Whether any part of the condition is on the key.
    fn names_key(&self, condition: &Condition) -> bool {
        match condition {
            Condition::And(members) | Condition::Or(members) => {
                members.iter().any(|member| self.names_key(member))
            }
            test => self.alternatives(test).is_some(),
        }
    }

    /// The branches of the condition, as far as they differ in the key.
    fn spread<'a>(&self, condition: &'a Condition) -> Result<Vec<Branch<'a>>> {
        let whole = || vec![Branch { clauses: Vec::new(), filters: vec![condition] }];
        let branches = match condition {
            Condition::And(members) => {
                let mut branches = vec![Branch::default()];
                for member in members {
                    let more = self.spread(member)?;
                    if branches.len() * more.len() > MAX_BRANCHES {
                        return Err(message::too_many_reads());
                    }
                    let pairs = branches.iter().flat_map(|one| more.iter().map(|two| one.and(two)));
                    branches = pairs.collect();
                }
                branches
            }
            Condition::Or(members) if self.names_key(condition) => {
                let mut branches = Vec::new();
                for member in members {
                    branches.extend(self.spread(member)?);
                }
                branches
            }
            Condition::Or(_) => whole(),
            test => match self.alternatives(test) {
                Some(alternatives) => alternatives
                    .into_iter()
                    .map(|clause| Branch { clauses: vec![clause], filters: Vec::new() })
                    .collect(),
                None => whole(),
            },
        };
        if branches.len() > MAX_BRANCHES {
            return Err(message::too_many_reads());
        }
        Ok(branches)
    }
}

/// Maximum number of branches: more than any valid condition needs.
const MAX_BRANCHES: usize = 1000;

/// Filters of a keyed read of an index on attributes that the index does not project.
///
/// AWS refuses such a read only if every branch has such a filter, and reports those of the last
/// branch in partition order, in the order of a Java hash set.
pub fn unprojected_filters(
    reads: &[KeyRead<'_>],
    is_projected: impl Fn(&str) -> bool,
) -> Option<Vec<Str>> {
    let unprojected = |read: &KeyRead<'_>| -> Vec<Str> {
        let mut names: Vec<Str> = Vec::new();
        for path in read.filters.iter().flat_map(|filter| filter.paths()) {
            if !is_projected(&path.attribute) && !names.contains(&path.attribute) {
                names.push(path.attribute.clone());
            }
        }
        in_hash_order(names)
    };
    let last = reads.iter().reduce(|last, read| {
        let falls =
            crate::expr::order(&read.hash, &last.hash).is_some_and(std::cmp::Ordering::is_lt);
        if falls { last } else { read }
    })?;
    if reads.iter().any(|read| unprojected(read).is_empty()) {
        return None;
    }
    Some(unprojected(last))
}

/// Sorts names in the iteration order of a Java hash set: by the low bits of their hashes.
fn in_hash_order(mut names: Vec<Str>) -> Vec<Str> {
    let buckets = (names.len() * 4 / 3 + 1).next_power_of_two().max(16) as u32;
    names.sort_by_key(|name| {
        let hash = name
            .encode_utf16()
            .fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
        (hash ^ (hash >> 16)) & (buckets - 1)
    });
    names
}

impl OneItem {
    /// Refuses a condition that compares a key attribute with two values, or with one of a wrong
    /// type.
    pub fn check(&self, key: &KeySchema) -> Result<()> {
        if let Some(name) = &self.repeated {
            return Err(message::key_repeated(name));
        }
        for attribute in key.attributes() {
            if let Some(value) = self.key.get(&attribute.name) {
                check_type(attribute, value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
