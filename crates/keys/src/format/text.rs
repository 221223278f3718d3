//! The text form of a format, as in `{placed_at:datetime:ms:desc}`.

use std::fmt;
use std::str::FromStr;

use super::{Case, FieldFormat, FieldType};
use crate::error::FormatError;

const TYPES: &str = "string, token, fixed, u8, u16, u32, u64, i64, decimal, year, month, date, hour, datetime, \
                     epoch_ms, uuid, ulid, bool, enum, hex";

impl FieldFormat {
    /// Parses a format such as `datetime:ms`, `u32:6`, `decimal:10.2`, `enum:a|b` or `ulid:desc`.
    ///
    /// ```
    /// use keyloom_keys::FieldFormat;
    ///
    /// assert!(FieldFormat::parse("datetime")?.is_fixed_width());
    /// let error = FieldFormat::parse("date_time").unwrap_err();
    /// assert!(error.to_string().contains("there is no type `date_time`"));
    /// # Ok::<(), keyloom_keys::FormatError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let refuse = |reason: String| FormatError::new(text, reason);
        let mut words = text.split(':').map(str::trim);
        let mut format =
            FieldFormat::bare(kind_named(words.next().unwrap_or_default()).map_err(refuse)?);
        for word in words {
            format.add(word).map_err(refuse)?;
        }
        format.checked()
    }

    /// Applies one word after the type.
    fn add(&mut self, word: &str) -> Result<(), String> {
        match (word, &mut self.kind) {
            ("desc", _) => self.desc = true,
            ("asc", _) => self.desc = false,
            ("plain", _) => self.plain = true,
            ("lower", _) => self.case = Case::Lower,
            ("upper", _) => self.case = Case::Upper,
            ("compact", _) => self.compact = true,
            ("ms", kind @ FieldType::DateTime) => *kind = FieldType::DateTimeMs,
            ("s", FieldType::DateTime) => {}
            (list, FieldType::Enum(values)) if values.is_empty() => {
                *values = list.split('|').map(|value| value.trim().to_owned()).collect();
            }
            (digits, FieldType::Decimal { scale }) => {
                let (all, after) = digits.split_once('.').ok_or_else(|| not_understood(word))?;
                self.width = Some(all.parse().map_err(|_| not_understood(word))?);
                *scale = after.parse().map_err(|_| not_understood(word))?;
            }
            (number, kind) => {
                let number = number.parse().map_err(|_| not_understood(word))?;
                match kind {
                    FieldType::String | FieldType::Token => self.max_bytes = Some(number),
                    _ => self.width = Some(number),
                }
            }
        }
        Ok(())
    }
}

fn not_understood(word: &str) -> String {
    format!(
        "`{word}` is not understood here; after the type come a width or list, `desc`, `plain`, `compact`, `lower` or `upper`"
    )
}

fn kind_named(name: &str) -> Result<FieldType, String> {
    Ok(match name {
        "string" => FieldType::String,
        "token" => FieldType::Token,
        "fixed" => FieldType::Fixed,
        "u8" => FieldType::U8,
        "u16" => FieldType::U16,
        "u32" => FieldType::U32,
        "u64" => FieldType::U64,
        "i64" => FieldType::I64,
        "decimal" => FieldType::Decimal { scale: 0 },
        "year" => FieldType::Year,
        "month" => FieldType::Month,
        "date" => FieldType::Date,
        "hour" => FieldType::Hour,
        "datetime" => FieldType::DateTime,
        "epoch_ms" => FieldType::EpochMs,
        "uuid" => FieldType::Uuid,
        "ulid" => FieldType::Ulid,
        "bool" => FieldType::Bool,
        "enum" => FieldType::Enum(Vec::new().into()),
        "hex" => FieldType::Hex,
        "desc" | "plain" | "compact" | "lower" | "upper" => {
            return Err(format!(
                "`{name}` follows a type: `u32:{name}`, `datetime:{name}` or `string:{name}`, as it suits"
            ));
        }
        _ => return Err(format!("there is no type `{name}`; the types are {TYPES}")),
    })
}

impl FromStr for FieldFormat {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        FieldFormat::parse(text)
    }
}

/// The shortest text that [`FieldFormat::parse`] parses as the same format.
impl fmt::Display for FieldFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, full_width) = match &self.kind {
            FieldType::String => ("string", None),
            FieldType::Token => ("token", None),
            FieldType::Fixed => ("fixed", None),
            FieldType::U8 => ("u8", Some(3)),
            FieldType::U16 => ("u16", Some(5)),
            FieldType::U32 => ("u32", Some(10)),
            FieldType::U64 => ("u64", Some(20)),
            FieldType::I64 => ("i64", Some(19)),
            FieldType::Decimal { .. } => ("decimal", None),
            FieldType::Year => ("year", None),
            FieldType::Month => ("month", None),
            FieldType::Date => ("date", None),
            FieldType::Hour => ("hour", None),
            FieldType::DateTime => ("datetime", None),
            FieldType::DateTimeMs => ("datetime:ms", None),
            FieldType::EpochMs => ("epoch_ms", Some(15)),
            FieldType::Uuid => ("uuid", None),
            FieldType::Ulid => ("ulid", None),
            FieldType::Bool => ("bool", None),
            FieldType::Enum(_) => ("enum", None),
            FieldType::Hex => ("hex", None),
        };
        f.write_str(name)?;
        match (&self.kind, self.width) {
            (FieldType::Enum(values), _) => write!(f, ":{}", values.join("|"))?,
            (FieldType::Decimal { scale }, Some(width)) => write!(f, ":{width}.{scale}")?,
            (_, Some(width)) if full_width != Some(width) => write!(f, ":{width}")?,
            _ => {}
        }
        if let Some(max) = self.max_bytes {
            write!(f, ":{max}")?;
        }
        f.write_str(match self.case {
            Case::AsIs => "",
            Case::Lower => ":lower",
            Case::Upper => ":upper",
        })?;
        f.write_str(if self.compact { ":compact" } else { "" })?;
        f.write_str(if self.plain { ":plain" } else { "" })?;
        f.write_str(if self.desc { ":desc" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_print_as_they_are_read() {
        for text in [
            "string",
            "string:64",
            "string:64:lower",
            "token",
            "token:desc",
            "fixed:27",
            "u8",
            "u16:2",
            "u32:6:desc",
            "u64:plain",
            "i64",
            "i64:6",
            "decimal:10.2",
            "year",
            "month",
            "date:desc",
            "hour",
            "datetime",
            "datetime:ms:desc",
            "date:compact",
            "datetime:ms:compact:desc",
            "epoch_ms",
            "epoch_ms:13",
            "uuid",
            "ulid:desc",
            "bool",
            "enum:a|b",
            "hex",
            "hex:16",
        ] {
            assert_eq!(FieldFormat::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn formats_without_a_meaning_are_refused() {
        for text in [
            "",
            "text",
            "u8:4",
            "u8:0",
            "u32:x",
            "decimal",
            "decimal:2.2",
            "decimal:40.2",
            "decimal:10",
            "fixed",
            "fixed:0",
            "fixed:3000",
            "enum",
            "enum:a|a",
            "enum:a||b",
            "enum:A:lower",
            "date:5",
            "date:plain",
            "u8:plain:desc",
            "string:0",
            "u8:lower",
            "datetime:us",
            "bool:1",
            "uuid:ms",
            "decimal:-1.2",
            "year:compact",
            "epoch_ms:compact",
            "string:compact",
        ] {
            assert!(FieldFormat::parse(text).is_err(), "{text}");
        }
    }
}
