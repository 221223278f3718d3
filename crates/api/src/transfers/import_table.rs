//! ImportTable.

use keyloom_core::Result;
use keyloom_core::error::constraint::Constraint;
use keyloom_core::error::transfer as message;

use super::Source;
use super::format::{CsvOptions, InputFormat};
use crate::{Constraints, Fields};

/// The input of ImportTable.
#[derive(Clone, Debug)]
pub struct ImportTableInput<'a> {
    /// The objects.
    pub source: Source,
    /// The format of the objects.
    pub format: InputFormat,
    /// How they are compressed.
    pub compression: Compression,
    /// The table that is created, decoded as CreateTable does.
    pub table: Option<Fields<'a>>,
}

/// `InputCompressionType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// `NONE`.
    #[default]
    None,
    /// `GZIP`.
    Gzip,
    /// `ZSTD`.
    Zstd,
}

impl Compression {
    /// Decodes `InputCompressionType`.
    pub(super) fn decode(fields: &Fields<'_>, constraints: &mut Constraints, path: &str) -> Self {
        let kinds = [("ZSTD", Self::Zstd), ("NONE", Self::None), ("GZIP", Self::Gzip)];
        let kind = fields.string("InputCompressionType");
        let path = format!("{path}inputCompressionType");
        constraints.one_of(kind, &path, &kinds).unwrap_or_default()
    }
}

impl<'a> ImportTableInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let mut constraints = Constraints::new();
        let source = fields.structure("S3BucketSource");
        constraints.required(source.is_some(), "s3BucketSource");
        let empty = Source { bucket: String::new(), owner: None, prefix: String::new() };
        let source = source
            .map_or(empty, |fields| Source::decode(&fields, &mut constraints, "s3BucketSource."));
        let name = fields.string("InputFormat");
        constraints.required(name.is_some(), "inputFormat");
        let formats = ["DYNAMODB_JSON", "ION", "CSV"].map(|name| (name, ()));
        constraints.one_of(name, "inputFormat", &formats);
        let options = fields.structure("InputFormatOptions");
        let csv = options.as_ref().and_then(|options| options.structure("Csv"));
        let csv = csv.map(|fields| csv_options(&fields, &mut constraints));
        let compression = Compression::decode(fields, &mut constraints, "");
        let table = fields.structure("TableCreationParameters");
        constraints.required(table.is_some(), "tableCreationParameters");
        constraints.finish()?;
        let format = match (name.unwrap_or_default(), csv) {
            ("CSV", csv) => InputFormat::Csv(csv.unwrap_or_default()),
            (name, Some(_)) => return Err(message::format_options_unexpected(name)),
            ("ION", None) => InputFormat::Ion,
            (_, None) => InputFormat::DynamoDbJson,
        };
        Ok(Self { source, format, compression, table })
    }
}

fn csv_options(fields: &Fields<'_>, constraints: &mut Constraints) -> CsvOptions {
    let path = "inputFormatOptions.csv";
    let mut options = CsvOptions::default();
    if let Some(delimiter) = fields.string("Delimiter") {
        let path = format!("{path}.delimiter");
        match delimiter.as_bytes() {
            [one] if b",;:|\t ".contains(one) => options.delimiter = *one,
            _ => {
                let pattern = Constraint::Pattern("[,;:|\\t ]");
                constraints.violations().violated(delimiter, &path, pattern);
            }
        }
        constraints.length(delimiter, &path, 1, 1);
    }
    options.header = fields.strings("HeaderList");
    if let Some(header) = &options.header {
        let path = format!("{path}.headerList");
        let shown = format!("[{}]", header.join(", "));
        constraints.count(header.len(), &shown, &path, 1, 255);
    }
    options
}
