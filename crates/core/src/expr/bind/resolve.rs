//! Resolves names and values.

use std::sync::Arc;

use super::super::ast;
use super::super::path::{MAX_DEPTH, MAX_INDEX, Path, Step};
use super::super::reserved;
use super::{Bindings, Problem, problem};
use crate::value::{AttributeValue, Str};

/// A `#name` or `:value` of the request.
#[derive(Clone, Debug)]
pub(super) struct Definition<T> {
    key: Str,
    meaning: T,
    used: bool,
}

impl<T: Clone> Definition<T> {
    pub(super) fn sorted(pairs: impl IntoIterator<Item = (Str, T)>) -> Vec<Self> {
        let pairs = pairs.into_iter();
        // Not collected: that would reuse the memory of the pairs and then shrink it.
        let mut definitions = Vec::with_capacity(pairs.size_hint().0);
        definitions.extend(pairs.map(|(key, meaning)| Self { key, meaning, used: false }));
        definitions.sort_by(|a, b| a.key.cmp(&b.key));
        definitions
    }

    /// The definition of `key`, which is marked as used.
    fn look_up(definitions: &mut [Self], key: &str) -> Option<T> {
        let index = definitions.binary_search_by(|def| def.key.as_str().cmp(key)).ok()?;
        let definition = definitions.get_mut(index)?;
        definition.used = true;
        Some(definition.meaning.clone())
    }

    pub(super) fn unused(definitions: &[Self]) -> Vec<&str> {
        definitions.iter().filter(|def| !def.used).map(|def| def.key.as_str()).collect()
    }
}

/// Refuses reserved words and list indexes that are too high.
pub(super) fn check_names(path: &ast::Path) -> Result<(), Problem> {
    for part in &path.0 {
        match part {
            ast::PathPart::Name(ast::Name::Literal(name)) if reserved::is_reserved(name) => {
                return Err(problem::reserved_word(name));
            }
            ast::PathPart::Index(index) if *index > MAX_INDEX => {
                return Err(problem::list_index_out_of_range(*index));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Bindings {
    pub(super) fn path(&mut self, path: &ast::Path) -> Result<Path, Problem> {
        let mut attribute = None;
        let mut steps = Vec::with_capacity(path.0.len().saturating_sub(1));
        for part in &path.0 {
            match part {
                ast::PathPart::Index(index) => {
                    steps.push(Step::Index(usize::try_from(*index).unwrap_or(usize::MAX)));
                }
                ast::PathPart::Name(name) => {
                    let name = self.name(name)?;
                    match attribute {
                        None => attribute = Some(name),
                        Some(_) => steps.push(Step::Key(name)),
                    }
                }
            }
        }
        if path.0.len() > MAX_DEPTH {
            return Err(problem::path_too_deep(path.0.len()));
        }
        Ok(Path { attribute: attribute.unwrap_or_default(), steps })
    }

    fn name(&mut self, name: &ast::Name) -> Result<Str, Problem> {
        match name {
            ast::Name::Literal(name) => Ok(name.clone()),
            ast::Name::Placeholder(key) => Definition::look_up(&mut self.names, key)
                .ok_or_else(|| problem::undefined_name(key)),
        }
    }

    pub(super) fn value(&mut self, key: &str) -> Result<Arc<AttributeValue>, Problem> {
        Definition::look_up(&mut self.values, key).ok_or_else(|| problem::undefined_value(key))
    }
}
