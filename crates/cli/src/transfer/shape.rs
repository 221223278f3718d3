//! What a design makes of a row.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use keyloom::Item;
use keyloom_design::cost::Prices;
use keyloom_design::evaluate::{entity_of, stranger, typed};
use keyloom_design::model::{Entity, Table};
use keyloom_design::{CheckReport, Design};

use super::anonymise::{Anonymiser, RuleFor};
use crate::design_file::{check_file, design_of};
use crate::nearest::nearest;
use crate::output::Failure;

/// What a design has to do with the rows.
#[derive(Args, Debug, Default)]
pub(crate) struct ShapeOptions {
    /// Design whose entities the items are; others are refused, and so are values of other types.
    #[arg(long, value_name = "FILE")]
    pub(crate) design: Option<PathBuf>,
    /// Replace values: FIELD=RULE or Entity.FIELD=RULE, where the rule is hash, fake, mask, drop or keep; several are
    /// separated by commas. Keys and indexes follow, so that items still refer to one another.
    #[arg(long, value_name = "RULES", value_delimiter = ',', requires = "design")]
    pub(crate) anonymise: Vec<RuleFor>,
    /// File with the secret of --anonymise: the same secret gives the same values. Without it, each run draws its own.
    #[arg(long, value_name = "FILE", requires = "anonymise")]
    pub(crate) secret: Option<PathBuf>,
}

/// A design applied to the rows of one table.
pub(crate) struct Shape {
    report: CheckReport,
    table: Arc<Table>,
    entity: Option<Arc<Entity>>,
    anonymiser: Option<Anonymiser>,
    /// Attributes of rows that the design does not have.
    unknown: Mutex<BTreeSet<String>>,
}

/// How many unknown attributes are kept to be named.
const NAMED: usize = 20;

impl Shape {
    /// Reads the design; nothing if none was named.
    pub(crate) fn new(
        options: &ShapeOptions,
        table: Option<&str>,
        entity: Option<&str>,
    ) -> Result<Option<Self>, Failure> {
        let Some(file) = &options.design else { return Ok(None) };
        let report = check_file(file, &Prices::default())?;
        Self::of(report, options, table, entity).map(Some)
    }

    /// A design that was read already; its file in the options counts no more.
    pub(crate) fn of(
        report: CheckReport,
        options: &ShapeOptions,
        table: Option<&str>,
        entity: Option<&str>,
    ) -> Result<Self, Failure> {
        let design = design_of(&report)?;
        let entity = entity.map(|name| named_entity(design, name)).transpose()?;
        let table = chosen_table(design, table, entity.as_ref())?;
        let anonymiser = match options.anonymise.as_slice() {
            [] => None,
            rules => Some(Anonymiser::new(design, rules, secret(options.secret.as_deref())?)?),
        };
        Ok(Self { report, table, entity, anonymiser, unknown: Mutex::default() })
    }

    /// The table that has this shape.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// The checked design.
    pub(crate) fn report(&self) -> &CheckReport {
        &self.report
    }

    /// Every attribute that items of the table may have, keys first.
    pub(crate) fn attributes(&self) -> Vec<String> {
        let keys = self.table.key_attributes().into_iter().map(|key| key.name.clone());
        let mut names: Vec<String> = keys.chain(self.table.type_attribute.clone()).collect();
        for entity in self.report.design.iter().flat_map(|design| design.entities_in(&self.table)) {
            for field in entity.fields.iter().filter(|field| field.is_stored()) {
                names.push(field.name.clone());
            }
        }
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// A row as the design wants it.
    pub(crate) fn apply(&self, item: Item) -> Result<Item, String> {
        let design = self.report.design.as_ref();
        let known = match &self.entity {
            Some(entity) => Some(entity),
            None => design.and_then(|design| entity_of(design, &self.table.name, &item)),
        };
        let entity = known.ok_or_else(|| self.unknown_entity(&item))?;
        let item = typed(entity, item)?;
        if let Some(anonymiser) = &self.anonymiser {
            return anonymiser.apply(entity, &item);
        }
        self.note_unknown(entity, &item);
        Ok(item)
    }

    /// The error for a row whose entity cannot be determined.
    fn unknown_entity(&self, item: &Item) -> String {
        let mut keys = self.table.primary().attributes();
        match keys.find(|key| !item.contains_key(&key.name)) {
            Some(key) => format!(
                "there is no `{}`, which tells the entity; --entity says what rows without keys are",
                key.name
            ),
            None => stranger(&self.table, item),
        }
    }

    fn note_unknown(&self, entity: &Entity, item: &Item) {
        let is_known = |name: &str| {
            entity.field(name).is_some()
                || self.table.type_attribute.as_deref() == Some(name)
                || self.table.key_attributes().iter().any(|key| key.name == name)
        };
        for (name, _) in item.iter().filter(|(name, _)| !is_known(name)) {
            let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
            if unknown.len() < NAMED {
                unknown.insert(name.to_string());
            }
        }
    }

    /// Attributes of rows that the design does not have, and that were kept.
    pub(crate) fn unknown(&self) -> Vec<String> {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// The rules of uniqueness whose guards are items of their own, which rows of this table do not bring along.
    pub(crate) fn unguarded(&self) -> Vec<String> {
        let rules = self.report.design.iter().flat_map(Design::uniques);
        let here = rules.filter(|rule| rule.entity.table.name == self.table.name);
        let loaded = here.filter(|rule| {
            rule.by.is_some() && self.entity.as_ref().is_none_or(|one| one.name == rule.entity.name)
        });
        loaded.map(|rule| format!("{} ({})", rule.name, rule.fields.join(", "))).collect()
    }

    /// Attributes that were left out because the design does not have them.
    pub(crate) fn left_out(&self) -> Vec<String> {
        self.anonymiser.as_ref().map(Anonymiser::left_out).unwrap_or_default()
    }
}

fn named_entity(design: &Design, name: &str) -> Result<Arc<Entity>, Failure> {
    design.entity(name).cloned().ok_or_else(|| {
        let names: Vec<&str> =
            design.entities().iter().map(|entity| entity.name.as_str()).collect();
        Failure::refused(format_args!("the design has no entity `{name}`{}", nearest(name, &names)))
    })
}

/// The table that is meant: the one that is named, the entity's, or the only one.
fn chosen_table(
    design: &Design,
    name: Option<&str>,
    entity: Option<&Arc<Entity>>,
) -> Result<Arc<Table>, Failure> {
    let names: Vec<&str> = design.tables().iter().map(|table| table.name.as_str()).collect();
    match (name, entity, design.tables()) {
        (Some(name), Some(entity), _) if entity.table.name != name => Err(Failure::refused(
            format_args!("{} is in table `{}`, not in `{name}`", entity.name, entity.table.name),
        )),
        (_, Some(entity), _) => Ok(Arc::clone(&entity.table)),
        (Some(name), None, tables) => {
            tables.iter().find(|table| table.name == name).cloned().ok_or_else(|| {
                Failure::refused(format_args!(
                    "the design has no table `{name}`{}",
                    nearest(name, &names)
                ))
            })
        }
        (None, None, [table]) => Ok(Arc::clone(table)),
        (None, None, _) => Err(Failure::refused(format_args!(
            "say which table with --table: {}",
            names.join(", ")
        ))),
    }
}

/// The secret of a file, or a new one.
fn secret(file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let Some(path) = file else {
        let mut secret = vec![0; 32];
        return match getrandom::fill(&mut secret) {
            Ok(()) => Ok(secret),
            Err(error) => {
                Err(Failure::refused(format_args!("no random secret can be drawn: {error}")))
            }
        };
    };
    let secret = std::fs::read(path).map_err(|error| {
        Failure::refused(format_args!("{} cannot be read: {error}", path.display()))
    })?;
    if secret.trim_ascii().len() < 16 {
        return Err(Failure::refused(format_args!(
            "the secret in {} has less than 16 bytes, which can be guessed: `openssl rand -hex 32` makes one",
            path.display()
        )));
    }
    Ok(secret.trim_ascii().to_vec())
}
