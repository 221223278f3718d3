//! What a request calls a table: its name, or its ARN (`arn:aws:dynamodb:region:account:table/name/…`).
//!
//! An ARN means something here only if it has the database's region and account. This is the one place that knows it;
//! which error an operation gives for the ARN of another place is its own affair, as on AWS.

/// The region and the account of a database.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) region: String,
    pub(crate) account: String,
}

/// Where a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// In this database, if it exists, under this name.
    Here(&'a str),
    OtherRegion,
    OtherAccount,
}

impl Home {
    /// Of tables that nobody asks for by their ARNs.
    pub(crate) fn nowhere() -> Self {
        Self { region: String::new(), account: String::new() }
    }

    /// Where the table of a name or an ARN is.
    pub(crate) fn place<'a>(&self, name_or_arn: &'a str) -> Place<'a> {
        let Some(rest) = name_or_arn.strip_prefix("arn:") else { return Place::Here(name_or_arn) };
        let mut parts = rest.splitn(5, ':');
        let (partition, service) = (parts.next(), parts.next());
        let (region, account) = (parts.next(), parts.next());
        if service != Some("dynamodb") {
            // The name of no table.
            return Place::Here(name_or_arn);
        }
        if partition != Some("aws") || region != Some(&self.region) {
            return Place::OtherRegion;
        }
        if account != Some(&self.account) {
            return Place::OtherAccount;
        }
        Place::Here(table_name(name_or_arn))
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
            ("music", Place::Here("music")),
            ("arn:aws:dynamodb:us-east-1:000000000000:table/music", Place::Here("music")),
            ("arn:aws:dynamodb:us-east-1:000000000000:table/music/index/i", Place::Here("music")),
            ("arn:aws:dynamodb:eu-west-1:000000000000:table/music", Place::OtherRegion),
            ("arn:aws-cn:dynamodb:us-east-1:000000000000:table/music", Place::OtherRegion),
            ("arn:aws:dynamodb:us-east-1:111111111111:table/music", Place::OtherAccount),
            ("arn:aws:s3:us-east-1:x", Place::Here("arn:aws:s3:us-east-1:x")),
            ("arn:", Place::Here("arn:")),
        ] {
            assert_eq!(home.place(name), place, "{name}");
        }
    }
}
