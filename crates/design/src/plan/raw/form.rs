//! A legal hand-written request.

use keyloom_core::{AttributeValue, Number};
use keyloom_keys::Value;

use super::super::Verdict;
use super::super::concrete::{ConcreteRead, ReadForm, ReadKind, SortCondition};
use super::super::request::Placeholder;
use crate::evaluate::Inputs;
use crate::generate::sample;
use crate::model::{Access, Escape, Index, KeyType, Table};

/// A hand-written request that DynamoDB would accept.
#[derive(Clone, Debug, PartialEq)]
pub struct RawForm {
    /// The position of the index in the table.
    pub index: usize,
    read: ReadForm<Placeholder>,
    /// What no input may contain, because it separates the parts of keys.
    separator: Option<String>,
    /// Whether it is proven for being what `where` compiles to.
    as_planned: bool,
}

impl RawForm {
    pub(super) fn new(index: usize, read: ReadForm<Placeholder>, table: &Table) -> Self {
        let separator = (table.escape != Escape::None).then(|| table.separator.clone());
        Self { index, read, separator, as_planned: false }
    }

    /// The same request, proven for being the planned one.
    pub(super) fn proven(mut self, forward: bool) -> Self {
        self.read.forward = forward;
        self.as_planned = true;
        self
    }

    /// Whether it is proven for being what `where` compiles to.
    pub fn is_as_planned(&self) -> bool {
        self.as_planned
    }

    /// The same request, read upwards or downwards, with what a local index has to fetch.
    pub(super) fn read(mut self, forward: bool, fetches: bool) -> Self {
        self.read.forward = forward;
        self.read.all_attributes = fetches;
        self
    }

    /// The request with `{name}` for inputs.
    pub fn form(&self) -> ReadForm<Placeholder> {
        self.read.clone()
    }

    pub(super) fn index_of<'t>(&self, table: &'t Table) -> &'t Index {
        table.indexes.get(self.index).unwrap_or_else(|| table.primary())
    }

    /// The text of the first partition key attribute.
    pub(super) fn equal(&self) -> &[(String, Placeholder)] {
        &self.read.equal
    }

    pub(super) fn sort(&self) -> Option<&(String, SortCondition<Placeholder>)> {
        self.read.sort.as_ref()
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self.read.kind {
            ReadKind::Get => Verdict::Get,
            ReadKind::Query if !self.read.filter.is_empty() => Verdict::Filter,
            ReadKind::Query => Verdict::Query,
        }
    }

    /// The names of its inputs: `{user_id}` in a text.
    pub fn inputs(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut add = |placeholder: &Placeholder| {
            for name in placeholders(&placeholder.text) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        };
        self.read.equal.iter().for_each(|(_, value)| add(value));
        match &self.read.sort {
            Some((_, SortCondition::Between(low, high))) => {
                add(low);
                add(high);
            }
            Some((_, SortCondition::BeginsWith(value) | SortCondition::Compare(_, value))) => {
                add(value);
            }
            None => {}
        }
        for operand in self.read.filter.iter().flat_map(|(_, test)| test.operands()) {
            add(operand);
        }
        names
    }

    /// Gives inputs that only the hand-written text names a plausible value.
    pub(in crate::plan) fn add_inputs(&self, access: &Access, inputs: &mut Inputs) {
        for name in self.inputs() {
            let field = access.find.iter().find_map(|entity| entity.field(&name));
            // A name of the program's own stands for what is compared with it: a text that is a number, too.
            let plausible = || field.map_or_else(|| Value::from("1"), |field| sample(field, 3));
            inputs.entry(name).or_insert_with(plausible);
        }
    }

    /// The request with values.
    pub fn concrete(&self, inputs: &Inputs) -> Result<ConcreteRead, String> {
        let value = |placeholder: &Placeholder| {
            let avoid = self.separator.as_deref().filter(|_| placeholder.kind == "S");
            fill(placeholder, inputs, avoid)
        };
        let mut equal = Vec::new();
        for (name, placeholder) in &self.read.equal {
            equal.push((name.clone(), value(placeholder)?));
        }
        let sort = match &self.read.sort {
            None => None,
            Some((name, condition)) => Some((
                name.clone(),
                match condition {
                    SortCondition::BeginsWith(text) => SortCondition::BeginsWith(value(text)?),
                    SortCondition::Between(low, high) => {
                        SortCondition::Between(value(low)?, value(high)?)
                    }
                    SortCondition::Compare(comparison, text) => {
                        SortCondition::Compare(*comparison, value(text)?)
                    }
                },
            )),
        };
        let mut filter = Vec::new();
        for (name, test) in &self.read.filter {
            filter.push((name.clone(), test.try_map(|operand| fill(operand, inputs, None))?));
        }
        Ok(ConcreteRead {
            kind: self.read.kind,
            table: self.read.table.clone(),
            index: self.read.index.clone(),
            equal,
            sort,
            filter,
            forward: self.read.forward,
            limit: self.read.limit,
            consistent: self.read.consistent,
            all_attributes: self.read.all_attributes,
        })
    }
}

/// A text with its inputs filled in, none of which may contain what is to be avoided.
fn fill(
    placeholder: &Placeholder,
    inputs: &Inputs,
    avoid: Option<&str>,
) -> Result<AttributeValue, String> {
    let mut text = String::new();
    let mut rest = placeholder.text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (name, tail) = after.split_once('}').unwrap_or((after, ""));
        let name = name.split(':').next().unwrap_or(name);
        match inputs.get(name) {
            Some(value) => {
                let value = value.to_string();
                if let Some(separator) = avoid.filter(|separator| value.contains(*separator)) {
                    return Err(format!(
                        "`{name}` contains `{separator}`, which separates the parts of keys"
                    ));
                }
                text.push_str(&value);
            }
            None => return Err(format!("the input `{name}` has no value")),
        }
        rest = tail;
    }
    text.push_str(rest);
    if placeholder.kind == KeyType::N.as_str() {
        return match text.parse::<Number>() {
            Ok(number) => Ok(AttributeValue::N(number)),
            Err(_) => Err(format!("`{text}` is not a number")),
        };
    }
    match placeholder.kind {
        "BOOL" => Ok(AttributeValue::Bool(text == "true")),
        _ => Ok(AttributeValue::from(text)),
    }
}

/// The names in braces.
pub(super) fn placeholders(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((name, tail)) = after.split_once('}') else { break };
        names.push(name.split(':').next().unwrap_or(name).to_owned());
        rest = tail;
    }
    names
}
