//! PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy.
//!
//! A table's policy is stored with the table, a stream's under the stream's ARN. The server evaluates policies
//! ([`crate::access`]); one that it could not evaluate is rejected here.

use keyloom_api::Fields;
use keyloom_api::settings::{
    DeleteResourcePolicyInput, PutResourcePolicyInput, ResourcePolicyOutput, policy_resource,
};
use keyloom_api::tables::dynamodb_resource;
use keyloom_core::error::{resource as message, stream as stream_message, table as table_message};
use keyloom_core::policy::{Policy, PolicyError, PolicyResource};
use keyloom_core::{Result, limits};
use serde::{Deserialize, Serialize};

use crate::catalog::{TableLocation, TableRecord};
use crate::database::Inner;
use crate::ops::streams;
use crate::{identity, resource};

use super::change_table;

/// The name of the setting, and the kind of the record.
pub(super) const POLICY: &str = "ResourcePolicy";
/// The revision that means: there must be no policy yet.
const NO_POLICY: &str = "NO_POLICY";

/// The text of a policy and the id of this revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredPolicy {
    text: String,
    revision: String,
}

impl StoredPolicy {
    /// A policy under an id that no earlier revision has. AWS's are numbers.
    fn new(text: &str) -> Self {
        let hex = identity::uuid().replace('-', "");
        let bits = hex.get(..16).and_then(|hex| u64::from_str_radix(hex, 16).ok());
        Self { text: text.to_owned(), revision: bits.unwrap_or_default().to_string() }
    }
}

/// Gives a new table the policy that CreateTable names.
pub(crate) fn attach(record: &mut TableRecord, text: &str) -> Result<()> {
    check(text, PolicyResource::Table)?;
    keep(record, Some(&StoredPolicy::new(text)));
    Ok(())
}

pub(crate) fn put(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = PutResourcePolicyInput::decode(&fields);
    let arn = input.resource_arn;
    check(input.policy, resource_of(database, arn)?)?;
    let revision = exchange(database, arn, |current| {
        check_revision(arn, input.expected_revision_id, current)?;
        // The same policy again is the same revision.
        let same = current.filter(|current| current.text == input.policy).cloned();
        let policy = same.unwrap_or_else(|| StoredPolicy::new(input.policy));
        Ok((Some(policy.clone()), policy.revision))
    })?;
    Ok(ResourcePolicyOutput { policy: None, revision_id: Some(&revision) }.encode())
}

pub(crate) fn get(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let arn = policy_resource(&fields);
    resource_of(database, arn)?;
    let stored = find(database, arn)?.ok_or_else(|| message::policy_not_found(arn))?;
    let (policy, revision_id) = (Some(stored.text.as_str()), Some(stored.revision.as_str()));
    Ok(ResourcePolicyOutput { policy, revision_id }.encode())
}

pub(crate) fn delete(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let DeleteResourcePolicyInput { resource_arn: arn, expected_revision_id } =
        DeleteResourcePolicyInput::decode(&fields);
    resource_of(database, arn)?;
    let deleted = exchange(database, arn, |current| {
        check_revision(arn, expected_revision_id, current)?;
        Ok((None, current.map(|policy| policy.revision.clone())))
    })?;
    Ok(ResourcePolicyOutput { policy: None, revision_id: deleted.as_deref() }.encode())
}

fn check(text: &str, of: PolicyResource) -> Result<()> {
    if text.len() > limits::MAX_RESOURCE_POLICY_BYTES {
        return Err(message::policy_too_large(limits::MAX_RESOURCE_POLICY_BYTES));
    }
    let words =
        |error: PolicyError| error.in_aws_words.clone().unwrap_or_else(|| error.to_string());
    Policy::resource(text)
        .map_err(words)
        .and_then(|policy| policy.check_resource(of))
        .map_err(|problem| message::policy_invalid(&problem))
}

/// Which kind of resource an ARN names, which must be of this region and account.
fn resource_of(database: &Inner, arn: &str) -> Result<PolicyResource> {
    let resource = dynamodb_resource(arn)?.strip_prefix("table/");
    let parts: Vec<&str> = resource.unwrap_or_default().splitn(3, '/').collect();
    let of = match parts.as_slice() {
        [table] if !table.is_empty() => PolicyResource::Table,
        [_, "stream", _] => PolicyResource::Stream,
        _ => return Err(table_message::arn_of_other_resource(arn)),
    };
    match database.catalog.locate(arn) {
        TableLocation::Here(_) => Ok(of),
        TableLocation::OtherRegion => Err(message::policy_resource_elsewhere(arn)),
        TableLocation::OtherAccount => Err(message::account_differs()),
    }
}

/// The policy of a table, to be evaluated. One that an earlier release stored unchecked may be an error.
pub(crate) fn of_table(record: &TableRecord) -> Option<std::result::Result<Policy, PolicyError>> {
    kept(record).map(|stored| Policy::resource(&stored.text))
}

/// The same of the stream with this ARN.
pub(crate) fn of_stream(
    database: &Inner,
    arn: &str,
) -> Result<Option<std::result::Result<Policy, PolicyError>>> {
    let stored: Option<StoredPolicy> = resource::get(database, POLICY, arn)?;
    Ok(stored.map(|stored| Policy::resource(&stored.text)))
}

fn check_revision(arn: &str, expected: Option<&str>, current: Option<&StoredPolicy>) -> Result<()> {
    let fits = match (expected, current) {
        (None, _) => true,
        (Some(NO_POLICY), current) => current.is_none(),
        (Some(expected), Some(current)) => expected == current.revision,
        (Some(_), None) => false,
    };
    if fits { Ok(()) } else { Err(message::policy_not_found(arn)) }
}

fn keep(record: &mut TableRecord, policy: Option<&StoredPolicy>) {
    match policy.and_then(|policy| serde_json::to_value(policy).ok()) {
        Some(policy) => {
            record.settings.insert(POLICY.into(), policy);
        }
        None => {
            record.settings.remove(POLICY);
        }
    }
}

fn kept(record: &TableRecord) -> Option<StoredPolicy> {
    serde_json::from_value(record.settings.get(POLICY)?.clone()).ok()
}

/// The policy of the table or stream with this ARN.
fn find(database: &Inner, arn: &str) -> Result<Option<StoredPolicy>> {
    if arn.contains("/stream/") {
        let stream = streams::find(database, arn)?;
        return resource::get(database, POLICY, &streams::stream_arn(database, &stream));
    }
    let table = database.catalog.find(arn);
    let table = table.ok_or_else(|| message::resource_not_found(&format!("ResourceArn: {arn}")))?;
    Ok(kept(&table.record))
}

/// Replaces the policy of the table or stream with this ARN.
fn exchange<R>(
    database: &Inner,
    arn: &str,
    edit: impl FnOnce(Option<&StoredPolicy>) -> Result<(Option<StoredPolicy>, R)>,
) -> Result<R> {
    if !arn.contains("/stream/") {
        let not_found = || message::resource_not_found(&format!("ResourceArn: {arn}"));
        let find = || database.catalog.find(arn).ok_or_else(not_found);
        let (_, result) = change_table(database, find, |record| {
            let (policy, result) = edit(kept(record).as_ref())?;
            keep(record, policy.as_ref());
            Ok(result)
        })?;
        return Ok(result);
    }
    let change = database.change()?;
    let stream = streams::find(database, arn);
    let stream = stream.map_err(|_| stream_message::stream_not_found(arn))?;
    let arn = streams::stream_arn(database, &stream);
    let (policy, result) = edit(resource::get(database, POLICY, &arn)?.as_ref())?;
    resource::commit(&change, POLICY, &arn, policy.as_ref())?;
    Ok(result)
}
