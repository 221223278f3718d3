//! The URL of a store that servers share. It may hold a password, so nothing shows it.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use crate::output::Failure;

/// The URL of a shared store.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct StoreUrl(String);

impl FromStr for StoreUrl {
    type Err = Infallible;

    fn from_str(url: &str) -> Result<Self, Infallible> {
        Ok(Self(url.to_owned()))
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreUrl")
    }
}

impl StoreUrl {
    /// The whole URL; refused if it shows a password to everybody who may list processes.
    pub(crate) fn secret(&self, option: &str, variable: &str) -> Result<&str, Failure> {
        let is_argument = || std::env::args().any(|argument| argument.contains(&self.0));
        if self.has_password() && is_argument() {
            return Err(Failure::refused(format_args!(
                "{option} holds a password, which other users can see in the list of processes; put the URL into \
                 {variable}, or the password into PGPASSWORD or a password file"
            )));
        }
        Ok(&self.0)
    }

    /// Whether this is the URL of such a store at all.
    pub(crate) fn is_one(text: &str) -> bool {
        ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// Where the store is, for people: without user, password and parameters but the schema.
    pub(crate) fn place(&self) -> String {
        let (scheme, rest) = self.0.split_once("://").unwrap_or(("", &self.0));
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let place = rest.rsplit('@').next().unwrap_or_default();
        let is_schema = |parameter: &&str| parameter.starts_with("keyloom_schema=");
        let schema = parameters.split('&').find(is_schema);
        let schema = schema.map(|schema| format!("?{schema}")).unwrap_or_default();
        format!("{scheme}://{place}{schema}")
    }

    fn has_password(&self) -> bool {
        let rest = self.0.split_once("://").map_or(self.0.as_str(), |(_, rest)| rest);
        let (authority, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let login = authority.rsplit_once('@').map(|(login, _)| login);
        login.is_some_and(|login| login.contains(':'))
            || parameters.split('&').any(|parameter| parameter.starts_with("password="))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_no_credentials() {
        for (url, place, has_password) in [
            ("postgres://a:s@h:5/d?sslmode=require", "postgres://h:5/d", true),
            ("postgres://a:p@ss@h/d", "postgres://h/d", true),
            ("postgres://a@h/d?password=s", "postgres://h/d", true),
            ("postgres://h:5432/d", "postgres://h:5432/d", false),
            ("postgres://a:s@h/d?x=y&keyloom_schema=b", "postgres://h/d?keyloom_schema=b", true),
            ("postgres:///d?service=x", "postgres:///d", false),
        ] {
            let url = StoreUrl(url.into());
            assert_eq!((url.place().as_str(), url.has_password()), (place, has_password));
            assert!(!format!("{url:?}").contains("//"), "{url:?}");
        }
    }
}
