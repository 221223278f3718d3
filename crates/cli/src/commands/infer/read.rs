//! Items for inference: a sample of live tables, or all rows of files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_core::Item;
use keyloom_design::draft::TableDraft;
use keyloom_design::exchange::described_table;
use keyloom_design::infer::{Observed, Sampler};
use serde_json::{Value as Json, json};

use super::{Infer, keys, scan};
use crate::design_file::{is_input, text_of};
use crate::output::Failure;
use crate::progress::Progress;
use crate::transfer::place::{Place, Target};
use crate::transfer::problems::{Origin, Problems};
use crate::transfer::source::{self, Reading};

/// How many rows of files are looked at to find their keys.
const GUESSED_BY: usize = 1_000;

impl Infer {
    /// The tables of all sources.
    pub(super) fn observe(&self) -> Result<Vec<Observed>, Failure> {
        let is_database = |text: &&String| is_database(text);
        let files: Vec<PathBuf> =
            self.sources.iter().filter(|text| !is_database(text)).map(PathBuf::from).collect();
        if files.is_empty() && (!self.keys.is_empty() || self.described.is_some()) {
            return Err(Failure::refused(
                "--keys and --described are for files: a database tells the keys of its tables",
            ));
        }
        let mut tables = Vec::new();
        for text in self.sources.iter().filter(is_database) {
            tables.extend(self.database(text)?);
        }
        if !files.is_empty() {
            tables.push(self.files(&files)?);
        }
        let mut names: Vec<&str> = tables.iter().map(|one| one.table.name.value.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair.first() == pair.last()) {
            let name = twice.first().copied().unwrap_or_default();
            return Err(Failure::refused(format_args!(
                "table `{name}` is in several sources; a design has one table of a name"
            )));
        }
        Ok(tables)
    }

    fn database(&self, text: &str) -> Result<Vec<Observed>, Failure> {
        let place = Place::open(text, &self.reach, false)?;
        let there = place.tables()?;
        let missing = self.table.iter().find(|name| !there.contains(name));
        if let Some(name) = missing {
            return Err(place.failed(&format_args!(
                "there is no table `{name}`; there is {}",
                if there.is_empty() { "none".to_owned() } else { there.join(", ") }
            )));
        }
        let wanted = if self.table.is_empty() { &there } else { &self.table };
        if wanted.is_empty() {
            return Err(place.failed(&"there is no table"));
        }
        let mut observed = Vec::new();
        for name in wanted {
            let target = place.table(name)?.ok_or_else(|| {
                place.failed(&format_args!("table `{name}` was deleted meanwhile"))
            })?;
            observed.push(self.live(&place, &target)?);
        }
        Ok(observed)
    }

    /// A sample of a table.
    fn live(&self, place: &Place, target: &Target) -> Result<Observed, Failure> {
        let name = target.client.table_name();
        let mut description = target.described.clone();
        let ttl = place.call("DescribeTimeToLive", &json!({ "TableName": name }));
        // A server that does not know the operation has no time to live.
        if let (Ok(ttl), Some(members)) = (ttl, description.as_object_mut()) {
            let stated = ttl.get("TimeToLiveDescription").cloned().unwrap_or_default();
            members.insert("TimeToLiveDescription".to_owned(), stated);
        }
        let table = described_table(&description)
            .ok_or_else(|| place.failed(&format_args!("table `{name}` has no keys")))?;
        let mut sampler = Sampler::new(&target.keys);
        let is_whole = self.sample == 0 || target.items as u64 <= self.sample;
        let most = if self.sample == 0 { u64::MAX } else { self.sample };
        scan::read(place, target, (is_whole, most), &mut sampler)?;
        let items = (!is_whole).then_some(target.items as u64);
        Ok(Observed { table, sample: sampler.finish(), items })
    }

    /// The rows of files, which are of one table.
    fn files(&self, paths: &[PathBuf]) -> Result<Observed, Failure> {
        let delimiter = u8::try_from(self.delimiter)
            .ok()
            .filter(u8::is_ascii)
            .ok_or_else(|| Failure::refused("--delimiter must be one ASCII character"))?;
        let name = match self.table.as_slice() {
            [] => table_name(paths),
            [only] => only.clone(),
            _ => return Err(Failure::refused("files are of one table: name one with --table")),
        };
        let sources = source::find(paths, self.form)?;
        let mut table = self.stated_table(&name)?;
        let known: Vec<String> = table.iter().flat_map(keys::types).map(|(name, _)| name).collect();
        let types = table
            .iter()
            .flat_map(keys::types)
            .map(|(name, kind)| (name.as_str().into(), kind))
            .collect();
        // Lines of DynamoDB JSON are known by their keys, also where those have to be guessed.
        let names: Vec<String> = if known.is_empty() {
            ["PK", "pk", "id", "SK", "sk"].map(str::to_owned).to_vec()
        } else {
            known
        };
        let read = AtomicU64::new(0);
        let reading = Reading { types: &types, keys: &names, delimiter, read: &read };
        let total: u64 = sources.iter().map(|source| source.bytes).sum();
        let mut progress = Progress::new("reading, KB", (total / 1000) as usize);
        let mut problems = Problems::default();
        let mut first: Vec<(Origin, Item)> = Vec::new();
        let mut taking = table.as_ref().map(Taking::new);
        let mut undecided = false;
        for source in &sources {
            source.read(&reading, |origin, row| {
                progress.at((read.load(Ordering::Relaxed) / 1000) as usize);
                match row {
                    Err(reason) => problems.add(&origin, &reason),
                    Ok(item) => match &mut taking {
                        Some(taking) => taking.take(&origin, &item, &mut problems),
                        None => first.push((origin, item)),
                    },
                }
                if taking.is_none() && first.len() >= GUESSED_BY {
                    taking = decide(&name, &mut first, &mut table, &mut problems);
                    undecided = taking.is_none();
                }
                !undecided
            })?;
        }
        if taking.is_none() {
            taking = decide(&name, &mut first, &mut table, &mut problems);
        }
        let refused = problems.finish()?;
        let (Some(mut table), Some(taking)) = (table, taking) else {
            return Err(Failure::refused(format_args!(
                "the names of the attributes do not tell the keys of `{name}`: name them with --keys PK,SK, or give the table \
                 with --described{}",
                if refused > 0 { " (no row could be read)" } else { "" }
            )));
        };
        let sample = taking.sampler.finish();
        if sample.read == 0 && refused > 0 {
            return Err(Failure::refused(format_args!(
                "no row of {} is an item; {refused} could not be read",
                paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
            )));
        }
        if !self.keys.is_empty() {
            table.indexes = keys::indexes_of(&sample);
        }
        Ok(Observed { table, sample, items: None })
    }

    /// The table that was stated with --keys or --described.
    fn stated_table(&self, name: &str) -> Result<Option<TableDraft>, Failure> {
        if let Some(path) = &self.described {
            let wrong =
                |reason: &str| Failure::refused(format_args!("{}: {reason}", path.display()));
            let json: Json = serde_json::from_str(&text_of(path)?)
                .map_err(|error| wrong(&format!("it is no JSON: {error}")))?;
            let body = json.get("Table").or_else(|| json.get("TableDescription")).unwrap_or(&json);
            return described_table(body).map(Some).ok_or_else(|| {
                wrong("it is no CreateTable request and no answer of DescribeTable")
            });
        }
        if self.keys.is_empty() {
            return Ok(None);
        }
        keys::named(name, &self.keys).map(Some).map_err(Failure::refused)
    }
}

/// Rows of a table whose keys are known.
struct Taking {
    keys: Vec<(String, keyloom_core::AttributeType)>,
    sampler: Sampler,
}

impl Taking {
    fn new(table: &TableDraft) -> Self {
        let keys = keys::types(table);
        let names: Vec<String> = keys.iter().map(|(name, _)| name.clone()).collect();
        Self { keys, sampler: Sampler::new(&names) }
    }

    fn take(&mut self, origin: &Origin, item: &Item, problems: &mut Problems) {
        match keys::misfit(&self.keys, item) {
            Some(reason) => problems.add(origin, &reason),
            None => self.sampler.add(item),
        }
    }
}

/// Finds the keys by the first rows, and takes those.
fn decide(
    name: &str,
    first: &mut Vec<(Origin, Item)>,
    table: &mut Option<TableDraft>,
    problems: &mut Problems,
) -> Option<Taking> {
    let items: Vec<Item> = first.iter().map(|(_, item)| item.clone()).collect();
    let guessed = keys::guessed(name, &items).filter(|_| !items.is_empty())?;
    let mut taking = Taking::new(&guessed);
    for (origin, item) in first.drain(..) {
        taking.take(&origin, &item, problems);
    }
    *table = Some(guessed);
    Some(taking)
}

/// Whether a source is a database: an endpoint, or a directory that Keyloom wrote.
fn is_database(text: &str) -> bool {
    let is_url = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
    text == "aws" || is_url || Path::new(text).join("MANIFEST").is_file()
}

/// A name for the table of files: that of the first file or folder, as a table can be called.
fn table_name(paths: &[PathBuf]) -> String {
    let first = paths.first().filter(|path| !is_input(path));
    let stem = first.and_then(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some(name.split('.').next().unwrap_or_default().to_owned())
    });
    let clean: String = stem
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    if clean.len() >= 3 { clean } else { "items".to_owned() }
}
