//! What the large cases ask of a database.

use anyhow::{Context, Result, ensure};

use crate::workload::{Record, TABLE, batch_body};

/// A database that can be filled and asked in JSON.
pub(super) trait LargeDatabase: Send + Sync {
    /// Makes a request that must succeed.
    fn call(&self, target: &str, body: &str) -> Result<Vec<u8>>;

    /// Puts these items, the fastest way there is.
    fn load(&self, records: &[Record]) -> Result<()>;
}

impl LargeDatabase for keyloom_engine::Database {
    fn call(&self, target: &str, body: &str) -> Result<Vec<u8>> {
        let reply = self.call(&format!("DynamoDB_20120810.{target}"), body.as_bytes());
        ensure!(reply.status == 200, "{}", String::from_utf8_lossy(&reply.body));
        Ok(reply.body)
    }

    fn load(&self, records: &[Record]) -> Result<()> {
        for chunk in records.chunks(25) {
            LargeDatabase::call(self, "BatchWriteItem", &batch_body(TABLE, chunk))?;
        }
        Ok(())
    }
}

impl LargeDatabase for dynoxide::Database {
    fn call(&self, target: &str, body: &str) -> Result<Vec<u8>> {
        crate::embedded::dynoxide_call(self, target, body)
    }

    fn load(&self, records: &[Record]) -> Result<()> {
        let items = records
            .iter()
            .map(|record| serde_json::from_str(&record.item).context("read an item"))
            .collect::<Result<Vec<_>>>()?;
        self.enable_bulk_loading()?;
        self.import_items(TABLE, items, dynoxide::ImportOptions::default())?;
        Ok(self.disable_bulk_loading()?)
    }
}

/// The value of a member of a JSON object, as text: found from the end and not parsed, because the
/// rest may be a megabyte.
pub(super) fn member<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let start = json.rfind(&format!("\"{name}\":"))? + name.len() + 3;
    let rest = json.get(start..)?.trim_start();
    let mut depth = 0_usize;
    let end = rest.char_indices().find(|(_, each)| {
        match each {
            '{' | '[' => depth += 1,
            '}' | ']' if depth == 0 => return true,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        *each == ',' && depth == 0
    });
    rest.get(..end.map_or(rest.len(), |(place, _)| place)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_as_text() {
        let json = r#"{"Items":[{"a":{"S":"x"}}],"Count":12,"LastEvaluatedKey":{"pk":{"S":"p"},"sk":{"S":"s"}}}"#;
        assert_eq!(member(json, "Count"), Some("12"));
        assert_eq!(member(json, "LastEvaluatedKey"), Some(r#"{"pk":{"S":"p"},"sk":{"S":"s"}}"#));
        assert_eq!(member(json, "Missing"), None);
    }
}
