//! `AutoScalingSettingsUpdate`, and the description that it becomes.

use keyloom_api::{Constraints, Fields};
use serde_json::{Map, Value, json};

/// The description of the settings under `member`, if the request has them. `path` is where the
/// request has them.
pub(super) fn decode(
    fields: &Fields<'_>,
    member: &str,
    constraints: &mut Constraints,
    path: &str,
) -> Option<Value> {
    let update = fields.structure(member)?;
    let mut settings = Map::new();
    for (name, spelled) in [("MinimumUnits", "minimumUnits"), ("MaximumUnits", "maximumUnits")] {
        let units = update.integer(name);
        constraints.range(units, &format!("{path}.{spelled}"), 1, i64::MAX);
        if let Some(units) = units {
            settings.insert(name.into(), json!(units));
        }
    }
    if let Some(disabled) = update.boolean("AutoScalingDisabled") {
        settings.insert("AutoScalingDisabled".into(), json!(disabled));
    }
    if let Some(role) = update.string("AutoScalingRoleArn") {
        constraints.length(role, &format!("{path}.autoScalingRoleArn"), 1, 1600);
        settings.insert("AutoScalingRoleArn".into(), json!(role));
    }
    if let Some(policy) = update.structure("ScalingPolicyUpdate") {
        let tracking = policy.kept("TargetTrackingScalingPolicyConfiguration");
        let path = format!("{path}.scalingPolicyUpdate.targetTrackingScalingPolicyConfiguration");
        constraints.required(tracking.is_some(), &path);
        let mut described = Map::new();
        if let Some(name) = policy.string("PolicyName") {
            described.insert("PolicyName".into(), json!(name));
        }
        let tracking = tracking.unwrap_or_default();
        described.insert("TargetTrackingScalingPolicyConfiguration".into(), tracking);
        settings.insert("ScalingPolicies".into(), json!([described]));
    }
    Some(Value::Object(settings))
}

/// Replaces what `change` names in `settings`, member by member.
pub(super) fn merge(settings: &mut Value, change: Value) {
    match (settings, change) {
        (Value::Object(settings), Value::Object(change)) => settings.extend(change),
        (settings, change) => *settings = change,
    }
}
