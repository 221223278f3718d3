//! What a table is besides its items: keys, indexes, billing, stream, expiry, tags, recovery.
//!
//! What would act on items that are only being copied (stream, expiry) is set when all of them are there.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::output::Failure;
use crate::transfer::place::Place;

/// The settings of a table, as the source describes them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// The body of CreateTable.
    pub(crate) create: Json,
    /// The stream's specification.
    stream: Option<Json>,
    /// The attribute that says when an item expires.
    pub(crate) expiry: Option<String>,
    /// The specification of point-in-time recovery, if it is on.
    recovery: Option<Json>,
    /// What is not copied, in words.
    pub(crate) notes: Vec<String>,
}

impl Settings {
    /// The settings of a table.
    pub(crate) fn of(place: &Place, name: &str, described: &Json) -> Result<Self, Failure> {
        let mut notes = Vec::new();
        let create = create_request(described, &mut notes);
        let (expiry, recovery, tags) =
            (expiry(place, name)?, recovery(place, name)?, tags(place, described)?);
        let mut settings = Self {
            create,
            stream: described.get("StreamSpecification").cloned(),
            expiry,
            recovery,
            notes,
        };
        if !tags.is_empty() {
            set(&mut settings.create, "Tags", Json::Array(tags));
        }
        Ok(settings)
    }

    /// Whether a table of the target can take the items as it is: the same keys and indexes.
    pub(crate) fn differs_from(&self, described: &Json) -> Option<&'static str> {
        let there = create_request(described, &mut Vec::new());
        [
            ("KeySchema", "other keys"),
            ("AttributeDefinitions", "key attributes of other types"),
            ("GlobalSecondaryIndexes", "other global indexes"),
            ("LocalSecondaryIndexes", "other local indexes"),
            ("VectorIndexes", "other vector indexes"),
        ]
        .into_iter()
        .find(|(member, _)| shape(&self.create, member) != shape(&there, member))
        .map(|(_, difference)| difference)
    }

    /// Sets what waits until all items are there. What was set already stays.
    pub(crate) fn finish(
        &self,
        place: &Place,
        name: &str,
        described: &Json,
    ) -> Result<(), Failure> {
        if let Some(stream) = &self.stream
            && described.get("StreamSpecification") != Some(stream)
        {
            let request = json!({ "TableName": name, "StreamSpecification": stream });
            place.call("UpdateTable", &request).map_err(|error| place.failed(&error))?;
            place.await_active(name)?;
        }
        if let Some(attribute) = &self.expiry
            && expiry(place, name)?.is_none()
        {
            let request = json!({"TableName": name,
                "TimeToLiveSpecification": {"Enabled": true, "AttributeName": attribute}});
            place.call("UpdateTimeToLive", &request).map_err(|error| place.failed(&error))?;
        }
        if let Some(on) = &self.recovery
            && recovery(place, name)?.is_none()
        {
            let request = json!({"TableName": name, "PointInTimeRecoverySpecification": on});
            place
                .call("UpdateContinuousBackups", &request)
                .map_err(|error| place.failed(&error))?;
        }
        Ok(())
    }
}

fn set(object: &mut Json, member: &str, value: Json) {
    if let Json::Object(members) = object {
        members.insert(member.to_owned(), value);
    }
}

/// CreateTable for a table that is described so.
fn create_request(described: &Json, notes: &mut Vec<String>) -> Json {
    let mut create = Map::new();
    let mut take = |from: &str, to: &str| {
        if let Some(value) = described.get(from).filter(|value| !value.is_null()) {
            create.insert(to.to_owned(), value.clone());
        }
    };
    for member in ["TableName", "KeySchema", "AttributeDefinitions", "DeletionProtectionEnabled"] {
        take(member, member);
    }
    take("OnDemandThroughput", "OnDemandThroughput");
    let at = |path: &str| described.pointer(path).and_then(Json::as_str);
    if let Some(class) = at("/TableClassSummary/TableClass") {
        create.insert("TableClass".into(), class.into());
    }
    let is_on_demand = at("/BillingModeSummary/BillingMode") == Some("PAY_PER_REQUEST");
    if is_on_demand {
        create.insert("BillingMode".into(), "PAY_PER_REQUEST".into());
    } else {
        create.insert("BillingMode".into(), "PROVISIONED".into());
        create.insert("ProvisionedThroughput".into(), units(described));
    }
    for kind in ["LocalSecondaryIndexes", "GlobalSecondaryIndexes", "VectorIndexes"] {
        let indexes = described.get(kind).and_then(Json::as_array).into_iter().flatten();
        let indexes: Vec<Json> =
            indexes.map(|index| index_request(index, kind, is_on_demand)).collect();
        if !indexes.is_empty() {
            create.insert(kind.to_owned(), indexes.into());
        }
    }
    if at("/SSEDescription/SSEType") == Some("KMS") {
        notes.push("its encryption key is not copied: set one in the target".into());
    }
    if described.get("Replicas").and_then(Json::as_array).is_some_and(|list| !list.is_empty()) {
        notes.push("its replicas in other regions are not copied: add them in the target".into());
    }
    Json::Object(create)
}

fn index_request(index: &Json, kind: &str, is_on_demand: bool) -> Json {
    let mut request = Map::new();
    let of_vectors = ["VectorAttribute", "Dimensions", "DistanceFunction", "SearchSchema"];
    let of_all = ["IndexName", "KeySchema", "Projection", "OnDemandThroughput"];
    for member in of_all.into_iter().chain(of_vectors) {
        if let Some(value) = index.get(member).filter(|value| !value.is_null()) {
            request.insert(member.to_owned(), value.clone());
        }
    }
    if kind == "GlobalSecondaryIndexes" && !is_on_demand {
        request.insert("ProvisionedThroughput".into(), units(index));
    }
    Json::Object(request)
}

fn units(described: &Json) -> Json {
    let of = |member: &str| {
        let units = described.pointer(&format!("/ProvisionedThroughput/{member}"));
        units.and_then(Json::as_u64).unwrap_or(1).max(1)
    };
    json!({"ReadCapacityUnits": of("ReadCapacityUnits"), "WriteCapacityUnits": of("WriteCapacityUnits")})
}

/// What must be equal of a member so that items and queries are the same: without throughput, in one order.
fn shape(request: &Json, member: &str) -> Vec<String> {
    let list = request.get(member).and_then(Json::as_array).into_iter().flatten();
    let mut shapes: Vec<String> = list
        .map(|entry| {
            let mut entry = entry.clone();
            if let Json::Object(members) = &mut entry {
                members.remove("ProvisionedThroughput");
                members.remove("OnDemandThroughput");
            }
            if let Some(Json::Array(names)) = entry.pointer_mut("/Projection/NonKeyAttributes") {
                names.sort_by_key(ToString::to_string);
            }
            entry.to_string()
        })
        .collect();
    if member != "KeySchema" {
        shapes.sort();
    }
    shapes
}

/// An answer, unless the place does not know the operation.
fn ask(place: &Place, operation: &'static str, body: &Json) -> Result<Json, Failure> {
    match place.call(operation, body) {
        Ok(answer) => Ok(answer),
        Err(keyloom::Error::Database(keyloom_core::Error::UnknownOperation(_))) => Ok(Json::Null),
        Err(error) => Err(place.failed(&error)),
    }
}

fn expiry(place: &Place, name: &str) -> Result<Option<String>, Failure> {
    let answer = ask(place, "DescribeTimeToLive", &json!({ "TableName": name }))?;
    let at = |member: &str| {
        answer.pointer(&format!("/TimeToLiveDescription/{member}")).and_then(Json::as_str)
    };
    let is_on = matches!(at("TimeToLiveStatus"), Some("ENABLED" | "ENABLING"));
    Ok(at("AttributeName").filter(|_| is_on).map(str::to_owned))
}

fn recovery(place: &Place, name: &str) -> Result<Option<Json>, Failure> {
    let answer = ask(place, "DescribeContinuousBackups", &json!({ "TableName": name }))?;
    let description = "/ContinuousBackupsDescription/PointInTimeRecoveryDescription";
    let at = |member: &str| answer.pointer(&format!("{description}/{member}"));
    if at("PointInTimeRecoveryStatus").and_then(Json::as_str) != Some("ENABLED") {
        return Ok(None);
    }
    let mut on = json!({ "PointInTimeRecoveryEnabled": true });
    if let Some(days) = at("RecoveryPeriodInDays") {
        set(&mut on, "RecoveryPeriodInDays", days.clone());
    }
    Ok(Some(on))
}

fn tags(place: &Place, described: &Json) -> Result<Vec<Json>, Failure> {
    let Some(arn) = described.get("TableArn") else { return Ok(Vec::new()) };
    let mut tags = Vec::new();
    let mut request = json!({ "ResourceArn": arn });
    loop {
        let page = ask(place, "ListTagsOfResource", &request)?;
        let listed = page.get("Tags").and_then(Json::as_array).cloned().unwrap_or_default();
        let is_own = |tag: &Json| {
            let key = tag.get("Key").and_then(Json::as_str).unwrap_or_default();
            !key.starts_with("aws:")
        };
        tags.extend(listed.into_iter().filter(is_own));
        match page.get("NextToken") {
            Some(token) if !token.is_null() => set(&mut request, "NextToken", token.clone()),
            _ => return Ok(tags),
        }
    }
}
