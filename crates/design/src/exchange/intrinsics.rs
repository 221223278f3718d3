//! The functions of CloudFormation, calculated as far as a template tells: from the defaults of its parameters, its mappings
//! and its conditions.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::text;

/// How deeply conditions may use each other.
const MAX_DEPTH: usize = 32;

/// Calculates what a template tells.
pub(super) struct Resolver<'t> {
    template: &'t Json,
    /// Parameters whose defaults were used.
    used: RefCell<BTreeSet<String>>,
    /// Conditions that were judged: each only once, however often others use it.
    judged: RefCell<BTreeMap<String, Option<bool>>>,
    /// How many conditions are being judged, one for another.
    depth: Cell<usize>,
}

/// The function that a value is, if it is one.
pub(super) fn function_of(value: &Json) -> Option<&str> {
    let (name, _) = only(value)?;
    (name == "Ref" || name == "Condition" || name.starts_with("Fn::")).then_some(name)
}

/// Whether a name is only known when a stack is deployed; also one with a variable in it.
pub(super) fn is_calculated(value: Option<&Json>) -> bool {
    match value {
        None => false,
        Some(Json::String(text)) => text.contains("${"),
        Some(_) => true,
    }
}

fn only(value: &Json) -> Option<(&str, &Json)> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.iter().next().map(|(name, value)| (name.as_str(), value))
}

impl<'t> Resolver<'t> {
    pub(super) fn new(template: &'t Json) -> Self {
        Self {
            template,
            used: RefCell::default(),
            judged: RefCell::default(),
            depth: Cell::default(),
        }
    }

    /// The parameters whose defaults were used.
    pub(super) fn defaults(&self) -> BTreeSet<String> {
        self.used.borrow().clone()
    }

    /// A value in which all functions that can be calculated are; the others stay.
    pub(super) fn resolved(&self, value: &Json) -> Json {
        if let Some(function) = function_of(value) {
            return self.function(function, value).unwrap_or_else(|| value.clone());
        }
        let is_none = |value: &Json| text(value, "Ref") == Some("AWS::NoValue");
        match value {
            Json::Array(list) => {
                list.iter().map(|one| self.resolved(one)).filter(|one| !is_none(one)).collect()
            }
            Json::Object(map) => {
                let members = map.iter().map(|(name, one)| (name.clone(), self.resolved(one)));
                Json::Object(members.filter(|(_, one)| !is_none(one)).collect())
            }
            other => other.clone(),
        }
    }

    /// The value of a function.
    fn function(&self, name: &str, value: &Json) -> Option<Json> {
        let arguments = only(value)?.1;
        match name {
            "Ref" => self.parameter(arguments.as_str()?),
            "Fn::Sub" => self.substituted(arguments),
            "Fn::Join" => {
                let parts = self.resolved(arguments.get(1)?);
                let parts: Option<Vec<String>> =
                    parts.as_array()?.iter().map(scalar_text).collect();
                Some(Json::from(parts?.join(arguments.get(0)?.as_str()?)))
            }
            "Fn::FindInMap" => {
                let keys = self.resolved(arguments);
                let keys: Option<Vec<String>> = keys.as_array()?.iter().map(scalar_text).collect();
                let mut found = self.template.get("Mappings")?;
                for key in keys? {
                    found = found.get(key)?;
                }
                Some(found.clone())
            }
            "Fn::If" => {
                let holds = self.holds(arguments.get(0)?.as_str()?)?;
                Some(self.resolved(arguments.get(if holds { 1 } else { 2 })?))
            }
            "Fn::Select" => {
                let list = self.resolved(arguments.get(1)?);
                let at: usize = scalar_text(arguments.get(0)?)?.parse().ok()?;
                list.as_array()?.get(at).cloned()
            }
            _ => None,
        }
    }

    /// The default of a parameter.
    fn parameter(&self, name: &str) -> Option<Json> {
        let parameter = self.template.get("Parameters")?.get(name)?;
        let default = parameter.get("Default")?;
        self.used.borrow_mut().insert(name.to_owned());
        let is_list = text(parameter, "Type")
            .is_some_and(|kind| kind.starts_with("List<") || kind == "CommaDelimitedList");
        match default.as_str().filter(|_| is_list) {
            Some(list) => Some(list.split(',').map(|one| Json::from(one.trim())).collect()),
            None => Some(default.clone()),
        }
    }

    /// A text with the values of all its variables; none if one of them is unknown.
    fn substituted(&self, arguments: &Json) -> Option<Json> {
        let (pattern, own) = match arguments {
            Json::String(pattern) => (pattern.as_str(), Map::new()),
            _ => (arguments.get(0)?.as_str()?, arguments.get(1)?.as_object()?.clone()),
        };
        let mut parts = pattern.split("${");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}')?;
            if let Some(literal) = name.strip_prefix('!') {
                text.extend(["${", literal, "}"]);
            } else {
                let value = match own.get(name) {
                    Some(value) => self.resolved(value),
                    None => self.parameter(name)?,
                };
                text.push_str(&scalar_text(&value)?);
            }
            text.push_str(rest);
        }
        Some(Json::from(text))
    }

    /// Whether a condition holds; none if that depends on the deployment, or on itself.
    fn holds(&self, name: &str) -> Option<bool> {
        if let Some(known) = self.judged.borrow().get(name) {
            return *known;
        }
        let condition = self.template.get("Conditions")?.get(name)?;
        // What it is taken for where it uses itself.
        self.judged.borrow_mut().insert(name.to_owned(), None);
        let holds = self.judge(condition);
        self.judged.borrow_mut().insert(name.to_owned(), holds);
        holds
    }

    fn judge(&self, condition: &Json) -> Option<bool> {
        let depth = self.depth.get();
        if depth > MAX_DEPTH {
            return None;
        }
        self.depth.set(depth + 1);
        let holds = self.calculate(condition);
        self.depth.set(depth);
        holds
    }

    fn calculate(&self, condition: &Json) -> Option<bool> {
        let (name, arguments) = only(condition)?;
        let all = || arguments.as_array().into_iter().flatten();
        let judged = || all().map(|one| self.judge(one)).collect::<Option<Vec<bool>>>();
        match name {
            "Condition" => self.holds(arguments.as_str()?),
            "Fn::Equals" => {
                let first = scalar_text(&self.resolved(arguments.get(0)?))?;
                Some(first == scalar_text(&self.resolved(arguments.get(1)?))?)
            }
            "Fn::Not" => self.judge(arguments.get(0)?).map(|holds| !holds),
            "Fn::And" => judged().map(|all| all.into_iter().all(|holds| holds)),
            "Fn::Or" => judged().map(|all| all.into_iter().any(|holds| holds)),
            _ => None,
        }
    }
}

/// A text, a number or a flag as text.
fn scalar_text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
