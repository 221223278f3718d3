//! Items in and out as files, by the code of `keyloom load` and `keyloom dump`.

use std::sync::{Mutex, PoisonError};

use clap::ValueEnum as _;
use keyloom::Item;
use keyloom_server::{ConsoleReply, ConsoleRequest};
use serde_json::json;

use super::{Answer, DesignConsole, Refusal};
use crate::commands::dump::names_of;
use crate::transfer::form::{Form, write_cells, write_csv, write_json};
use crate::transfer::loading::Loading;
use crate::transfer::place::{Place, Target};
use crate::transfer::problems::Problems;
use crate::transfer::shape::{Shape, ShapeOptions};
use crate::transfer::source::Source;
use crate::transfer::writer::Shared;

/// What an answer may hold; a larger table is dumped by the command.
const MOST_BYTES: usize = 8 << 20;
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

    /// The items of a table as a file.
    pub(super) fn dump(&self, request: &ConsoleRequest<'_>) -> Answer {
        let place = Place::of(&self.endpoint, self.backend.clone());
        let target = table(&place, request)?;
        let form = form(request)?.unwrap_or(Form::Jsonl);
        let most = match request.parameter("limit") {
            Some(text) => text.parse().map_err(|_| Refusal::wrong("`limit` must be a number"))?,
            None => usize::MAX,
        };
        let mut items: Vec<Item> = Vec::new();
        let mut bytes = 0;
        for page in target.client.scan().pages() {
            let page = page?.items;
            bytes += page.iter().map(keyloom_core::size::item_size).sum::<usize>();
            items.extend(page);
            if items.len() >= most {
                break;
            }
            if bytes > MOST_BYTES {
                let table = target.client.table_name();
                return Err(Refusal::new(
                    413,
                    "TooLarge",
                    format_args!(
                        "Table `{table}` has more than a page can take; run `keyloom dump --from {} --table {table} --out FILE`",
                        self.endpoint
                    ),
                ));
            }
        }
        items.truncate(most);
        written(form, &target, &items)
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

/// Items as the bytes of a file.
fn written(form: Form, target: &Target, items: &[Item]) -> Answer {
    let mut body = Vec::new();
    let content_type = match form {
        Form::Csv => {
            let columns = names_of(&target.keys, items);
            write_cells(columns.iter().cloned(), &mut body);
            for item in items {
                write_csv(&columns, item, &mut body).map_err(Refusal::wrong)?;
            }
            "text/csv; charset=utf-8"
        }
        Form::Jsonl | Form::DynamodbJson => {
            for item in items {
                write_json(form, item, &mut body);
            }
            "application/x-ndjson"
        }
        Form::Ion | Form::Export => {
            return Err(Refusal::wrong("A page can take jsonl, dynamodb-json or csv"));
        }
    };
    Ok(ConsoleReply { status: 200, content_type, body })
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
