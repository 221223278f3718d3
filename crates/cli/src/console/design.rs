//! Designs: shown, checked while they are edited, written where that is allowed.

use std::io::Write as _;
use std::path::Path;

use keyloom_core::hex::Hex;
use keyloom_design::cost::Prices;
use keyloom_design::{CheckReport, report};
use keyloom_server::ConsoleReply;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{Answer, DesignConsole, DesignFile, Refusal, body, text};
use crate::design_file::checked;

impl DesignConsole {
    pub(super) fn show(&self, name: &str) -> Answer {
        let file = self.design(name)?;
        let report = file.report(&self.config)?;
        Ok(ConsoleReply::json(&self.whole(file, &report)))
    }

    /// Checks an edited text; nothing is written.
    pub(super) fn check(&self, name: &str, bytes: &[u8]) -> Answer {
        let file = self.design(name)?;
        let body = body(bytes)?;
        let text = text(&body, "text")?;
        let report = checked(&file.shown_name(), text, &Prices::default(), &self.config);
        Ok(ConsoleReply::json(&self.whole(file, &report)))
    }

    /// Writes the file, unless it changed since it was read.
    pub(super) fn save(&self, name: &str, bytes: &[u8]) -> Answer {
        let file = self.design(name)?;
        let body = body(bytes)?;
        let (new, was) = (text(&body, "text")?, text(&body, "was")?);
        let Some(path) = file.path().filter(|_| !self.is_read_only) else {
            let why = "This design cannot be written: it did not come from a file, or the console is read-only";
            return Err(Refusal::new(403, "ReadOnly", why));
        };
        if sum(&file.text()?) != was {
            let message = format!(
                "{} was changed since it was read; nothing was written. Reload it, and make the change again",
                path.display()
            );
            return Err(Refusal::new(409, "Conflict", message));
        }
        replace(path, new).map_err(|error| {
            Refusal::new(500, "NotWritten", format_args!("{}: {error}", path.display()))
        })?;
        self.show(name)
    }

    fn whole(&self, file: &DesignFile, checked: &CheckReport) -> serde_json::Value {
        let mut whole = report::design_json(checked);
        if let serde_json::Value::Object(members) = &mut whole {
            let path = file.path();
            members.insert("name".to_owned(), json!(file.name));
            members.insert("file".to_owned(), json!(path.map(|path| path.display().to_string())));
            members.insert("writable".to_owned(), json!(path.is_some() && !self.is_read_only));
            members.insert("sum".to_owned(), json!(sum(checked.source.text())));
        }
        whole
    }
}

/// What tells one text from another.
fn sum(text: &str) -> String {
    Hex(&Sha256::digest(text.as_bytes())).to_string()
}

/// Replaces a file in one step, with the permissions that it had: readers see the old text or the new one.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // A link stays a link.
    let path = path.canonicalize()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let write = || {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(std::fs::metadata(&path)?.permissions())?;
        file.sync_all()?;
        std::fs::rename(&beside, &path)
    };
    write().inspect_err(|_| drop(std::fs::remove_file(&beside)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        std::fs::write(&path, "old").unwrap();
        replace(&path, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert!(replace(&folder.path().join("missing.toml"), "x").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
