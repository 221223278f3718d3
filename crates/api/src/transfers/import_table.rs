//! ImportTable.

use keyloom_core::Result;
use keyloom_core::error::transfer as message;

use super::Source;
use super::format::{CsvOptions, InputFormat};
use crate::Fields;
use crate::tables::CreateTableInput;

/// The input of ImportTable.
#[derive(Debug)]
pub struct ImportTableInput {
    /// The objects to read items from.
    pub source: Source,
    /// The format of the objects.
    pub format: InputFormat,
    /// How they are compressed.
    pub compression: Compression,
    /// The table that is created.
    pub table: CreateTableInput,
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
    /// Decodes the member `InputCompressionType` of a request.
    pub(super) fn decode(fields: &Fields<'_>) -> Self {
        match fields.string("InputCompressionType") {
            Some("GZIP") => Self::Gzip,
            Some("ZSTD") => Self::Zstd,
            _ => Self::None,
        }
    }
}

impl ImportTableInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
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
        // The model demands it, so it is there.
        let table = CreateTableInput::decode(
            &fields.structure("TableCreationParameters").unwrap_or_else(|| fields.clone()),
        )?;
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
