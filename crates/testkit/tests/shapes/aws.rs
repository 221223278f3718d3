//! AWS's model of the API, as botocore has it.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The model of one service.
pub(crate) struct Model(Value);

/// The models of DynamoDB and DynamoDB Streams; none if botocore is not installed, unless
/// `KEYLOOM_REQUIRE_CLIENTS` demands it.
pub(crate) fn models() -> Option<Vec<Model>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join(".venv/bin/python");
    if !python.exists() {
        assert!(
            std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_none(),
            "botocore is not installed, and KEYLOOM_REQUIRE_CLIENTS demands it"
        );
        let _ = writeln!(
            std::io::stderr(),
            "skipped: botocore is not installed; run scripts/setup-clients"
        );
        return None;
    }
    let output = Command::new(python).arg(root.join("tests/clients/model.py")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let models: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    Some(models.into_iter().map(Model).collect())
}

impl Model {
    /// The first part of the targets, without the point.
    pub(crate) fn target_prefix(&self) -> &str {
        self.0["metadata"]["targetPrefix"].as_str().unwrap()
    }

    /// The operations, each with the name of its input shape.
    pub(crate) fn operations(&self) -> Vec<(String, String)> {
        let operations = self.0["operations"].as_object().unwrap();
        let input = |operation: &Value| operation["input"]["shape"].as_str().unwrap().to_owned();
        operations.iter().map(|(name, operation)| (name.clone(), input(operation))).collect()
    }

    /// A shape by its name.
    pub(crate) fn shape(&self, name: &str) -> &Value {
        &self.0["shapes"][name]
    }

    /// The kind of a shape: `string`, `structure`, …
    pub(crate) fn kind(&self, name: &str) -> &str {
        self.shape(name)["type"].as_str().unwrap()
    }

    /// The shape of a list's elements or of a map's values.
    pub(crate) fn element(&self, name: &str) -> &str {
        let shape = self.shape(name);
        let element = if shape["type"] == "list" { &shape["member"] } else { &shape["value"] };
        element["shape"].as_str().unwrap()
    }

    /// The members of a structure with their shapes, in the order of the model.
    pub(crate) fn members(&self, name: &str) -> Vec<(&str, &str)> {
        let shape = self.shape(name);
        let order = shape["order"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        order.map(|name| (name, shape["members"][name]["shape"].as_str().unwrap())).collect()
    }

    /// The required members of a structure.
    pub(crate) fn required(&self, name: &str) -> Vec<&str> {
        let required = self.shape(name)["required"].as_array();
        required.into_iter().flatten().map(|name| name.as_str().unwrap()).collect()
    }
}
