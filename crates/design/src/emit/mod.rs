//! Infrastructure: the tables of a design as requests, CloudFormation, Terraform or CDK.

mod cdk;
mod cloudformation;
mod create_table;
mod terraform;

pub use self::create_table::{create_table, time_to_live};
use crate::check::CheckReport;
use crate::model::{Billing, Design, Index, Table};

/// What to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `CreateTable` requests, and `UpdateTimeToLive` where there is a TTL.
    CreateTable,
    /// An AWS CloudFormation template in JSON.
    CloudFormation,
    /// Terraform resources.
    Terraform,
    /// An AWS CDK stack in TypeScript.
    Cdk,
}

impl Target {
    /// Every target with its name on the command line.
    pub const ALL: [(&'static str, Self); 4] = [
        ("create-table", Self::CreateTable),
        ("cloudformation", Self::CloudFormation),
        ("terraform", Self::Terraform),
        ("cdk", Self::Cdk),
    ];

    /// The target with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, target)| target)
    }
}

/// The tables of a checked design as text. Provisioned tables get the capacity that the declared rates need.
pub fn emit(report: &CheckReport, target: Target) -> String {
    let Some(design) = &report.design else { return String::new() };
    match target {
        Target::CreateTable => create_table::text(design, report),
        Target::CloudFormation => cloudformation::text(design, report),
        Target::Terraform => terraform::text(design, report),
        Target::Cdk => cdk::text(design, report),
    }
}

/// Reserved capacity in units per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capacity {
    pub(crate) read: u64,
    pub(crate) write: u64,
}

/// The capacity that the declared peak rates need on one index; five each where nothing is declared, as
/// the AWS console offers. Nothing for on-demand tables.
pub(crate) fn capacity(report: &CheckReport, table: &Table, index: &Index) -> Option<Capacity> {
    if table.billing != Billing::Provisioned {
        return None;
    }
    let mut read: f64 = 0.0;
    for plan in &report.plans {
        let uses =
            plan.reads.iter().any(|r| r.table.name == table.name && r.index().name == index.name);
        if let (true, Some(units)) = (uses, plan.estimate.peak_units_per_second) {
            read += units;
        }
    }
    let design = report.design.as_ref()?;
    let mut write: f64 = 0.0;
    for (declared, plan) in design.writes().iter().zip(&report.writes) {
        let Some(rate) = declared.rate else { continue };
        let here = declared.entities.iter().any(|entity| entity.table.name == table.name);
        let units: f64 = match &index.name {
            None => plan.table_units,
            Some(name) => {
                plan.effects.iter().filter(|e| e.index == *name).map(|effect| effect.units).sum()
            }
        };
        if here {
            write += rate.peak * units;
        }
    }
    let units = |needed: f64| if needed > 0.0 { needed.ceil() as u64 } else { 5 };
    Some(Capacity { read: units(read), write: units(write) })
}

/// A name as CloudFormation and CDK like it: `task-events` becomes `TaskEvents`.
pub(crate) fn pascal_case(name: &str) -> String {
    let mut joined = String::with_capacity(name.len());
    for part in name.split(|c: char| !c.is_ascii_alphanumeric()) {
        let mut chars = part.chars();
        joined.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        joined.push_str(chars.as_str());
    }
    joined
}

/// The tables of a design with their indexes, as all emitters need them.
pub(crate) fn tables(design: &Design) -> impl Iterator<Item = &Table> {
    design.tables().iter().map(AsRef::as_ref)
}
