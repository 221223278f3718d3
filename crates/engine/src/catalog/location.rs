//! How requests identify a table: by name, or by ARN (`arn:aws:dynamodb:region:account:table/name/…`).
//!
//! An ARN is valid only if it has the database's region and account; only this module checks that. As on AWS, each
//! operation has its own error for a foreign ARN.

/// The region and the account of a database.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) region: String,
    pub(crate) account: String,
}

/// Where a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableLocation<'a> {
    /// In this database, if it exists, under this name.
    Here(&'a str),
    OtherRegion,
    OtherAccount,
}

impl Home {
    /// For tables that are never identified by an ARN.
    pub(crate) fn nowhere() -> Self {
        Self { region: String::new(), account: String::new() }
    }

    /// Where the table of a name or an ARN is.
    pub(crate) fn locate<'a>(&self, name_or_arn: &'a str) -> TableLocation<'a> {
        let Some(rest) = name_or_arn.strip_prefix("arn:") else {
            return TableLocation::Here(name_or_arn);
        };
        let mut parts = rest.splitn(5, ':');
        let (partition, service) = (parts.next(), parts.next());
        let (region, account) = (parts.next(), parts.next());
        if service != Some("dynamodb") {
            // The name of no table.
            return TableLocation::Here(name_or_arn);
        }
        if partition != Some("aws") || region != Some(&self.region) {
            return TableLocation::OtherRegion;
        }
        if account != Some(&self.account) {
            return TableLocation::OtherAccount;
        }
        TableLocation::Here(table_name(name_or_arn))
    }
}

/// The table's name in a name or an ARN, wherever that is.
pub(crate) fn table_name(name_or_arn: &str) -> &str {
    if !name_or_arn.starts_with("arn:") {
        return name_or_arn;
    }
    let resource = name_or_arn.splitn(6, ':').nth(5).unwrap_or_default();
    resource.strip_prefix("table/").and_then(|rest| rest.split('/').next()).unwrap_or(resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_here_by_name_or_by_its_own_arn() {
        let home = Home { region: "us-east-1".into(), account: "000000000000".into() };
        for (name, place) in [
            ("music", TableLocation::Here("music")),
            ("arn:aws:dynamodb:us-east-1:000000000000:table/music", TableLocation::Here("music")),
            (
                "arn:aws:dynamodb:us-east-1:000000000000:table/music/index/i",
                TableLocation::Here("music"),
            ),
            ("arn:aws:dynamodb:eu-west-1:000000000000:table/music", TableLocation::OtherRegion),
            ("arn:aws-cn:dynamodb:us-east-1:000000000000:table/music", TableLocation::OtherRegion),
            ("arn:aws:dynamodb:us-east-1:111111111111:table/music", TableLocation::OtherAccount),
            ("arn:aws:s3:us-east-1:x", TableLocation::Here("arn:aws:s3:us-east-1:x")),
            ("arn:", TableLocation::Here("arn:")),
        ] {
            assert_eq!(home.locate(name), place, "{name}");
        }
    }
}
