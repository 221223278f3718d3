//! Values replaced by others, alike wherever they stand: in attributes, in keys and in indexes of every entity.
//!
//! A rule changes the value of a field; the keys are then made anew from the values, as the design says. What a value
//! becomes depends on the value and the secret alone, not on the field, so that a reference still leads to its item.

mod replace;
mod shuffle;

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use keyloom_core::{AttributeValue, Item};
use keyloom_design::Design;
use keyloom_design::evaluate::Row;
use keyloom_design::generate::set_shards;
use keyloom_design::key::{Piece, attribute_of};
use keyloom_design::model::{Entity, Field, FieldKind};

use self::replace::Replacer;
use crate::output::Failure;

/// What becomes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A keyed hash: the value cannot be guessed without the secret.
    Hash,
    /// Another value of the same shape: letters for letters, digits for digits; never the same for two values.
    Fake,
    /// Letters become `x`, digits `0`.
    Mask,
    /// The attribute is left out.
    Drop,
    /// It stays, and that is meant so.
    Keep,
}

/// A rule for a field, of one entity or of all.
#[derive(Clone, Debug)]
pub(crate) struct RuleFor {
    entity: Option<String>,
    field: String,
    rule: Rule,
}

impl FromStr for RuleFor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rule) = text.split_once('=').ok_or("write FIELD=RULE, as in email=hash")?;
        let rule = match rule.trim() {
            "hash" => Rule::Hash,
            "fake" => Rule::Fake,
            "mask" => Rule::Mask,
            "drop" => Rule::Drop,
            "keep" => Rule::Keep,
            other => return Err(format!("`{other}` is no rule: hash, fake, mask, drop or keep")),
        };
        let (entity, field) = match name.trim().split_once('.') {
            Some((entity, field)) => (Some(entity.to_owned()), field),
            None => (None, name.trim()),
        };
        Ok(Self { entity, field: field.to_owned(), rule })
    }
}

/// Replaces the values of items by made-up ones of the same shape.
pub(crate) struct Anonymiser {
    rules: BTreeMap<(String, String), Rule>,
    replacer: Replacer,
    left_out: Mutex<BTreeSet<String>>,
}

impl Anonymiser {
    /// Checks the rules against the design: each must fit its field, and the fields that stand in the same place of keys
    /// must have the same rule, or items would no longer find one another.
    pub(crate) fn new(
        design: &Design,
        wanted: &[RuleFor],
        secret: Vec<u8>,
    ) -> Result<Self, Failure> {
        let mut rules = BTreeMap::new();
        for rule in wanted {
            let own = |entity: &&Arc<Entity>| {
                rule.entity.as_ref().is_none_or(|name| *name == entity.name)
            };
            let fields = design.entities().iter().filter(own);
            let fields: Vec<(&Arc<Entity>, &Field)> =
                fields.filter_map(|entity| Some((entity, entity.field(&rule.field)?))).collect();
            if fields.is_empty() {
                let name =
                    rule.entity.iter().chain([&rule.field]).cloned().collect::<Vec<_>>().join(".");
                return Err(Failure::refused(format_args!(
                    "--anonymise: the design has no field `{name}`"
                )));
            }
            for (entity, field) in fields {
                check(entity, field, rule.rule)?;
                // A rule for one entity goes before a rule for all.
                let place = (entity.name.clone(), field.name.clone());
                if rule.entity.is_some() || !rules.contains_key(&place) {
                    rules.insert(place, rule.rule);
                }
            }
        }
        let anonymiser =
            Self { rules, replacer: Replacer::new(secret), left_out: Mutex::default() };
        anonymiser.check_references(design)?;
        Ok(anonymiser)
    }

    fn rule(&self, entity: &Entity, field: &str) -> Option<Rule> {
        self.rules.get(&(entity.name.clone(), field.to_owned())).copied()
    }

    /// `USER#{user}` of one entity and `USER#{friend}` of another name the same things.
    fn check_references(&self, design: &Design) -> Result<(), Failure> {
        type Seen<'d> = BTreeMap<&'d str, (Option<Rule>, String)>;
        let mut seen: Seen<'_> = BTreeMap::new();
        for entity in design.entities() {
            for key in entity.keys.iter().filter(|key| !key.shape.is_native()) {
                let mut before = None;
                for piece in key.shape.template().pieces() {
                    let Piece::Field(field) = piece else {
                        before = literal(piece);
                        continue;
                    };
                    let Some(literal) = before.take() else { continue };
                    let rule = self.rule(entity, field.name());
                    let place = format!(
                        "{}.{} in {} = \"{}\"",
                        entity.name,
                        field.name(),
                        key.attribute,
                        key.shape.template().text()
                    );
                    let (known, first) = seen.entry(literal).or_insert((rule, place.clone()));
                    let kept = [*known, rule].contains(&Some(Rule::Keep));
                    if *known != rule && !kept {
                        return Err(Failure::refused(format_args!(
                            "--anonymise: {first} and {place} stand behind the same `{literal}` and have different rules, \
                             so that items would no longer find one another; give both the same rule, or one of them `keep`"
                        )));
                    }
                }
            }
        }
        Ok(())
    }

    /// An item with its values replaced and its keys made of the new ones.
    pub(crate) fn apply(&self, entity: &Arc<Entity>, item: &Item) -> Result<Item, String> {
        let mut row = Row::from_item(entity, item);
        let mut made = Item::new();
        for field in &entity.fields {
            let rule = self.rule(entity, &field.name).filter(|rule| *rule != Rule::Keep);
            if rule == Some(Rule::Drop) {
                row.values.remove(&field.name);
                continue;
            }
            let stored = item.get(&field.name).filter(|_| field.is_stored());
            let Some(rule) = rule else {
                if let Some(stored) = stored {
                    made.insert(field.name.as_str(), stored.clone());
                }
                continue;
            };
            if let FieldKind::Scalar(format) = &field.kind {
                let Some(value) = row.values.get(&field.name) else { continue };
                let value = self.replacer.value(rule, format, value)?;
                if stored.is_some() {
                    made.insert(field.name.as_str(), attribute_of(field, &value));
                }
                row.values.insert(field.name.clone(), value);
            } else if let Some(stored) = stored {
                made.insert(field.name.as_str(), self.replacer.attribute(rule, stored));
            }
        }
        set_shards(&mut row);
        add_keys(&row, item, &mut made)?;
        self.note_unknown(entity, item);
        Ok(made)
    }

    /// What the design does not know may hold anything, and is left out.
    fn note_unknown(&self, entity: &Entity, item: &Item) {
        let known = |name: &str| {
            entity.field(name).is_some()
                || entity.key(name).is_some()
                || entity.table.type_attribute.as_deref() == Some(name)
        };
        let unknown: Vec<String> =
            item.keys().filter(|name| !known(name.as_str())).map(ToString::to_string).collect();
        if !unknown.is_empty() {
            self.left_out.lock().unwrap_or_else(PoisonError::into_inner).extend(unknown);
        }
    }

    /// The attributes that were left out.
    pub(crate) fn left_out(&self) -> Vec<String> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// The keys that the item had, made of the new values.
fn add_keys(row: &Row, item: &Item, made: &mut Item) -> Result<(), String> {
    let entity = &row.entity;
    for attribute in entity.table.key_attributes() {
        let Some(key) = entity.key(&attribute.name) else { continue };
        if !item.contains_key(&attribute.name) {
            continue;
        }
        match row.key_attribute(key, attribute.kind) {
            Some(value) => drop(made.insert(attribute.name.as_str(), value)),
            None => {
                return Err(format!("`{}` cannot be made of the new values", attribute.name));
            }
        }
    }
    if let Some(name) = &entity.table.type_attribute {
        made.insert(name.as_str(), AttributeValue::from(entity.name.as_str()));
    }
    Ok(())
}

fn literal(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Literal(text) => Some(text),
        Piece::Field(_) => None,
    }
}

/// Whether a rule makes sense for a field.
fn check(entity: &Entity, field: &Field, rule: Rule) -> Result<(), Failure> {
    let refuse = |reason: &str| {
        Err(Failure::refused(format_args!("--anonymise: {}.{}: {reason}", entity.name, field.name)))
    };
    let in_key =
        entity.keys.iter().any(|key| key.shape.template().fields().any(|name| name == field.name));
    match rule {
        Rule::Keep => Ok(()),
        Rule::Mask | Rule::Drop if in_key => refuse(
            "it stands in a key, and different items would get the same one: use fake or hash",
        ),
        Rule::Drop => Ok(()),
        _ if field.is_time() => refuse("it is a time, by which items are ordered: drop or keep it"),
        _ if field.values().is_some() => refuse("the design lists its values: drop or keep it"),
        Rule::Hash => match replace::hash_room(field) {
            Ok(()) => Ok(()),
            Err(reason) => refuse(&reason),
        },
        Rule::Fake | Rule::Mask => Ok(()),
    }
}
