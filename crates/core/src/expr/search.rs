//! Search conditions: the part of a vector index that is searched.
//!
//! The syntax is that of conditions, but only equalities joined by `AND` are allowed. They are
//! matched with the index by [`SearchCondition::resolve`].

use std::sync::Arc;

use super::ast::Comparator;
use super::condition::{Condition, Operand};
use super::path::Path;
use crate::error::{Result, message::vector as message};
use crate::schema::{KeySchema, SearchRole, VectorIndexSchema};
use crate::value::{AttributeValue, Str};

/// Equalities, in source order.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SearchCondition {
    clauses: Vec<(Path, Arc<AttributeValue>)>,
}

/// The resolved restriction of a search.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ResolvedSearch {
    /// The partition of the index, if it is partitioned.
    pub hash: Option<Arc<AttributeValue>>,
    /// Required attribute values.
    pub filters: Vec<(Str, Arc<AttributeValue>)>,
}

impl SearchCondition {
    /// The equalities of a condition; anything else is refused.
    pub(super) fn of(condition: Condition) -> Result<Self> {
        let mut search = Self::default();
        search.collect(condition)?;
        Ok(search)
    }

    fn collect(&mut self, condition: Condition) -> Result<()> {
        match condition {
            Condition::And(members) => {
                members.into_iter().try_for_each(|member| self.collect(member))
            }
            Condition::Compare(Comparator::Equal, Operand::Path(path), Operand::Value(value))
            | Condition::Compare(Comparator::Equal, Operand::Value(value), Operand::Path(path)) => {
                self.clauses.push((path, value));
                Ok(())
            }
            _ => Err(message::search_condition_comparator()),
        }
    }

    /// Matches a search condition, if any, with the index.
    pub fn resolve(condition: Option<Self>, index: &VectorIndexSchema) -> Result<ResolvedSearch> {
        let hash = index.hash();
        let Some(Self { clauses }) = condition else {
            return match hash {
                Some(_) => Err(message::search_condition_missing()),
                None => Ok(ResolvedSearch::default()),
            };
        };
        for (path, _) in &clauses {
            if index.searched(&path.attribute).is_none() {
                return Err(message::search_condition_attribute(&path.attribute));
            }
        }
        if clauses.iter().any(|(path, _)| !path.steps.is_empty()) {
            return Err(message::search_condition_nested());
        }
        let mut resolved = ResolvedSearch::default();
        let mut seen: Vec<Str> = Vec::new();
        for (path, value) in clauses {
            let Some(element) = index.searched(&path.attribute) else { continue };
            if seen.contains(&path.attribute) {
                return Err(message::search_condition_repeated());
            }
            if !element.attribute.kind.accepts(&value) {
                return Err(message::search_condition_type(&element.attribute, &value));
            }
            if element.role == SearchRole::Hash {
                let key = KeySchema::simple(element.attribute.clone(), None);
                key.check_value(&path.attribute, &value)?;
                resolved.hash = Some(value);
            } else {
                resolved.filters.push((path.attribute.clone(), value));
            }
            seen.push(path.attribute);
        }
        if hash.is_some() && resolved.hash.is_none() {
            return Err(message::search_condition_without_hash());
        }
        Ok(resolved)
    }
}
