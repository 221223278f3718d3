//! `AutoScalingSettingsUpdate`, and the description that it becomes.

use serde_json::{Map, Value, json};

use crate::Fields;

/// The scaling settings of a table or index, as descriptions show them.
pub type ScalingSettings = Map<String, Value>;

/// The description of the settings under `member`, if the request has them.
pub fn scaling_update(fields: &Fields<'_>, member: &str) -> Option<ScalingSettings> {
    let update = fields.structure(member)?;
    let members = ["MinimumUnits", "MaximumUnits", "AutoScalingDisabled", "AutoScalingRoleArn"];
    let mut settings = kept(&update, &members);
    if let Some(policy) = update.structure("ScalingPolicyUpdate") {
        let members = ["PolicyName", "TargetTrackingScalingPolicyConfiguration"];
        settings.insert("ScalingPolicies".into(), json!([kept(&policy, &members)]));
    }
    Some(settings)
}

fn kept(fields: &Fields<'_>, members: &[&str]) -> ScalingSettings {
    let member = |name: &&str| Some(((*name).to_owned(), fields.kept(name)?));
    members.iter().filter_map(member).collect()
}
