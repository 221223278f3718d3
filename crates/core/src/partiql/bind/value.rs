//! Binds literals.

use std::fmt;

use super::super::ast::{Expr, ExprKind};
use super::Binder;
use crate::error::message::{partiql as message, value as value_message};
use crate::error::{Error, Result};
use crate::limits::MAX_NESTING;
use crate::number::{Number, scale_error};
use crate::value::{AttributeValue, Item, Str, check_attribute_name};

/// The path from an attribute's value, which messages call `root`, to a literal inside it.
#[derive(Default)]
struct Place<'a> {
    steps: Vec<PlaceStep<'a>>,
}

enum PlaceStep<'a> {
    Key(&'a str),
    Index(usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("root")?;
        self.steps.iter().try_for_each(|step| match step {
            PlaceStep::Key(key) => write!(f, ".{key}"),
            PlaceStep::Index(index) => write!(f, "[{index}]"),
        })
    }
}

impl Binder {
    /// An item: a literal map whose values may also be parameters.
    pub(super) fn item(&mut self, fields: &[(Expr, Expr)]) -> Result<Item> {
        let mut item = Item::with_capacity(fields.len());
        for (name, value) in fields {
            let name = field_name(name, &Place::default())?;
            let value = self.value(value)?;
            if item.insert(name.clone(), value).is_some() {
                return Err(duplicate_key(name, &Place::default()));
            }
        }
        Ok(item)
    }

    /// A literal, or a parameter.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<AttributeValue> {
        match &expr.kind {
            ExprKind::Parameter(number) => Ok(AttributeValue::clone(&*self.parameter(*number)?)),
            _ => literal(expr, &mut Place::default()),
        }
    }
}

/// Whether an expression is a literal.
pub(super) fn is_literal(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::String(_)
            | ExprKind::Number(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::Ion(_)
            | ExprKind::List(_)
            | ExprKind::Bag(_)
            | ExprKind::Struct(_)
    )
}

fn literal<'a>(expr: &'a Expr, place: &mut Place<'a>) -> Result<AttributeValue> {
    if place.steps.len() >= MAX_NESTING {
        return Err(message::under(message::NESTING, place));
    }
    Ok(match &expr.kind {
        ExprKind::String(text) => AttributeValue::S(text.clone()),
        ExprKind::Number(text) => AttributeValue::N(number(text, place)?),
        ExprKind::Bool(value) => AttributeValue::Bool(*value),
        ExprKind::Null => AttributeValue::Null,
        ExprKind::List(members) => {
            let mut list = Vec::with_capacity(members.len());
            for (index, member) in members.iter().enumerate() {
                place.steps.push(PlaceStep::Index(index));
                list.push(literal(member, place)?);
                place.steps.pop();
            }
            AttributeValue::L(list)
        }
        ExprKind::Struct(fields) => AttributeValue::M(map(fields, place)?),
        ExprKind::Bag(members) => set(members, place)?,
        ExprKind::Ion(text) => {
            let what = format_args!("Ion Literals are not supported: {text} under key {place}");
            return Err(message::at(what, expr.span));
        }
        kind => {
            let kind = match kind {
                ExprKind::Call(name, _) => name,
                kind => kind.node(),
            };
            let what = format_args!("Unsupported data type: {kind} under key {place}");
            return Err(message::at(what, expr.span));
        }
    })
}

fn map<'a>(fields: &'a [(Expr, Expr)], place: &mut Place<'a>) -> Result<Item> {
    let mut map = Item::with_capacity(fields.len());
    for (name, value) in fields {
        let name = field_name(name, place)?;
        place.steps.push(PlaceStep::Key(name));
        let value = literal(value, place)?;
        place.steps.pop();
        if map.insert(name.clone(), value).is_some() {
            return Err(duplicate_key(name, place));
        }
    }
    Ok(map)
}

fn field_name<'a>(name: &'a Expr, place: &Place<'_>) -> Result<&'a Str> {
    match &name.kind {
        ExprKind::String(name) => check_attribute_name(name).map(|()| name),
        kind => {
            let kind = kind.node();
            let what = format_args!("Tuple keys must be of type String. Actual type: {kind}");
            Err(message::under(what, place))
        }
    }
}

fn duplicate_key(name: &str, place: &Place<'_>) -> Error {
    message::under(format_args!("Duplicate keys in tuple. Key: {name}"), place)
}

fn number(text: &str, place: &Place<'_>) -> Result<Number> {
    let read = match scale_error(text) {
        Some(error) => Err(error),
        None => Number::parse(text),
    };
    read.map_err(|error| message::under(value_message::number(&error), place))
}

/// A set of strings or of numbers.
fn set<'a>(members: &'a [Expr], place: &mut Place<'a>) -> Result<AttributeValue> {
    let Some(first) = members.first() else { return Err(message::empty_bag()) };
    match first.kind {
        ExprKind::String(_) => string_set(members),
        ExprKind::Number(_) => number_set(members, place),
        _ => Err(message::bag_member()),
    }
}

fn string_set(members: &[Expr]) -> Result<AttributeValue> {
    let strings = members.iter().map(|member| match &member.kind {
        ExprKind::String(text) => Ok(text.clone()),
        _ => Err(message::bag_member()),
    });
    let strings: Vec<Str> = strings.collect::<Result<_>>()?;
    if has_duplicate(&strings) {
        return Err(Error::validation(value_message::duplicate_strings(&strings)));
    }
    Ok(AttributeValue::string_set(strings))
}

fn number_set<'a>(members: &'a [Expr], place: &mut Place<'a>) -> Result<AttributeValue> {
    let mut numbers = Vec::with_capacity(members.len());
    let mut texts = Vec::with_capacity(members.len());
    for (index, member) in members.iter().enumerate() {
        let ExprKind::Number(text) = &member.kind else { return Err(message::bag_member()) };
        place.steps.push(PlaceStep::Index(index));
        numbers.push(number(text, place)?);
        place.steps.pop();
        texts.push(text.as_str());
    }
    if has_duplicate(&numbers) {
        return Err(message::under(message::duplicate_numbers(&texts), place));
    }
    Ok(AttributeValue::number_set(numbers))
}

fn has_duplicate<T: Ord>(members: &[T]) -> bool {
    let mut sorted: Vec<&T> = members.iter().collect();
    sorted.sort();
    sorted.windows(2).any(|pair| pair.first() == pair.last())
}
