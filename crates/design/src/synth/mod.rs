//! Synthesis: the keys and the fewest indexes with which every access pattern of a design is proven.
//!
//! 1. [`mod@open`]: the design without keys.
//! 2. [`demand`]: what each pattern asks of the keys of one entity.
//! 3. [`view`]: the ways to lay out an entity that may serve a demand.
//! 4. [`prove`]: the planner's own word on which view serves which demand, and at what cost.
//! 5. [`cover`]: the fewest views that serve all, by branch and bound.
//!    What none of them proves comes with the smallest [`change`] that helps.
//! 6. [`assemble`], [`layout`]: views become keys; entities share indexes.
//! 7. [`mod@settle`]: the whole is checked; hot keys are spread over shards.
//! 8. [`file`]: the design file with the new keys, checked once more as it will be read.

mod assemble;
mod change;
mod cover;
mod demand;
mod file;
mod layout;
mod one;
mod open;
mod prove;
mod settle;
mod solve;
mod view;

use std::time::{Duration, Instant};

use crate::check::{CheckReport, check_text};
use crate::cost::{Money, Prices};
use crate::diagnostic::Diagnostic;
use crate::plan::Plan;
use crate::source::Source;

use self::assemble::{Finish, places};
pub(crate) use self::one::texts_with_index;
use self::open::open;
use self::settle::{Wishes, settle};
use self::solve::{Chosen, Solved, solve};

/// Which tables a design gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tables {
    /// Those of the file; one if it has none.
    #[default]
    AsWritten,
    /// One for everything.
    One,
    /// One for each entity.
    Several,
}

/// What is asked of the synthesis.
#[derive(Clone, Debug)]
pub struct Options {
    /// Key attributes whose templates stay as they are.
    pub keep: Vec<String>,
    /// The most indexes that a table may have.
    pub max_indexes: Option<usize>,
    /// Which tables there are.
    pub tables: Tables,
    /// Whether local indexes are wanted where they will do.
    pub local: bool,
    /// Whether index keys shall be the fields themselves, without attributes of their own, where they can be.
    pub native: bool,
    /// Whether declarations are changed that no key can make up for: unpadded numbers, times without one form, values with
    /// separators.
    pub repair: bool,
    /// How long the search may take.
    pub time_limit: Duration,
    /// How many other designs are shown besides the best.
    pub runners_up: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keep: Vec::new(),
            max_indexes: None,
            tables: Tables::AsWritten,
            local: false,
            native: false,
            repair: false,
            time_limit: Duration::from_mins(1),
            runners_up: 2,
        }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Synthesis {
    /// Whole designs, the best first; none if the number of indexes is capped below what is needed.
    pub designs: Vec<Proposal>,
    /// For each table, why it has no fewer indexes.
    pub certificates: Vec<Certificate>,
    /// Patterns that no key proves.
    pub refused: Vec<Refusal>,
    /// What was changed in the file besides keys.
    pub repairs: Vec<String>,
}

/// A design with its keys.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The design file.
    pub text: String,
    /// What `check` says of it.
    pub report: CheckReport,
    /// How many indexes its tables have.
    pub indexes: usize,
    /// How it was chosen.
    pub note: String,
}

/// Why a table has no fewer indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The name of the table.
    pub table: String,
    /// The indexes of the best design.
    pub indexes: usize,
    /// No design of the family has fewer.
    pub at_least: usize,
    /// The entity that needs so many.
    pub entity: String,
    /// Patterns of it that need a key each: no key serves two of them. Empty if the bound comes from the search alone.
    pub apart: Vec<String>,
    /// Combinations of keys that were excluded.
    pub steps: u64,
    /// Whether the search came to its end in time.
    pub is_complete: bool,
}

/// A pattern that no key proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The name of the pattern.
    pub pattern: String,
    /// Why it is so, for people.
    pub reason: String,
    /// The smallest change of it that makes it provable, if one was found.
    pub change: Option<String>,
}

impl Proposal {
    /// What it costs in a month.
    pub fn money(&self) -> Money {
        self.report.bill.total
    }

    /// Whether every pattern is proven and nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.report.is_whole && !self.report.has_errors() && self.report.unproven().next().is_none()
    }

    /// How each pattern is read.
    pub fn plans(&self) -> &[Plan] {
        &self.report.plans
    }
}

/// Finds keys for a design file. What is wrong with the file besides its keys is the error.
pub fn synthesize(
    file_name: &str,
    text: &str,
    options: &Options,
    prices: &Prices,
) -> Result<Synthesis, Vec<Diagnostic>> {
    let deadline = Instant::now() + options.time_limit;
    let mut source = Source::new(file_name, text);
    let mut repairs = Vec::new();
    if options.repair {
        let (mended, changes) = change::mend(&source);
        (source, repairs) = (Source::new(file_name, mended), changes);
    }
    let open = open(&source, options)?;
    let wishes = Wishes { local: options.local, native: options.native };
    let entities = open.design.entities().iter().enumerate();
    let solved: Vec<Solved> = entities
        .filter_map(|(position, entity)| {
            let table = open.tables.iter().find(|it| it.name.value == entity.table.name)?;
            let places = places(table, &open.design, table.indexes.len());
            solve(&open, position, &places, wishes, prices, deadline)
        })
        .collect();
    let mut synthesis = Synthesis {
        designs: Vec::new(),
        certificates: certificates(&open, &solved),
        refused: refusals(&open, &solved),
        repairs,
    };
    if let Some(most) = options.max_indexes {
        let mut over = synthesis.certificates.iter().filter(|table| table.at_least > most);
        if over.next().is_some() {
            return Ok(synthesis);
        }
    }
    let finish = Finish { local: wishes.local, ..Finish::default() };
    for (at, (note, chosen)) in choices(&open, &solved, deadline).into_iter().enumerate() {
        if at > 0 && Instant::now() > deadline {
            break;
        }
        let (chosen, finish) = settle(&open, chosen, finish.clone(), wishes, prices, deadline);
        let draft = assemble::assemble(&open, &chosen, &finish);
        let written = file::write(&source, &open, &draft);
        let text = file::without_idle_allows(file_name, written, prices);
        let report = check_text(file_name, &text, prices);
        let counts = draft.tables.iter().map(|table| table.indexes.len());
        if counts.clone().any(|count| options.max_indexes.is_some_and(|most| count > most)) {
            continue;
        }
        let indexes = counts.sum();
        synthesis.designs.push(Proposal { text, report, indexes, note });
    }
    rank(&mut synthesis);
    if let Some(best) = synthesis.designs.first() {
        let proven = |name: &String| {
            let plan = best.plans().iter().find(|plan| plan.name == *name);
            plan.is_some_and(Plan::is_proven) && !open.silent.contains(name)
        };
        synthesis.refused.retain(|refusal| !proven(&refusal.pattern));
    }
    synthesis.designs.truncate(options.runners_up + 1);
    for certificate in &mut synthesis.certificates {
        let best = synthesis.designs.first().and_then(|best| best.report.design.as_ref());
        let table =
            best.and_then(|design| design.tables().iter().find(|it| it.name == certificate.table));
        certificate.indexes = table.map_or(certificate.at_least, |table| table.secondary().len());
    }
    Ok(synthesis)
}

/// Sound designs first, then few indexes, then low cost.
fn rank(synthesis: &mut Synthesis) {
    let key = |one: &Proposal| (!one.is_sound(), one.indexes, one.report.findings.len());
    synthesis.designs.sort_by(|a, b| {
        let (left, right) = (key(a), key(b));
        (left.0, left.1)
            .cmp(&(right.0, right.1))
            .then(a.money().on_demand.total_cmp(&b.money().on_demand))
            .then(left.2.cmp(&right.2))
    });
    let mut seen: Vec<String> = Vec::new();
    synthesis.designs.retain(|one| {
        let new = !seen.contains(&one.text);
        seen.push(one.text.clone());
        new
    });
    // An unsound one is shown only if there is nothing better.
    if synthesis.designs.first().is_some_and(Proposal::is_sound) {
        synthesis.designs.retain(Proposal::is_sound);
    }
}

fn refusals(open: &open::Open, solved: &[Solved]) -> Vec<Refusal> {
    let silent = open.silent.iter().map(|pattern| Refusal {
        pattern: pattern.clone(),
        reason: "it says how it is read (`key`), not what it asks".to_owned(),
        change: Some("say it in `where`".to_owned()),
    });
    let mut all: Vec<Refusal> = silent.collect();
    for refusal in solved.iter().flat_map(|one| &one.refused) {
        if all.iter().all(|known| known.pattern != refusal.pattern) {
            all.push(refusal.clone());
        }
    }
    all
}

/// Per table, the entity that needs the most indexes, and why.
fn certificates(open: &open::Open, solved: &[Solved]) -> Vec<Certificate> {
    let mut all = Vec::new();
    for table in &open.tables {
        let members = solved.iter().filter_map(|one| {
            let entity = open.design.entities().get(one.position)?;
            (entity.table.name == table.name.value).then_some((one, entity))
        });
        let members: Vec<_> = members.collect();
        let Some((most, entity)) = members.iter().max_by_key(|(one, _)| (one.at_least, one.fewest))
        else {
            continue;
        };
        let apart = most.problem.apart();
        let apart =
            if apart.len() == most.at_least + 1 && apart.len() > 1 { apart } else { Vec::new() };
        let named = apart.iter().filter_map(|&at| most.demands.get(at));
        all.push(Certificate {
            table: table.name.value.clone(),
            indexes: most.fewest,
            at_least: members.iter().map(|(one, _)| one.at_least).max().unwrap_or(0),
            entity: entity.name.clone(),
            apart: named.map(|demand| demand.pattern.clone()).collect(),
            steps: members.iter().map(|(one, _)| one.steps).sum(),
            is_complete: members.iter().all(|(one, _)| one.is_complete),
        });
    }
    all
}

/// How many other choices are checked as whole designs: shards make some dearer than they look alone.
const CONSIDERED: usize = 6;

/// The cheapest choice of views for all entities, and choices that differ from it in one entity.
fn choices(open: &open::Open, solved: &[Solved], deadline: Instant) -> Vec<(String, Vec<Chosen>)> {
    let mut covers = Vec::new();
    for one in solved {
        let own = open.design.entities().get(one.position).map(|entity| &entity.table.name);
        let same = solved.iter().filter(|other| {
            open.design.entities().get(other.position).map(|entity| &entity.table.name) == own
        });
        // Indexes that another entity needs cost no index more.
        let most = same.map(|other| other.fewest).max().unwrap_or(0);
        covers.push((one, one.problem.covers(most, deadline).covers));
    }
    let best: Vec<Chosen> =
        covers.iter().filter_map(|(one, covers)| one.chosen(covers.first()?)).collect();
    let mut all = vec![("the cheapest keys for each entity alone".to_owned(), best.clone())];
    let mut others: Vec<(f64, String, Vec<Chosen>)> = Vec::new();
    for (one, covers) in &covers {
        let entity = open.design.entities().get(one.position);
        let (Some(first), Some(entity)) = (covers.first(), entity) else { continue };
        for other in covers.iter().skip(1) {
            let Some(replaced) = one.chosen(other) else { continue };
            let mut chosen = best.clone();
            let Some(place) = chosen.iter_mut().find(|it| it.position == one.position) else {
                continue;
            };
            *place = replaced;
            let note = format!("other keys for {}", entity.name);
            others.push((other.cost - first.cost, note, chosen));
        }
    }
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.extend(others.into_iter().take(CONSIDERED).map(|(_, note, chosen)| (note, chosen)));
    all
}
