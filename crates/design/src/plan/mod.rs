//! The planner: for each access pattern, how it is read, and what can be proven about the answer.
//!
//! 1. [`bind`]: for an entity and an index, which conditions become the key, and which are left over.
//! 2. [`candidate`]: the reads that would answer the pattern, on every index; the reasons why others fail.
//! 3. [`purity`], [`order`], [`coverage`]: what the key order and the other entities do to the answer.
//! 4. [`verdict`]: the best candidate, its proofs, and a verified counter-example for each that fails.
//! 5. [`request`]: the exact requests, with inputs as placeholders or as values.

mod bind;
mod candidate;
mod concrete;
mod counter;
mod coverage;
mod estimate;
mod implied;
mod order;
mod periods;
mod purity;
mod range;
mod raw;
mod reach;
mod request;
mod runner;
mod simulate;
mod space;
mod two_step;
mod verdict;
mod write;

use std::sync::Arc;

use keyloom_core::limits::{MAX_BATCH_BYTES, MAX_BATCH_GET_KEYS};
use keyloom_keys::Precision;

pub(crate) use self::bind::is_kept_plain;
pub use self::bind::{Fan, Source};
pub use self::concrete::{ConcreteRead, FilterTest, ReadForm, ReadKind, SortCondition, concretize};
pub use self::counter::CounterExample;
pub use self::estimate::Estimate;
pub use self::order::MovedKey;
pub(crate) use self::purity::meets;
pub use self::range::{ReadRange, SortPart};
pub use self::raw::{RawForm, RawProblem, RawRule};
pub use self::reach::{IndexUse, index_uses};
pub use self::request::{Placeholder, Request, RequestValue, requests, shapes, to_request};
pub(crate) use self::request::{placeholder, projection_json};
pub use self::runner::{predicted_pages, second_read, second_reads, second_step};
pub use self::simulate::{evaluated, run, simulate};
pub(crate) use self::space::Space;
pub use self::verdict::plan_access;
pub use self::write::{IndexEffect, WritePlan, plan_write};
use crate::cost::{Prices, item_size};
use crate::evaluate::Inputs;
use crate::inputs::fitted;
use crate::model::{Access, Design, Entity, Index, Question, Table};

/// How a pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// One GetItem.
    Get,
    /// BatchGetItem: several whole keys, 100 to a request.
    Batch,
    /// One Query.
    Query,
    /// Several Queries, over shards, buckets, listed values or entities.
    FanOut,
    /// A Query, then the items themselves.
    TwoStep,
    /// A Query whose filter throws items away.
    Filter,
    /// No index serves the pattern; it would need a Scan.
    Refused,
}

impl Verdict {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Batch => "batch",
            Self::Query => "query",
            Self::FanOut => "fan-out",
            Self::TwoStep => "two-step",
            Self::Filter => "filter",
            Self::Refused => "refused",
        }
    }
}

/// Whether a claim about a pattern holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Proof {
    /// It holds for all data.
    Proven,
    /// There is data for which it does not hold.
    Refuted,
    /// The pattern does not claim it.
    #[default]
    NotAsked,
}

impl Proof {
    /// The words in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Refuted => "refuted",
            Self::NotAsked => "not asked",
        }
    }

    pub(crate) fn of(holds: bool) -> Self {
        if holds { Self::Proven } else { Self::Refuted }
    }
}

/// What is proven about a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proofs {
    /// Every row that satisfies the conditions is returned.
    pub rows: Proof,
    /// Rows come in the order asked for.
    pub order: Proof,
    /// The limit takes the right rows.
    pub limit: Proof,
    /// No other row is returned.
    pub purity: Proof,
    /// Every attribute asked for is there.
    pub coverage: Proof,
    /// The read sees the latest write.
    pub consistency: Proof,
}

/// One kind of read; with a fan it is made several times.
#[derive(Clone, Debug)]
pub struct Read {
    /// The table that is read.
    pub table: Arc<Table>,
    /// The position of the index in [`Table::indexes`].
    pub index: usize,
    /// The entities it is meant to return.
    pub entities: Vec<Arc<Entity>>,
    /// The key range.
    pub range: ReadRange,
    /// What multiplies it.
    pub fans: Vec<Fan>,
    /// The conditions left to a filter.
    pub filter: Vec<Question>,
    /// Whether a filter on the type attribute keeps other entities out.
    pub type_filter: bool,
    /// Whether the sort order is followed upwards.
    pub forward: bool,
    /// Items wanted from each read.
    pub limit: Option<u64>,
    /// Whether attributes that a local index does not hold are fetched from the table.
    pub fetches: bool,
}

impl Read {
    /// The index it reads.
    pub fn index(&self) -> &Index {
        self.table.indexes.get(self.index).unwrap_or_else(|| self.table.primary())
    }

    /// How many requests the fan makes of it; unknown for periods between inputs.
    pub fn calls(&self) -> Option<f64> {
        self.fans.iter().map(Fan::width).product()
    }
}

/// The second step of a two-step read.
#[derive(Clone, Debug)]
pub struct Hydrate {
    /// The entities fetched.
    pub entities: Vec<Arc<Entity>>,
    /// Whether they are fetched by primary key (BatchGetItem) or one Query each.
    pub batch: bool,
    /// The index of the Queries, for those that cannot be batched.
    pub index: Option<String>,
    /// Why there is a second step.
    pub reason: String,
}

/// Why an index does not answer a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The index, or `table`.
    pub index: String,
    /// The entity, when a pattern finds several.
    pub entity: String,
    /// Why it is so, for people.
    pub reason: Reason,
}

/// Why an entity cannot be found through an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The entity has no key there.
    NotThere,
    /// The partition key needs fields that the pattern does not pin to one value.
    PartitionOpen {
        /// The key's template.
        template: String,
        /// The fields without a value.
        open: Vec<String>,
        /// The fields with one.
        bound: Vec<String>,
    },
    /// A range or prefix is asked of a partition key field.
    PartitionRange {
        /// The key's template.
        template: String,
        /// The name of the field.
        field: String,
    },
    /// Items without the field are not in the index, and the pattern may want them.
    Sparse {
        /// What an item needs to be there.
        needs: String,
    },
    /// A left-over condition is on a key attribute, which a filter may not mention.
    FilterOnKey {
        /// The name of the attribute.
        attribute: String,
    },
    /// A left-over condition is on a field that is not stored as an attribute.
    NotStored {
        /// The name of the field.
        field: String,
    },
    /// A left-over condition is on a field that the index does not hold.
    NotProjected {
        /// The name of the field.
        field: String,
    },
    /// A left-over condition names whole periods where only moments can be compared.
    PeriodFilter {
        /// The name of the field.
        field: String,
    },
    /// The fan would be too wide.
    TooWide {
        /// How many requests.
        calls: u64,
    },
    /// Global indexes are never strongly consistent.
    NotConsistent,
    /// The pattern names another index.
    NotChosen,
    /// Another index answers better.
    Worse {
        /// What is worse about it.
        why: String,
    },
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let list = |names: &[String]| {
            names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::NotThere => f.write_str("the entity has no key there"),
            Self::PartitionOpen { template, open, bound } if bound.is_empty() => {
                write!(f, "its partition key `{template}` needs {}", list(open))
            }
            Self::PartitionOpen { template, open, bound } => write!(
                f,
                "its partition key `{template}` also needs {}; with {} alone it would take begins_with on the partition key, which DynamoDB refuses",
                list(open),
                list(bound)
            ),
            Self::PartitionRange { template, field } => write!(
                f,
                "`{field}` is part of the partition key `{template}`, which takes = only, no range and no prefix"
            ),
            Self::Sparse { needs } => {
                write!(f, "it holds only items with {needs}, and the pattern does not ask for that")
            }
            Self::FilterOnKey { attribute } => write!(
                f,
                "what is left would be a filter on `{attribute}`, a key attribute of the index, which DynamoDB refuses"
            ),
            Self::NotStored { field } => {
                write!(f, "`{field}` is kept in keys only, so no filter can test it")
            }
            Self::NotProjected { field } => write!(
                f,
                "what is left would be a filter on `{field}`, which the index does not hold: it would drop every item"
            ),
            Self::PeriodFilter { field } => write!(
                f,
                "what is left would be a filter on whole periods of `{field}` in a list or by <>, which no filter can say"
            ),
            Self::TooWide { calls } => write!(f, "it would take {calls} queries"),
            Self::NotConsistent => f.write_str("a global index is never strongly consistent"),
            Self::NotChosen => f.write_str("the pattern names another index"),
            Self::Worse { why } => f.write_str(why),
        }
    }
}

/// Something wrong with a plan, for the linter and for people.
#[derive(Clone, Debug)]
pub enum Problem {
    /// Keys do not come in the order asked for.
    Order {
        /// Why it is so, for people.
        why: String,
        /// What to change.
        fix: String,
        /// The key that would do, if one was found.
        moved: Option<MovedKey>,
    },
    /// Other rows lie in the key range.
    Bleed {
        /// The entities they belong to.
        entities: Vec<String>,
        /// Why it is so, for people.
        why: String,
    },
    /// Rows that should be found are not in the key range.
    MissingRows {
        /// The entities they belong to.
        entities: Vec<String>,
        /// Why it is so, for people.
        why: String,
    },
    /// Attributes asked for are not projected.
    Uncovered {
        /// The names of the fields.
        fields: Vec<String>,
    },
    /// Fields asked for are kept in keys alone, and no key holds all of them.
    Lost {
        /// The names of the fields.
        fields: Vec<String>,
    },
    /// The second step cannot build the key of what it fetches.
    NoKeyForStep {
        /// The entity fetched.
        entity: String,
        /// The fields that are missing.
        fields: Vec<String>,
    },
    /// The second step fetches items one by one.
    OneByOne {
        /// The entity fetched.
        entity: String,
    },
    /// A consistent read of a global index.
    Inconsistent {
        /// The name of the index.
        index: String,
    },
    /// Times that are written in many ways are compared as texts.
    LooseTime {
        /// The name of the field.
        field: String,
    },
    /// A hand-written request that is not what its conditions compile to.
    NotAsPlanned {
        /// The key condition that they compile to, if they compile to one.
        planned: Option<String>,
    },
    /// A hand-written request that is refused or silently wrong.
    Raw(RawProblem),
}

/// A planned pattern.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The pattern's name.
    pub name: String,
    /// How it is read.
    pub verdict: Verdict,
    /// The reads; none if refused.
    pub reads: Vec<Read>,
    /// The hand-written request, when the pattern has one that DynamoDB would accept.
    pub raw: Option<RawForm>,
    /// The second step.
    pub hydrate: Option<Hydrate>,
    /// What is proven.
    pub proofs: Proofs,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// Why other indexes fail.
    pub rejected: Vec<Rejected>,
    /// Data that shows a failed proof.
    pub counter_example: Option<CounterExample>,
    /// What it costs.
    pub estimate: Estimate,
}

impl Plan {
    /// The index of the first read; nothing for the table itself or if refused.
    pub fn index_name(&self) -> Option<&str> {
        self.reads.first().and_then(|read| read.index().name.as_deref())
    }

    /// Everything that its first step reads, once each: indexes by name, the table as `table`. The alternatives of
    /// `or` may read different ones.
    pub fn places(&self) -> Vec<&str> {
        let mut places: Vec<&str> = Vec::new();
        for read in &self.reads {
            let place = read.index().label();
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// The reads of the first step with their inputs filled in: those that are planned, or the one that the design states by
    /// hand. An error says why the inputs do not fit.
    pub fn first_reads(
        &self,
        access: &Access,
        inputs: &Inputs,
    ) -> Result<Vec<ConcreteRead>, String> {
        let inputs = &fitted(access, inputs)?;
        match &self.raw {
            Some(raw) => raw::first_read(access, self, raw, inputs),
            None => concretize(access, self, inputs),
        }
    }

    /// Whether a read is a GetItem.
    pub fn is_get(&self, read: &Read) -> bool {
        let exact = match &read.range.sort {
            SortPart::Exact => true,
            SortPart::Whole => read.index().range.is_empty(),
            _ => false,
        };
        exact && read.index == 0 && read.filter.is_empty() && !read.type_filter
    }

    /// Whether everything that the pattern asks is proven.
    pub fn is_proven(&self) -> bool {
        let proofs = &self.proofs;
        let others =
            [proofs.order, proofs.limit, proofs.purity, proofs.coverage, proofs.consistency];
        proofs.rows == Proof::Proven && !others.contains(&Proof::Refuted)
    }

    /// How many requests the first step makes before paging; unknown for periods between inputs.
    pub fn first_calls(&self) -> Option<f64> {
        let reads = self.reads.iter().map(Read::calls).sum::<Option<f64>>()?;
        Some(match self.verdict {
            Verdict::Batch => {
                let entities = self.reads.iter().flat_map(|read| &read.entities);
                (reads / per_batch(entities)).ceil()
            }
            _ => reads,
        })
    }

    /// How many requests one call makes before paging, the second step included; unknown where the design
    /// does not tell.
    pub fn calls(&self) -> Option<f64> {
        let second = if self.hydrate.is_some() { self.estimate.second_step? } else { 0.0 };
        Some(self.first_calls()? + second)
    }

    /// The same in words, with what a request is made for where the number is unknown.
    pub fn calls_text(&self) -> String {
        let requests = |count: f64| crate::words::about(count, "request");
        if let Some(calls) = self.calls() {
            return requests(calls);
        }
        let first = self.first_calls().map_or_else(
            || {
                let fans: Vec<&Fan> = self.reads.iter().flat_map(|read| &read.fans).collect();
                let known: f64 = fans.iter().filter_map(|fan| fan.width()).product();
                let periods = fans.iter().find_map(|fan| match fan {
                    Fan::Buckets { precision, .. } if fan.width().is_none() => Some(*precision),
                    _ => None,
                });
                let period = format!("{:?}", periods.unwrap_or(Precision::Day)).to_lowercase();
                format!("{} per {period}", requests(known))
            },
            requests,
        );
        match &self.hydrate {
            Some(step) if step.batch => {
                format!("{first}, then 1 for each {:.0} items", per_batch(&step.entities))
            }
            Some(_) => format!("{first}, then 1 for each item"),
            None => first,
        }
    }
}

/// How many items one BatchGetItem returns: 100 keys, and 16 MB.
fn per_batch<'e>(entities: impl IntoIterator<Item = &'e Arc<Entity>>) -> f64 {
    let sizes = entities.into_iter().map(|entity| item_size(entity));
    let greatest = sizes.fold(1.0, f64::max);
    (MAX_BATCH_BYTES as f64 / greatest).floor().clamp(1.0, MAX_BATCH_GET_KEYS as f64)
}

/// Plans every pattern of a design.
pub fn plan(design: &Design, prices: &Prices) -> Vec<Plan> {
    let space = Space::new(design);
    design.accesses().iter().map(|access| plan_with(design, &space, access, prices)).collect()
}

/// As [`plan`], without the search for counter-examples, which takes most of the time.
pub fn plan_only(design: &Design, prices: &Prices) -> Vec<Plan> {
    let space = Space::without_examples(design);
    design.accesses().iter().map(|access| plan_with(design, &space, access, prices)).collect()
}

pub(crate) fn plan_with(design: &Design, space: &Space, access: &Access, prices: &Prices) -> Plan {
    if access.raw.is_some() {
        raw::plan_raw(design, space, access, prices)
    } else {
        verdict::plan_declared(design, space, access, prices)
    }
}
