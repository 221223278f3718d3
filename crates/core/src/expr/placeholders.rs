//! From trees back to text: every name and value gets a placeholder, so no reserved word and no odd character
//! matters.

use std::sync::Arc;

use super::ast::{self, Call, Name, PathPart, Section};
use super::condition::{Condition, Operand};
use super::function::Function;
use super::path::{Path, Step};
use super::projection::Projection;
use super::update::{Change, SetValue, Update};
use crate::value::{AttributeValue, Str};

/// The `ExpressionAttributeNames` and `ExpressionAttributeValues` of a request whose expressions are printed.
///
/// ```
/// use keyloom_core::expr::{Condition, Path, Placeholders};
///
/// let mut placeholders = Placeholders::default();
/// let text = placeholders.condition(&Condition::Exists(Path::attribute("status")));
/// assert_eq!(text, "attribute_exists(#n0)");
/// assert_eq!(placeholders.names(), [("#n0".into(), "status".into())]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Placeholders {
    names: Vec<(Str, Str)>,
    values: Vec<(Str, AttributeValue)>,
}

impl Placeholders {
    /// Placeholders beside those that expressions given as text use already.
    pub fn beside(names: Vec<(Str, Str)>, values: Vec<(Str, AttributeValue)>) -> Self {
        Self { names, values }
    }

    /// The names, by their placeholders.
    pub fn names(&self) -> &[(Str, Str)] {
        &self.names
    }

    /// The values, by their placeholders.
    pub fn values(&self) -> &[(Str, AttributeValue)] {
        &self.values
    }

    /// Prints a condition, filter or key condition.
    pub fn condition(&mut self, condition: &Condition) -> String {
        self.condition_tree(condition).to_string()
    }

    /// Prints an update.
    pub fn update(&mut self, update: &Update) -> String {
        let (mut set, mut remove) = (Vec::new(), Vec::new());
        let (mut add, mut delete) = (Vec::new(), Vec::new());
        for action in update.actions() {
            let path = self.path(&action.path);
            match &action.change {
                Change::Set(value) => set.push((path, self.set_value(value))),
                Change::Remove => remove.push(path),
                Change::Add(value) | Change::LegacyAdd(value) => {
                    add.push((path, self.value(value)));
                }
                Change::Delete(value) | Change::LegacyDelete(value) => {
                    delete.push((path, self.value(value)));
                }
            }
        }
        let mut sections = Vec::with_capacity(4);
        if !set.is_empty() {
            sections.push(Section::Set(set));
        }
        if !remove.is_empty() {
            sections.push(Section::Remove(remove));
        }
        if !add.is_empty() {
            sections.push(Section::Add(add));
        }
        if !delete.is_empty() {
            sections.push(Section::Delete(delete));
        }
        ast::Update(sections).to_string()
    }

    /// Prints a projection.
    pub fn projection(&mut self, projection: &Projection) -> String {
        let paths = projection.paths().iter().map(|path| self.path(path)).collect();
        ast::Projection(paths).to_string()
    }

    fn name(&mut self, name: &Str) -> Name {
        if let Some((placeholder, _)) = self.names.iter().find(|(_, known)| known == name) {
            return Name::Placeholder(placeholder.clone());
        }
        let placeholder = free("#n", &self.names);
        self.names.push((placeholder.clone(), name.clone()));
        Name::Placeholder(placeholder)
    }

    fn value(&mut self, value: &Arc<AttributeValue>) -> Str {
        let placeholder = free(":v", &self.values);
        self.values.push((placeholder.clone(), AttributeValue::clone(value)));
        placeholder
    }

    fn path(&mut self, path: &Path) -> ast::Path {
        let mut parts = Vec::with_capacity(1 + path.steps.len());
        parts.push(PathPart::Name(self.name(&path.attribute)));
        for step in &path.steps {
            parts.push(match step {
                Step::Key(key) => PathPart::Name(self.name(key)),
                Step::Index(index) => PathPart::Index(*index as u64),
            });
        }
        ast::Path(parts)
    }

    fn call<const N: usize>(&mut self, function: Function, operands: [&Operand; N]) -> Call {
        let arguments = operands.into_iter().map(|operand| self.operand(operand)).collect();
        Call { function: function.name().into(), arguments }
    }

    fn operand(&mut self, operand: &Operand) -> ast::Operand {
        match operand {
            Operand::Path(path) => ast::Operand::Path(self.path(path)),
            Operand::Value(value) => ast::Operand::Value(self.value(value)),
            Operand::Size(of) => ast::Operand::Call(self.call(Function::Size, [of])),
            // Only PartiQL says this, and no expression can: its statements are never printed here.
            Operand::Truth(_) => {
                ast::Operand::Value(self.value(&Arc::new(AttributeValue::Bool(true))))
            }
        }
    }

    fn condition_tree(&mut self, condition: &Condition) -> ast::Condition {
        use ast::Condition as Tree;
        match condition {
            Condition::Compare(comparator, left, right) => Tree::Compare {
                comparator: *comparator,
                left: self.operand(left),
                right: self.operand(right),
            },
            Condition::Between(operand, low, high) => Tree::Between {
                operand: self.operand(operand),
                low: self.operand(low),
                high: self.operand(high),
            },
            Condition::In(operand, candidates) => Tree::In {
                operand: self.operand(operand),
                candidates: candidates.iter().map(|candidate| self.operand(candidate)).collect(),
            },
            Condition::Exists(path) => Tree::Call(self.presence(Function::AttributeExists, path)),
            Condition::NotExists(path) => {
                Tree::Call(self.presence(Function::AttributeNotExists, path))
            }
            Condition::HasType(operand, kind) => {
                let kind = Operand::value(kind.as_str().into());
                Tree::Call(self.call(Function::AttributeType, [operand, &kind]))
            }
            Condition::BeginsWith(operand, prefix) => {
                Tree::Call(self.call(Function::BeginsWith, [operand, prefix]))
            }
            Condition::Contains(operand, part) => {
                Tree::Call(self.call(Function::Contains, [operand, part]))
            }
            Condition::And(members) => Tree::And(self.members(members)),
            Condition::Or(members) => Tree::Or(self.members(members)),
            Condition::Not(condition) => Tree::Not(Box::new(self.condition_tree(condition))),
        }
    }

    fn members(&mut self, members: &[Condition]) -> Vec<ast::Condition> {
        members.iter().map(|member| self.condition_tree(member)).collect()
    }

    fn presence(&mut self, function: Function, path: &Path) -> Call {
        let path = ast::Operand::Path(self.path(path));
        Call { function: function.name().into(), arguments: vec![path] }
    }

    fn set_value(&mut self, value: &SetValue) -> ast::SetValue {
        match value {
            SetValue::Plus(a, b) => ast::SetValue::Plus(self.set_operand(a), self.set_operand(b)),
            SetValue::Minus(a, b) => ast::SetValue::Minus(self.set_operand(a), self.set_operand(b)),
            value => ast::SetValue::Operand(self.set_operand(value)),
        }
    }

    /// An operand of `SET`. Sums stand only at the outside of one, so none is met here.
    fn set_operand(&mut self, value: &SetValue) -> ast::Operand {
        let (function, arguments) = match value {
            SetValue::Path(path) => return ast::Operand::Path(self.path(path)),
            SetValue::Value(value) => return ast::Operand::Value(self.value(value)),
            SetValue::IfNotExists(path, otherwise) => {
                let path = ast::Operand::Path(self.path(path));
                (Function::IfNotExists, vec![path, self.set_operand(otherwise)])
            }
            SetValue::ListAppend(a, b) | SetValue::Plus(a, b) | SetValue::Minus(a, b) => {
                (Function::ListAppend, vec![self.set_operand(a), self.set_operand(b)])
            }
        };
        ast::Operand::Call(Call { function: function.name().into(), arguments })
    }
}

/// The next placeholder that is not taken.
fn free<T>(prefix: &str, taken: &[(Str, T)]) -> Str {
    let mut number = taken.len();
    loop {
        let placeholder = Str::from(format!("{prefix}{number}"));
        if !taken.iter().any(|(known, _)| *known == placeholder) {
            return placeholder;
        }
        number += 1;
    }
}
