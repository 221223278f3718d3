//! Report files: the same JSON that the server sends.

use std::fmt;

use super::{Report, VERSION};

/// Why a text is not a report.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not JSON of the right shape; the text says where and why.
    Malformed(String),
    /// A later version of the program wrote it.
    Newer(u32),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => write!(f, "this is not a recording of statistics: {why}"),
            Self::Newer(version) => write!(
                f,
                "the recording has version {version}, this program reads up to {VERSION}: use a \
                 newer keyloom"
            ),
        }
    }
}

impl std::error::Error for ReadError {}

impl Report {
    /// The report as JSON.
    pub fn to_json(&self) -> String {
        // Maps have string keys and numbers are finite, so that nothing can fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a report from JSON.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let report: Self =
            serde_json::from_str(text).map_err(|error| ReadError::Malformed(error.to_string()))?;
        match report.version {
            0 => Err(ReadError::Malformed("it states no version".to_owned())),
            1..=VERSION => Ok(report),
            newer => Err(ReadError::Newer(newer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_back_and_others_are_refused() {
        let report = Report { version: VERSION, requests: 7, ..Report::default() };
        assert_eq!(Report::from_json(&report.to_json()).ok(), Some(report.clone()));
        let newer = Report { version: VERSION + 1, ..report };
        let refusal = |text: &str| Report::from_json(text).map_err(|error| error.to_string());
        assert!(refusal(&newer.to_json()).is_err_and(|text| text.contains("newer keyloom")));
        assert!(refusal("{}").is_err_and(|text| text.contains("states no version")));
        assert!(refusal("[1").is_err_and(|text| text.contains("not a recording")));
    }
}
