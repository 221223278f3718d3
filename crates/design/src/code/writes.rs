//! Writes of a design as a generated module states them.

use std::sync::Arc;

use super::node::{Node, Record};
use super::outline::key_sources;
use crate::cost::Prices;
use crate::model::{Design, Entity, Member, Write, WriteKind};
use crate::plan::plan_write;

/// A write as generated code needs it.
pub(super) struct WriteOutline<'d> {
    pub(super) write: &'d Write,
    pub(super) members: Vec<MemberOutline<'d>>,
}

/// What is done with one entity of a write.
pub(super) struct MemberOutline<'d> {
    pub(super) entity: &'d Arc<Entity>,
    pub(super) action: Action,
}

/// What is done with an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Put,
    Create,
    Delete,
    Check,
    /// Sets fields; the caller gives them and all that the keys which follow from them are made of.
    Update {
        given: Vec<String>,
        sets: Vec<String>,
        /// Lists and sets that get more elements.
        appends: Vec<String>,
        /// Whether what is given suffices; otherwise the item is read first.
        is_blind: bool,
    },
    /// Runs an expression that was written by hand.
    Expression {
        update: String,
        names: Vec<(String, String)>,
        values: Vec<String>,
    },
}

impl WriteOutline<'_> {
    /// What is said about it.
    pub(super) fn note(&self) -> String {
        if self.write.description.is_empty() {
            format!("{}.", self.write.name)
        } else {
            format!("{}: {}", self.write.name, self.write.description)
        }
    }
}

impl Action {
    /// Whether an update takes a field.
    pub(super) fn takes(&self, field: &str) -> bool {
        match self {
            Self::Update { given, sets, appends, .. } => {
                given.iter().chain(sets).chain(appends).any(|name| name == field)
            }
            _ => false,
        }
    }
}

impl MemberOutline<'_> {
    /// The member as data; `values` is the code of a list of what is written, `arguments` that of an expression's values.
    pub(super) fn node(&self, values: &str, guards: Option<&str>, arguments: &str) -> Node {
        let action = match &self.action {
            Action::Put => "put",
            Action::Create => "create",
            Action::Delete => "delete",
            Action::Check => "check",
            Action::Update { is_blind: true, .. } => "update",
            Action::Update { .. } => "change",
            Action::Expression { .. } => "expression",
        };
        let mut record = Record::default()
            .with("entity", Node::Entity(self.entity.name.clone()))
            .with("action", Node::text(action))
            .with("values", Node::Code(values.to_owned()))
            .with_some("guards", guards.map(|guards| Node::Code(guards.to_owned())));
        if let Action::Update { sets, appends, .. } = &self.action {
            record = record
                .with("sets", Node::texts(sets.iter().map(String::as_str)))
                .with_list("appends", appends.iter().map(Node::text).collect());
        }
        if let Action::Expression { update, names, .. } = &self.action {
            let names = names.iter().map(|(short, name)| (short.clone(), Node::text(name)));
            record = record
                .with("update", Node::text(update))
                .with("names", Node::Record(names.collect()))
                .with("arguments", Node::Code(arguments.to_owned()));
        }
        record.node()
    }
}

pub(super) fn write<'d>(design: &Design, write: &'d Write, prices: &Prices) -> WriteOutline<'d> {
    let plan = plan_write(design, write, prices);
    // The guards of an entity are written along with it, also where a write names them.
    let is_guard = |member: &&Member| {
        design.uniques().iter().any(|rule| {
            rule.by.as_ref().is_some_and(|by| by.name == member.entity.name)
                && write.entities().any(|entity| entity.name == rule.entity.name)
        })
    };
    let members = write.members.iter().filter(|member| !is_guard(member)).map(|member| {
        let effects = plan.effects.iter().filter(|effect| effect.entity == member.entity.name);
        let lacks = effects.flat_map(|effect| &effect.lacks).next().is_some();
        let rules = design.uniques().iter();
        let is_unique = rules.filter(|rule| rule.entity.name == member.entity.name).any(|rule| {
            write.sets.iter().any(|set| rule.by.is_some() && rule.fields.contains(&set.value))
        });
        MemberOutline { entity: &member.entity, action: action(write, member, lacks || is_unique) }
    });
    WriteOutline { members: members.collect(), write }
}

/// What is done with a member; `reads` if an update needs more of the item than the caller knows.
fn action(write: &Write, member: &Member, reads: bool) -> Action {
    let entity = &member.entity;
    let sets: Vec<String> = write
        .sets
        .iter()
        .map(|set| set.value.clone())
        .filter(|name| entity.field(name).is_some())
        .collect();
    match member.kind {
        WriteKind::Put => Action::Put,
        WriteKind::Create => Action::Create,
        WriteKind::Delete => Action::Delete,
        WriteKind::Check => Action::Check,
        WriteKind::Transact if sets.is_empty() => Action::Put,
        WriteKind::Update | WriteKind::Transact => match &write.expression {
            Some(expression) => Action::Expression {
                update: expression.text.value.clone(),
                names: expression.names.clone(),
                values: placeholders(&expression.text.value),
            },
            None => update(write, entity, sets, reads),
        },
    }
}

fn update(write: &Write, entity: &Entity, sets: Vec<String>, reads: bool) -> Action {
    let mut given = key_sources(entity);
    let known = write.given.iter().filter(|name| entity.field(name).is_some());
    given.extend(known.filter(|name| !sets.contains(name)).cloned());
    let mut once: Vec<String> = Vec::new();
    for name in given {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    let given = once;
    // A key that is written under a condition needs all that decides about it.
    let undecided = entity.keys.iter().any(|key| {
        let fields = key.shape.template().fields();
        let mut terms = key.when.iter().flat_map(|when| &when.terms).map(|term| term.name.as_str());
        let touched = fields.chain(terms.clone()).any(|name| sets.iter().any(|set| set == name));
        touched
            && terms.any(|name| ![&given, &sets].iter().any(|all| all.iter().any(|n| n == name)))
    });
    let appends = write.appends.iter().map(|field| field.value.clone());
    let appends: Vec<String> = appends.filter(|name| entity.field(name).is_some()).collect();
    let is_blind = !reads && !undecided;
    Action::Update { given, sets, appends, is_blind }
}

/// The `:names` of an expression, each once.
fn placeholders(expression: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in expression.split(':').skip(1) {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = part.get(..end.unwrap_or(part.len())).unwrap_or_default().to_owned();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
