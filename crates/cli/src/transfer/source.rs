//! Files of rows: JSON lines, DynamoDB JSON, CSV, Ion, compressed or not, and the folders of exports.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_api::transfers::Compression;
use keyloom_api::transfers::format::{CsvKeys, CsvOptions, Fault, InputFormat, Lines, RowReader};
use keyloom_core::json::{self, Json};
use keyloom_core::{AttributeType, AttributeValue, Item};
use keyloom_design::evaluate::document_value;
use keyloom_engine::decompressed;
use serde_json::Value;

use super::form::Form;
use super::problems::Origin;
use crate::design_file::{is_input, name_of};
use crate::output::Failure;

/// A file to read.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    /// What stands in it, if it is no file.
    content: Option<Arc<[u8]>>,
    name: Arc<str>,
    form: Form,
    compression: Compression,
    /// How many items the manifest of an export promises.
    promised: Option<u64>,
    pub(crate) bytes: u64,
}

/// What reading needs to know.
pub(crate) struct Reading<'a> {
    /// The types of key attributes.
    pub(crate) types: &'a CsvKeys,
    /// The attributes of the primary key: those are scalars, which tells plain JSON from DynamoDB JSON.
    pub(crate) keys: &'a [String],
    pub(crate) delimiter: u8,
    /// The bytes that were read so far, as they are on disk.
    pub(crate) read: &'a AtomicU64,
}

/// The files that were named, with what is in named directories.
pub(crate) fn find(paths: &[PathBuf], form: Option<Form>) -> Result<Vec<Source>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        if !is_input(path) && path.is_dir() {
            in_directory(path, form, &mut found)?;
        } else if form == Some(Form::Export) {
            return Err(Failure::refused(format_args!(
                "{} is no folder of an export",
                path.display()
            )));
        } else {
            found.push(Source::new(path, form)?);
        }
    }
    Ok(found)
}

fn in_directory(folder: &Path, form: Option<Form>, found: &mut Vec<Source>) -> Result<(), Failure> {
    let mut files = Vec::new();
    collect(folder, &mut files).map_err(|error| unreadable(folder, &error))?;
    files.sort();
    let is_manifest =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name == "manifest-summary.json");
    let manifests: Vec<&PathBuf> = files.iter().filter(is_manifest).collect();
    match manifests.as_slice() {
        [manifest] => return of_export(manifest, found),
        [] if form == Some(Form::Export) => {
            return Err(Failure::refused(format_args!(
                "{} has no manifest-summary.json: it is no export, or one that was not finished",
                folder.display()
            )));
        }
        [] => {}
        several => {
            let names: Vec<String> =
                several.iter().map(|path| path.display().to_string()).collect();
            return Err(Failure::refused(format_args!(
                "{} holds several exports; name the folder of one:\n  {}",
                folder.display(),
                names.join("\n  ")
            )));
        }
    }
    let before = found.len();
    for path in files.iter().filter(|path| form_of(path).0.is_some()) {
        found.push(Source::new(path, form)?);
    }
    if found.len() == before {
        return Err(Failure::refused(format_args!(
            "{} has no file of a known format",
            folder.display()
        )));
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The data files of an export, by its manifests.
fn of_export(manifest: &Path, found: &mut Vec<Source>) -> Result<(), Failure> {
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|error| unreadable(path, &error));
    let damaged = |path: &Path| Failure::refused(format_args!("{} is no manifest", path.display()));
    let summary: Value = serde_json::from_str(&read(manifest)?).map_err(|_| damaged(manifest))?;
    let text = |member: &str| summary.get(member).and_then(Value::as_str);
    if text("exportType") == Some("INCREMENTAL_EXPORT") {
        return Err(Failure::refused(format_args!(
            "{} is of an incremental export, which has changes and not items: load a full export",
            manifest.display()
        )));
    }
    let form = if text("outputFormat") == Some("ION") { Form::Ion } else { Form::DynamodbJson };
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let list = folder.join("manifest-files.json");
    for line in read(&list)?.lines().filter(|line| !line.trim().is_empty()) {
        let entry: Value = serde_json::from_str(line).map_err(|_| damaged(&list))?;
        let key =
            entry.get("dataFileS3Key").and_then(Value::as_str).ok_or_else(|| damaged(&list))?;
        let name = key.rsplit('/').next().unwrap_or_default();
        let mut source = Source::new(&folder.join("data").join(name), Some(form))?;
        source.promised = entry.get("itemCount").and_then(Value::as_u64);
        found.push(source);
    }
    Ok(())
}

/// The form and the compression that a file's name tells.
fn form_of(path: &Path) -> (Option<Form>, Compression) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let (name, compression) = match name.rsplit_once('.') {
        Some((rest, "gz")) => (rest, Compression::Gzip),
        Some((rest, "zst")) => (rest, Compression::Zstd),
        _ => (name.as_str(), Compression::None),
    };
    let form = match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("json" | "jsonl" | "ndjson") => Some(Form::Jsonl),
        Some("csv" | "tsv") => Some(Form::Csv),
        Some("ion") => Some(Form::Ion),
        _ => None,
    };
    (form, compression)
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::refused(format_args!("{} cannot be read: {error}", path.display()))
}

impl Source {
    fn new(path: &Path, form: Option<Form>) -> Result<Self, Failure> {
        let (told, compression) = form_of(path);
        let bytes = if is_input(path) {
            0
        } else {
            std::fs::metadata(path).map_err(|error| unreadable(path, &error))?.len()
        };
        let name = name_of(path);
        let form =
            form.or(told).or_else(|| is_input(path).then_some(Form::Jsonl)).ok_or_else(|| {
                Failure::refused(format_args!(
                    "{name}: its name does not tell its format, and no option does"
                ))
            })?;
        Ok(Self {
            path: path.to_owned(),
            content: None,
            name: name.into(),
            form,
            compression,
            promised: None,
            bytes,
        })
    }

    /// An uploaded body instead of a file; its name may imply the format.
    pub(crate) fn of_bytes(
        name: &str,
        content: &[u8],
        form: Option<Form>,
    ) -> Result<Self, Failure> {
        let path = PathBuf::from(name);
        let (told, compression) = form_of(&path);
        let form = form.or(told).unwrap_or(Form::Jsonl);
        if form == Form::Export {
            return Err(Failure::refused("an export is a folder: load it with `keyloom load`"));
        }
        let bytes = content.len() as u64;
        let (content, name) = (Some(content.into()), name.into());
        Ok(Self { path, content, name, form, compression, promised: None, bytes })
    }

    /// Gives every row to `each` until that says no; whether it said so.
    pub(crate) fn read(
        &self,
        reading: &Reading<'_>,
        mut each: impl FnMut(Origin, Result<Item, String>) -> bool,
    ) -> Result<bool, Failure> {
        let file: Box<dyn Read> = if let Some(content) = &self.content {
            Box::new(io::Cursor::new(Arc::clone(content)))
        } else if is_input(&self.path) {
            Box::new(io::stdin())
        } else {
            let opened = File::open(&self.path);
            Box::new(opened.map_err(|error| unreadable(&self.path, &error))?)
        };
        let content = decompressed(Counted { file, read: reading.read }, self.compression);
        let mut rows = match self.form {
            Form::Jsonl | Form::DynamodbJson => Rows::Json(Lines::new(content)),
            Form::Csv => {
                let options = CsvOptions { delimiter: reading.delimiter, header: None };
                Rows::Other(RowReader::new(&InputFormat::Csv(options), reading.types, content))
            }
            Form::Ion | Form::Export => {
                Rows::Other(RowReader::new(&InputFormat::Ion, reading.types, content))
            }
        };
        let origin = |line| Origin { file: Arc::clone(&self.name), line };
        let mut count = 0;
        loop {
            match rows.next(reading, self.form) {
                Ok(Some((line, item))) => {
                    count += 1;
                    if !each(origin(line), item) {
                        return Ok(false);
                    }
                }
                Ok(None) => break,
                Err((line, fault)) => {
                    let reason = match fault {
                        Fault::Io(error) => error.to_string(),
                        Fault::Malformed(reason) => reason,
                    };
                    let reason = format!("{reason}; the rest of the file is not read");
                    return Ok(each(origin(line), Err(reason)));
                }
            }
        }
        if let Some(promised) = self.promised.filter(|promised| *promised != count) {
            let reason = format!("the manifest says {promised} items, and the file has {count}");
            return Ok(each(origin(0), Err(reason)));
        }
        Ok(true)
    }
}

/// Counts what is read.
struct Counted<'a> {
    file: Box<dyn Read>,
    read: &'a AtomicU64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

enum Rows<R> {
    Json(Lines<R>),
    Other(RowReader<R>),
}

type Found = Option<(u64, Result<Item, String>)>;

impl<R: Read> Rows<R> {
    fn next(&mut self, reading: &Reading<'_>, form: Form) -> Result<Found, (u64, Fault)> {
        match self {
            Self::Json(lines) => {
                let number = lines.number();
                let Some(line) = lines.next_line().map_err(|fault| (number, fault))? else {
                    return Ok(None);
                };
                let item = line.text.map_err(|error| error.message());
                Ok(Some((line.number, item.and_then(|text| json_item(text, reading, form)))))
            }
            Self::Other(rows) => match rows.next_row() {
                Ok(Some(row)) => Ok(Some((rows.line(), row.item.map_err(|error| error.message())))),
                Ok(None) => Ok(None),
                Err(fault) => Err((rows.line(), fault)),
            },
        }
    }
}

/// A line of JSON as an item: DynamoDB JSON, with or without `Item` around it, or a plain document.
fn json_item(text: &[u8], reading: &Reading<'_>, form: Form) -> Result<Item, String> {
    let Ok(document) = json::parse(text) else {
        return Err("the line is no JSON object".to_owned());
    };
    let Json::Object(members) = &document else {
        return Err("the line is no JSON object".to_owned());
    };
    let typed = |json: &Json<'_>| json::item_from(json).map_err(|error| error.message());
    if members.len() == 1 && matches!(members.get("Item"), Some(Json::Object(_))) {
        return members.get("Item").map_or_else(|| Ok(Item::new()), typed);
    }
    // Keys are scalars: where a key is an object, it is a typed one.
    let is_typed = |name: &String| matches!(members.get(name), Some(Json::Object(_)));
    if form == Form::DynamodbJson || reading.keys.iter().any(is_typed) {
        return typed(&document);
    }
    let AttributeValue::M(mut item) = document_value(&document)? else {
        return Err("the line is no JSON object".to_owned());
    };
    for (name, kind) in reading.types {
        if let (AttributeType::B, Some(AttributeValue::S(text))) = (kind, item.get(name)) {
            let bytes = json::shape::binary(&Json::Str(text.as_str().into()));
            let bytes =
                bytes.map_err(|_| format!("`{name}` is a binary, and its text is no base64"))?;
            item.insert(name.clone(), AttributeValue::B(bytes));
        }
    }
    Ok(item)
}
