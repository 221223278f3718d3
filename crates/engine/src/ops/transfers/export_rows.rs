//! The lines of an export's data files, for full and incremental exports.

use keyloom_api::transfers::format::{ION_VERSION, write_ion_item, write_ion_number};
use keyloom_api::transfers::{ExportFormat, ExportView};
use keyloom_core::image::Stored;
use keyloom_core::json::write_item;
use keyloom_core::{Item, Number, Result};

/// A line of an export.
pub(super) enum ExportRow {
    /// An item of a full export.
    Item(Stored),
    /// An item that changed between two times.
    Change(ItemVersions),
}

/// The images of an item at the ends of a time range: at least one exists.
pub(super) struct ItemVersions {
    pub(super) keys: Item,
    pub(super) old: Option<Stored>,
    pub(super) new: Option<Stored>,
    /// When it was last written, in microseconds since 1970.
    pub(super) written_us: u64,
}

impl ExportRow {
    /// What the row counts as.
    pub(super) fn size_bytes(&self) -> Result<u64> {
        let size = |image: &Stored| image.size_bytes().map(|bytes| bytes as u64);
        match self {
            Self::Item(item) => size(item),
            Self::Change(change) => {
                [&change.old, &change.new].into_iter().flatten().map(size).sum::<Result<u64>>()
            }
        }
    }

    /// Writes the row with its end of line.
    pub(super) fn write(
        &self,
        format: ExportFormat,
        view: ExportView,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match (self, format) {
            (Self::Item(item), ExportFormat::DynamoDbJson) => {
                out.extend_from_slice(b"{\"Item\":");
                item.write_json(out)?;
                out.extend_from_slice(b"}\n");
            }
            (Self::Item(item), ExportFormat::Ion) => {
                out.extend_from_slice(ION_VERSION.as_bytes());
                out.extend_from_slice(b"{Item:");
                write_ion_item(item.item()?, out);
                out.extend_from_slice(b"}\n");
            }
            (Self::Change(change), ExportFormat::DynamoDbJson) => change.write_json(view, out)?,
            (Self::Change(change), ExportFormat::Ion) => change.write_ion(view, out)?,
        }
        Ok(())
    }
}

impl ItemVersions {
    /// The images that a view has, with their names.
    fn images(&self, view: ExportView) -> impl Iterator<Item = (&'static str, &Stored)> {
        let old = self.old.as_ref().filter(|_| view == ExportView::NewAndOldImages);
        let old = old.map(|image| ("OldImage", image));
        old.into_iter().chain(self.new.as_ref().map(|image| ("NewImage", image)))
    }

    /// AWS's documentation shows the time as a string; exports have it as an attribute value.
    fn write_json(&self, view: ExportView, out: &mut Vec<u8>) -> Result<()> {
        let time = format!("{{\"WriteTimestampMicros\":{{\"N\":\"{}\"}}}}", self.written_us);
        out.extend_from_slice(b"{\"Metadata\":");
        out.extend_from_slice(time.as_bytes());
        out.extend_from_slice(b",\"Keys\":");
        write_item(&self.keys, out);
        for (name, image) in self.images(view) {
            out.extend_from_slice(format!(",\"{name}\":").as_bytes());
            image.write_json(out)?;
        }
        out.extend_from_slice(b"}\n");
        Ok(())
    }

    fn write_ion(&self, view: ExportView, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(ION_VERSION.as_bytes());
        out.extend_from_slice(b"{Record:{Keys:");
        write_ion_item(&self.keys, out);
        out.extend_from_slice(b",Metadata:{WriteTimestampMicros:");
        let time = i64::try_from(self.written_us).unwrap_or(i64::MAX);
        write_ion_number(&Number::from(time), out);
        out.push(b'}');
        for (name, image) in self.images(view) {
            out.extend_from_slice(format!(",{name}:").as_bytes());
            write_ion_item(image.item()?, out);
        }
        out.extend_from_slice(b"}}\n");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use keyloom_core::AttributeValue;
    use keyloom_core::image::encode;

    use super::*;

    fn item(value: i64) -> Item {
        [("k", AttributeValue::from("a")), ("v", AttributeValue::from(value))]
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect()
    }

    fn written(
        old: Option<i64>,
        new: Option<i64>,
        format: ExportFormat,
        view: ExportView,
    ) -> String {
        let stored = |value| Stored::new(encode(&item(value)).into());
        let keys = [("k".into(), AttributeValue::from("a"))].into_iter().collect();
        let change = ItemVersions {
            keys,
            old: old.map(stored),
            new: new.map(stored),
            written_us: 1_680_109_764_000_000,
        };
        let mut out = Vec::new();
        ExportRow::Change(change).write(format, view, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn changes_have_the_images_of_their_view() {
        let json = |old, new, view| written(old, new, ExportFormat::DynamoDbJson, view);
        let head = r#"{"Metadata":{"WriteTimestampMicros":{"N":"1680109764000000"}},"Keys":{"k":{"S":"a"}}"#;
        let image = |name: &str, value: i64| {
            format!(r#","{name}":{{"k":{{"S":"a"}},"v":{{"N":"{value}"}}}}"#)
        };
        let (both, new) = (ExportView::NewAndOldImages, ExportView::NewImage);
        for (old, now, view, expected) in [
            (None, Some(2), both, image("NewImage", 2)),
            (Some(1), Some(2), both, image("OldImage", 1) + &image("NewImage", 2)),
            (Some(1), None, both, image("OldImage", 1)),
            (Some(1), Some(2), new, image("NewImage", 2)),
            (Some(1), None, new, String::new()),
        ] {
            assert_eq!(json(old, now, view), format!("{head}{expected}}}\n"));
        }
        assert_eq!(
            written(Some(1), Some(20), ExportFormat::Ion, both),
            "$ion_1_0 {Record:{Keys:{k:\"a\"},Metadata:{WriteTimestampMicros:1680109764d6},\
             OldImage:{k:\"a\",v:1.},NewImage:{k:\"a\",v:2d1}}}\n"
        );
    }
}
