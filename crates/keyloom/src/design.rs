//! A design at run time: the design embedded in the program is parsed once, and its patterns are planned on first
//! use.

use std::sync::OnceLock;

use keyloom_design::cost::Prices;
use keyloom_design::model::Access as Pattern;
use keyloom_design::plan::{Plan, plan_access};

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::migrate::During;
use crate::table::Table;

/// A set of tables with their entities and access patterns. The `design` attribute implements it.
pub trait Design: Sized + 'static {
    /// The design as a file: what `keyloom check` reads.
    const TOML: &'static str;

    /// The parsed design.
    fn model() -> &'static Result<Model, String>;

    /// The design with earlier numbers of shards, the last one first: items may still be where those put them.
    fn earlier() -> &'static Result<Vec<Model>, String> {
        static NONE: Result<Vec<Model>, String> = Ok(Vec::new());
        &NONE
    }

    /// The design as a file.
    fn to_toml() -> &'static str {
        Self::TOML
    }

    /// Opens the design's tables. Those that an embedded database does not have are made; those of an endpoint must
    /// exist, or be made by [`Table::create_tables`].
    fn open(backend: impl Into<Backend>) -> Result<Table<Self>> {
        Table::open(backend)
    }

    /// The tables while items come from the design `O`: reads and writes are right in every phase of a migration.
    fn during<O: Design>(backend: impl Into<Backend>) -> Result<During<O, Self>> {
        During::open(backend)
    }
}

/// A parsed design with its plans.
pub struct Model {
    design: keyloom_design::Design,
    plans: Vec<OnceLock<Plan>>,
}

impl Model {
    /// Reads a design file.
    pub fn parse(name: &str, toml: &str) -> Result<Self, String> {
        let (design, problems) = keyloom_design::Design::parse(name, toml);
        let Some(design) = design else {
            let source = keyloom_design::source::Source::new(name, toml);
            let all: Vec<String> = problems.iter().map(|problem| problem.render(&source)).collect();
            return Err(all.join("\n"));
        };
        let plans = design.accesses().iter().map(|_| OnceLock::new()).collect();
        Ok(Self { design, plans })
    }

    /// The design that the program was compiled with.
    pub fn design(&self) -> &keyloom_design::Design {
        &self.design
    }

    /// An access pattern and how it is read.
    pub fn pattern(&self, name: &str) -> Result<(&Pattern, &Plan)> {
        let mut both = self.design.accesses().iter().zip(&self.plans);
        let (pattern, plan) = both
            .find(|(pattern, _)| pattern.name == name)
            .ok_or_else(|| Error::Design(format!("the design has no access pattern `{name}`")))?;
        Ok((pattern, plan.get_or_init(|| plan_access(&self.design, pattern, &Prices::default()))))
    }
}

/// The models of a design's earlier epochs.
pub(crate) fn earlier<D: Design>() -> Result<&'static [Model]> {
    match D::earlier() {
        Ok(models) => Ok(models),
        Err(problems) => Err(Error::Design(problems.clone())),
    }
}

/// The model of a design that was opened.
pub(crate) fn model<D: Design>() -> Result<&'static Model> {
    D::model().as_ref().map_err(|problems| Error::Design(problems.clone()))
}
