//! ImportTable.

use keyloom_core::Result;
use keyloom_core::error::transfer as message;

use super::Source;
use super::format::{CsvOptions, InputFormat};
use crate::model::check_constraints;
use crate::{Fields, Operation};

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
    pub(super) fn decode(fields: &Fields<'_>) -> Self {
        match fields.string("InputCompressionType") {
            Some("GZIP") => Self::Gzip,
            Some("ZSTD") => Self::Zstd,
            _ => Self::None,
        }
    }
}

impl<'a> ImportTableInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        check_constraints(Operation::ImportTable, fields)?;
        let source = fields.structure("S3BucketSource").map(|fields| Source::decode(&fields));
        let options = fields.structure("InputFormatOptions");
        let csv = options.and_then(|options| options.structure("Csv"));
        let format = match (fields.string("InputFormat").unwrap_or_default(), csv) {
            ("CSV", csv) => {
                InputFormat::Csv(csv.map(|fields| csv_options(&fields)).unwrap_or_default())
            }
            (name, Some(_)) => return Err(message::format_options_unexpected(name)),
            ("ION", None) => InputFormat::Ion,
            (_, None) => InputFormat::DynamoDbJson,
        };
        let table = fields.structure("TableCreationParameters");
        let compression = Compression::decode(fields);
        Ok(Self { source: source.unwrap_or_default(), format, compression, table })
    }
}

fn csv_options(fields: &Fields<'_>) -> CsvOptions {
    let delimiter = fields.string("Delimiter").and_then(|text| text.bytes().next());
    let usual = CsvOptions::default();
    CsvOptions {
        delimiter: delimiter.unwrap_or(usual.delimiter),
        header: fields.strings("HeaderList"),
    }
}
