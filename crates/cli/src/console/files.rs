//! Items in and out as files, by the code of `keyloom load` and `keyloom dump`.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use clap::ValueEnum as _;
use keyloom::Item;
use keyloom_server::{ConsoleBody, ConsoleReply, ConsoleRequest};
use serde_json::json;

use super::{Answer, DesignConsole, Refusal};
use crate::transfer::form::{Form, Lines, names_of};
use crate::transfer::loading::Loading;
use crate::transfer::place::{Place, Target};
use crate::transfer::problems::Problems;
use crate::transfer::shape::{Shape, ShapeOptions};
use crate::transfer::source::Source;
use crate::transfer::writer::Shared;

const WORKERS: usize = 4;

impl DesignConsole {
    /// Writes the rows of a file into a table.
    pub(super) fn load(&self, request: &ConsoleRequest<'_>) -> Answer {
        let place = Place::of(&self.endpoint, self.backend.clone());
        let target = table(&place, request)?;
        let shape = self.shape(request)?;
        let name = request.parameter("name").unwrap_or_else(|| "upload".into());
        let source = Source::of_bytes(&name, request.body, form(request)?)?;
        let problems = Mutex::new(Problems::collected());
        let shared = Shared::new(&problems, is_set(request, "keepExisting"));
        let loading = Loading { workers: WORKERS, dry_run: is_set(request, "dryRun"), rate: None };
        let good = loading.run(&[source], &target, shape.as_ref(), b',', &shared)?;
        let fatal = shared.fatal.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (written, kept) = (shared.written.into_inner(), shared.kept.into_inner());
        let problems = problems.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (refused, listed) = problems.into_collected();
        Ok(ConsoleReply::json(&json!({
            "good": good, "loaded": written, "kept": kept, "refused": listed, "refusedCount": refused,
            "fatal": fatal, "leftOut": shape.as_ref().map(Shape::left_out).unwrap_or_default(),
        })))
    }

    /// The items of a table as a file, read while it is sent.
    pub(super) fn dump(&self, request: &ConsoleRequest<'_>) -> Answer {
        let place = Place::of(&self.endpoint, self.backend.clone());
        let target = table(&place, request)?;
        let form = form(request)?.unwrap_or(Form::Jsonl);
        let content_type = match form {
            Form::Csv => "text/csv; charset=utf-8",
            Form::Jsonl | Form::DynamodbJson => "application/x-ndjson",
            Form::Ion | Form::Export => {
                return Err(Refusal::wrong("A page can take jsonl, dynamodb-json or csv"));
            }
        };
        let most = match request.parameter("limit") {
            Some(text) => text.parse().map_err(|_| Refusal::wrong("`limit` must be a number"))?,
            None => usize::MAX,
        };
        let write = move |out: &mut dyn Write| written(form, &target, most, out);
        Ok(ConsoleReply { status: 200, content_type, body: ConsoleBody::Streamed(Box::new(write)) })
    }

    /// The design that rows must follow, if one is named.
    fn shape(&self, request: &ConsoleRequest<'_>) -> Result<Option<Shape>, Refusal> {
        let Some(name) = request.parameter("design") else { return Ok(None) };
        let report = (*self.usable(&name)?).clone();
        let (table, entity) = (request.parameter("table"), request.parameter("entity"));
        let options = ShapeOptions::default();
        Ok(Some(Shape::of(report, &options, table.as_deref(), entity.as_deref())?))
    }
}

/// Writes the items of a table, at most so many.
fn written(form: Form, target: &Target, most: usize, out: &mut dyn Write) -> io::Result<()> {
    // The columns of CSV are those of all items, so they are read first.
    let columns = (form == Form::Csv).then(|| columns(target, most, out)).transpose()?;
    let mut lines = Lines::new(form, columns);
    let mut text = Vec::new();
    for page in pages(target, most) {
        text.clear();
        lines.write(&target.keys, &page?, &mut text).map_err(io::Error::other)?;
        out.write_all(&text)?;
    }
    Ok(())
}

/// The names of all attributes, keys first; stops when the client is gone.
fn columns(target: &Target, most: usize, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let mut names = target.keys.clone();
    for page in pages(target, most) {
        names = names_of(&names, &page?);
        out.flush()?;
    }
    if let Some(others) = names.get_mut(target.keys.len()..) {
        others.sort_unstable();
    }
    Ok(names)
}

/// The pages of a table, at most so many items.
fn pages(target: &Target, most: usize) -> impl Iterator<Item = io::Result<Vec<Item>>> {
    let mut left = most;
    let mut pages = target.client.scan().pages();
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let mut items = match pages.next()? {
            Ok(page) => page.items,
            Err(error) => return Some(Err(io::Error::other(error))),
        };
        items.truncate(left);
        left -= items.len();
        Some(Ok(items))
    })
}

/// The table that a request names.
fn table(place: &Place, request: &ConsoleRequest<'_>) -> Result<Target, Refusal> {
    let name = request.parameter("table").ok_or_else(|| Refusal::wrong("Name the `table`"))?;
    place.table(&name)?.ok_or_else(|| Refusal::missing(format_args!("There is no table `{name}`")))
}

fn form(request: &ConsoleRequest<'_>) -> Result<Option<Form>, Refusal> {
    let Some(name) = request.parameter("format") else { return Ok(None) };
    Form::from_str(&name, false).map(Some).map_err(|_| {
        Refusal::wrong(format_args!("`format` {name:?} is none of jsonl, dynamodb-json, csv, ion"))
    })
}

fn is_set(request: &ConsoleRequest<'_>, name: &str) -> bool {
    request.parameter(name).is_some_and(|value| value != "false")
}
