//! Tables as DynamoDB's own requests have them: CreateTable, the answer of DescribeTable, the properties of CloudFormation.

use serde_json::Value as Json;

use super::{Lost, list, text};
use crate::draft::{IndexDraft, ProjectionDraft, TableDraft};
use crate::model::{Billing, StreamView, TableClass};
use crate::source::Spanned;

/// Members that a design has no word for, with the reason.
const UNSAID: [(&str, &str); 12] = [
    ("SSESpecification", "encryption is no matter of keys"),
    ("Tags", "a design has no tags"),
    ("DeletionProtectionEnabled", "a design does not protect tables"),
    ("PointInTimeRecoverySpecification", "a design does not set up backups"),
    ("ContributorInsightsSpecification", "a design does not set up insights"),
    ("KinesisStreamSpecification", "a design has DynamoDB streams only"),
    ("ResourcePolicy", "a design has no policies"),
    ("ImportSourceSpecification", "a design does not import data"),
    ("OnDemandThroughput", "a design has no limit of requests"),
    ("WarmThroughput", "a design has no warm throughput"),
    ("ProvisionedThroughput", "`keyloom deploy` calculates capacities from rates"),
    ("Replicas", "a design is of one region"),
];

/// A table from a request, a description or the properties of a resource; none if it has no key.
pub(super) fn table(body: &Json, fallback: &str, lost: &mut Vec<Lost>) -> Option<TableDraft> {
    let name = text(body, "TableName").unwrap_or(fallback);
    let kinds: Vec<(&str, &str)> = list(body, "AttributeDefinitions")
        .filter_map(|entry| Some((text(entry, "AttributeName")?, text(entry, "AttributeType")?)))
        .collect();
    let keys = |owner: &Json, wanted: &str| -> Vec<Spanned<String>> {
        list(owner, "KeySchema")
            .filter(|entry| text(entry, "KeyType") == Some(wanted))
            .filter_map(|entry| text(entry, "AttributeName"))
            .map(|name| {
                let kind = kinds.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
                match kind {
                    Some(kind @ ("N" | "B")) => Spanned::free(format!("{name}:{kind}")),
                    _ => Spanned::free(name),
                }
            })
            .collect()
    };
    let mut table = TableDraft::new(name);
    table.partition_key = keys(body, "HASH");
    table.sort_key = keys(body, "RANGE");
    if table.partition_key.is_empty() {
        return None;
    }
    let place = format!("table {name}");
    for (member, local) in [("GlobalSecondaryIndexes", false), ("LocalSecondaryIndexes", true)] {
        for entry in list(body, member) {
            let index_name = text(entry, "IndexName").unwrap_or("index");
            let mut index = IndexDraft::global(index_name, &[], &[]);
            index.partition_key = if local { Vec::new() } else { keys(entry, "HASH") };
            index.sort_key = keys(entry, "RANGE");
            index.local = local;
            index.projection = projection(entry);
            table.indexes.push(index);
        }
    }
    let mode =
        text(body, "BillingMode").or_else(|| text(body.get("BillingModeSummary")?, "BillingMode"));
    let is_given = body
        .get("ProvisionedThroughput")
        .and_then(|throughput| throughput.get("ReadCapacityUnits"))
        .is_some_and(|units| units.as_f64() != Some(0.0));
    if mode == Some("PROVISIONED") || mode.is_none() && is_given {
        table.billing = Billing::Provisioned;
    }
    let class =
        text(body, "TableClass").or_else(|| text(body.get("TableClassSummary")?, "TableClass"));
    if class == Some("STANDARD_INFREQUENT_ACCESS") {
        table.class = TableClass::InfrequentAccess;
    }
    let stream = body.get("StreamSpecification").and_then(|stream| text(stream, "StreamViewType"));
    table.stream = stream.and_then(stream_view);
    let ttl = body.get("TimeToLiveSpecification").or_else(|| body.get("TimeToLiveDescription"));
    let is_on = ttl.is_some_and(|ttl| {
        ttl.get("Enabled").is_none_or(|on| on == true)
            && text(ttl, "TimeToLiveStatus").is_none_or(|status| status.starts_with("ENABL"))
    });
    let attribute = ttl.and_then(|ttl| text(ttl, "AttributeName"));
    table.ttl = attribute.filter(|_| is_on).map(Spanned::free);
    for (member, why) in UNSAID {
        let is_said = body.get(member).is_some_and(|value| !value.is_null() && *value != false);
        let is_idle = member == "ProvisionedThroughput" && table.billing == Billing::OnDemand;
        if is_said && !is_idle {
            lost.push(Lost::new(format!("{place}: {member}"), why));
        }
    }
    Some(table)
}

fn projection(entry: &Json) -> ProjectionDraft {
    let Some(projection) = entry.get("Projection") else { return ProjectionDraft::All };
    match text(projection, "ProjectionType") {
        Some("KEYS_ONLY") => ProjectionDraft::Keys,
        Some("INCLUDE") => ProjectionDraft::Include(
            list(projection, "NonKeyAttributes")
                .filter_map(Json::as_str)
                .map(Spanned::free)
                .collect(),
        ),
        _ => ProjectionDraft::All,
    }
}

fn stream_view(name: &str) -> Option<StreamView> {
    match name {
        "KEYS_ONLY" => Some(StreamView::KeysOnly),
        "NEW_IMAGE" => Some(StreamView::NewImage),
        "OLD_IMAGE" => Some(StreamView::OldImage),
        "NEW_AND_OLD_IMAGES" => Some(StreamView::NewAndOldImages),
        _ => None,
    }
}
